package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"tidemark/protocol/record"
)

var errTorn = errors.New("the file ends inside a batch")

// header is the fixed part of a batch on disk and where it lies. Only the
// accessors of record.Batch that look at the header may be called on Batch.
type header struct {
	record.Batch
	position, size int64
}

func (h header) end() int64 { return h.position + h.size }

// headers reads batch headers from a segment, a block at a time: batches smaller
// than the block cost no read each. It is confined to one goroutine.
type headers struct {
	src  io.ReaderAt
	path string // for errors
	end  int64  // valid bytes
	// block holds n bytes of the file from position at.
	block []byte
	at    int64
	n     int
	// pooled is block's home; nil where the block is the caller's.
	pooled *[headerBlock]byte
}

// headerBlock is what one read brings. One page: most reads are for the header
// of a batch that is larger.
const headerBlock = 4096

var headerBlocks = sync.Pool{New: func() any { return new([headerBlock]byte) }}

func newHeaders(src io.ReaderAt, path string, end int64) headers {
	pooled := headerBlocks.Get().(*[headerBlock]byte)
	return headers{src: src, path: path, end: end, block: pooled[:], pooled: pooled}
}

// close gives the block back; headers returned before alias it.
func (r *headers) close() {
	if r.pooled != nil {
		headerBlocks.Put(r.pooled)
	}
}

// read returns the header of the batch at position, valid until the next call.
// What cannot be the header of a batch that lies before end is a *CorruptError.
func (r *headers) read(position int64) (header, error) {
	if position+record.HeaderSize > r.end {
		return header{}, r.corrupt(position, errTorn)
	}
	if position < r.at || position+record.HeaderSize > r.at+int64(r.n) {
		if err := r.fill(position); err != nil {
			return header{}, err
		}
	}
	b := r.block[position-r.at:][:record.HeaderSize]
	h := header{Batch: record.Batch(b), position: position, size: record.ClaimedSize(b)}
	if reason := h.implausible(r.end); reason != nil {
		return header{}, r.corrupt(position, reason)
	}
	return h, nil
}

// fill reads the block at position.
func (r *headers) fill(position int64) error {
	block := r.block[:min(int64(len(r.block)), r.end-position)]
	if n, err := r.src.ReadAt(block, position); n < len(block) {
		r.n = 0
		if err == io.EOF {
			return r.corrupt(position, errTorn)
		}
		return fmt.Errorf("read %s: %w", r.path, err)
	}
	r.at, r.n = position, len(block)
	return nil
}

// zerosFrom says whether nothing but zeros lies from position to the end.
func (r *headers) zerosFrom(position int64) (bool, error) {
	for at := position; at < r.end; at += int64(r.n) {
		if err := r.fill(at); err != nil {
			return false, err
		}
		if len(bytes.TrimLeft(r.block[:r.n], "\x00")) > 0 {
			return false, nil
		}
	}
	return true, nil
}

func (r *headers) corrupt(position int64, reason error) error {
	return &CorruptError{Path: r.path, Position: position, Err: reason}
}

// implausible says why a batch cannot begin like this; nil if it can.
func (h header) implausible(end int64) error {
	switch {
	case h.Magic() != record.Magic2:
		return fmt.Errorf("magic %d: %w", h.Magic(), record.ErrCorrupt)
	case h.size < record.HeaderSize:
		return fmt.Errorf("batch of %d bytes: %w", h.size, record.ErrCorrupt)
	case h.BaseOffset() < 0 || h.LastOffsetDelta() < 0 || h.NextOffset() < 0: // The last one where they overflow.
		return fmt.Errorf("offsets from %d to %d: %w", h.BaseOffset(), h.LastOffset(), record.ErrCorrupt)
	case h.end() > end:
		return errTorn
	}
	return nil
}

// checkCRC compares the checksum of a batch that read has returned last; what of
// it is not in the block is read through buf, whatever the size it claims.
func (r *headers) checkCRC(h header, buf []byte) error {
	inBlock := min(h.end(), r.at+int64(r.n))
	sum := record.UpdateChecksum(0, r.block[h.position+record.ChecksumFrom-r.at:inBlock-r.at])
	for at := inBlock; at < h.end(); {
		part := buf[:min(int64(len(buf)), h.end()-at)]
		if n, err := r.src.ReadAt(part, at); n < len(part) {
			return fmt.Errorf("read %s: %w", r.path, err)
		}
		sum = record.UpdateChecksum(sum, part)
		at += int64(len(part))
	}
	if stored := h.CRC(); stored != sum {
		return r.corrupt(h.position, fmt.Errorf("checksum %08x, computed %08x: %w", stored, sum, record.ErrCorrupt))
	}
	return nil
}
