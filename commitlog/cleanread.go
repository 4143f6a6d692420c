package commitlog

import (
	"fmt"
	"io"

	"tidemark/protocol/record"
)

// stored is a batch and where it lies.
type stored struct {
	record.Batch
	segment  *segment
	position int64
}

// last says that no batch follows in the segment.
func (b stored) last() bool { return b.position+int64(b.Size()) == b.segment.size.Load() }

// corrupt says that the batch cannot be read for a reason.
func (b stored) corrupt(reason error) error {
	return &CorruptError{Path: b.segment.name, Position: b.position, Err: reason}
}

// eachBatch calls f for the batches of a sealed segment from position on, in order.
// Each is held against what is true of a batch there, its checksum too: what is
// rewritten gets a new one. The segment is in use only while a buffer is read, so that
// nobody who wants to close it waits for a whole segment. f must not keep b.
func (r *round) eachBatch(s *segment, position int64, f func(b stored) error) error {
	size, next := s.size.Load(), s.base
	for position < size {
		whole, err := r.readBatches(s, position, size)
		if err != nil {
			return err
		}
		for len(whole) > 0 {
			b, rest, err := record.Parse(whole)
			if err == nil {
				err = checkStored(b, s.base, next)
			}
			if err != nil {
				return &CorruptError{Path: s.name, Position: position, Err: err}
			}
			if err := f(stored{b, s, position}); err != nil {
				return err
			}
			position, next, whole = position+int64(b.Size()), b.NextOffset(), rest
		}
	}
	return nil
}

// readBatches reads the batches from position that fit into the buffer, at least
// one: a larger one has the buffer grow.
func (r *round) readBatches(s *segment, position, size int64) ([]byte, error) {
	want := min(int64(r.o.BufferBytes), size-position)
	for {
		if err := r.goOn(int(want)); err != nil {
			return nil, err
		}
		if int64(cap(r.in)) < want {
			r.in = make([]byte, want)
		}
		buf := r.in[:want]
		if err := s.readAt(buf, position); err != nil {
			return nil, err
		}
		n, need := wholeBatches(buf)
		if n > 0 {
			return buf[:n], nil
		}
		if need > size-position {
			return nil, &CorruptError{Path: s.name, Position: position, Err: errTorn}
		}
		want = need
	}
}

// wholeBatches is how many bytes the whole batches at the start of buf are; where
// that is none, need is how many bytes the first one claims, at least a header.
func wholeBatches(buf []byte) (n int, need int64) {
	for {
		rest := buf[n:]
		if len(rest) < record.LogOverhead {
			return n, record.HeaderSize
		}
		need = max(record.HeaderSize, record.ClaimedSize(rest))
		if int64(len(rest)) < need {
			return n, need
		}
		n += int(need)
	}
}

// readAt fills buf from position; the segment is acquired for it.
func (s *segment) readAt(buf []byte, position int64) error {
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	if n, err := s.reader.ReadAt(buf, position); n < len(buf) {
		if err == io.EOF {
			return &CorruptError{Path: s.name, Position: position, Err: errTorn}
		}
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	return nil
}

// checkStored says why a batch cannot be one of a segment, where next was the next
// offset.
func checkStored(b record.Batch, base, next int64) error {
	if b.BaseOffset() < next || b.LastOffsetDelta() < 0 || b.LastOffset()-base > maxRelativeOffset {
		return fmt.Errorf("offsets %d to %d where %d was next: %w", b.BaseOffset(), b.LastOffset(), next, record.ErrCorrupt)
	}
	return b.CheckCRC()
}
