package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
)

// Snappy comes in two dresses. Java's producer, and every client that copies
// it, writes the framing of the snappy-java library: a header of 16 bytes, then
// blocks of at most 32 KiB each behind a big-endian length. librdkafka writes
// one bare block. Java's consumer reads both, and so does this decoder; the
// builder writes the framing.
//
//	0                  8          12          16        20
//	+------------------+----------+-----------+---------+-------+- - -
//	| 82 SNAPPY 00     | version 1| compat. 1 | length  | block | length ...
//	+------------------+----------+-----------+---------+-------+- - -
const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeader     = 16
	xerialVersion    = 1
	xerialBlockBytes = 32 << 10

	// snappyMaxRatio is more than a byte of snappy can stand for: its densest
	// element is a copy of 64 bytes in 3. A block that claims more is not
	// snappy, so no buffer is ever made for it.
	snappyMaxRatio = 22
)

var errSnappyBlock = errors.New("malformed snappy block")

type snappyDecoder struct {
	in     []byte // compressed bytes to come
	framed bool
	limit  int64
	out    []byte // the current block, decompressed
	at     int    // how far out has been read
}

func (d *snappyDecoder) reset(payload []byte, limit int64) error {
	*d = snappyDecoder{in: payload, limit: limit, out: d.out[:0]}
	if len(payload) >= xerialHeader && string(payload[:len(xerialMagic)]) == xerialMagic {
		if compatible := binary.BigEndian.Uint32(payload[12:]); compatible != xerialVersion {
			return fmt.Errorf("snappy framing of version %d", compatible)
		}
		d.framed = true
		d.in = payload[xerialHeader:]
	}
	return nil
}

// Read decompresses block by block.
func (d *snappyDecoder) Read(p []byte) (int, error) {
	for d.at == len(d.out) {
		if len(d.in) == 0 {
			return 0, io.EOF
		}
		if err := d.nextBlock(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out[d.at:])
	d.at += n
	return n, nil
}

func (d *snappyDecoder) nextBlock() error {
	block := d.in
	d.in = nil
	if d.framed {
		if len(block) < 4 {
			return errSnappyBlock
		}
		n := int64(binary.BigEndian.Uint32(block))
		if n > int64(len(block)-4) {
			return errSnappyBlock
		}
		block, d.in = block[4:4+n], block[4+n:]
	}
	size, err := s2.DecodedLen(block)
	if err != nil {
		return err
	}
	if int64(size) > d.limit {
		return ErrTooLarge
	}
	if size > snappyMaxRatio*len(block) {
		return errSnappyBlock
	}
	if cap(d.out) < size {
		d.out = make([]byte, size)
	}
	d.out, err = s2.Decode(d.out[:cap(d.out)], block)
	d.at = 0
	if err != nil {
		d.out = d.out[:0]
	}
	return err
}

func (d *snappyDecoder) release() {
	d.in, d.at = nil, 0
	if cap(d.out) > keepWindowBytes {
		d.out = nil
	}
	d.out = d.out[:0]
}

// appendXerial appends src to dst as Java's producer would compress it. scratch
// is a buffer for one block and is returned for the next call.
func appendXerial(dst, src, scratch []byte) (out, scratchOut []byte) {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	if cap(scratch) == 0 {
		scratch = make([]byte, s2.MaxEncodedLen(xerialBlockBytes))
	}
	for len(src) > 0 {
		n := min(len(src), xerialBlockBytes)
		block := s2.EncodeSnappy(scratch[:cap(scratch)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...)
		src = src[n:]
	}
	return dst, scratch
}
