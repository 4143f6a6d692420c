package api

import (
	"encoding/binary"
	"fmt"

	"tidemark/protocol/wire"
)

// reader decodes a request body without allocating. After the first read beyond
// the end it is bad for good and returns zeros; its slices alias the body.
type reader struct {
	src      []byte
	flexible bool
	bad      bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.bad, r.src = true, nil
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

// uvarint reads at most the five bytes that 32 bits need.
func (r *reader) uvarint() uint32 {
	v, n := binary.Uvarint(r.src[:min(len(r.src), binary.MaxVarintLen32)])
	if n <= 0 || v > 1<<32-1 {
		r.bad, r.src = true, nil
		return 0
	}
	r.src = r.src[n:]
	return uint32(v)
}

// length reads the length of a string, of bytes or of an array; −1 is null.
func (r *reader) length(short bool) int {
	switch {
	case r.flexible:
		return int(r.uvarint()) - 1
	case short:
		return int(r.int16())
	default:
		return int(r.int32())
	}
}

// str reads a string that may be null.
func (r *reader) str() []byte { return r.bytesOf(r.length(true)) }

// bytes reads bytes that may be null.
func (r *reader) bytes() []byte { return r.bytesOf(r.length(false)) }

func (r *reader) bytesOf(n int) []byte {
	if n == -1 {
		return nil
	}
	return r.take(n)
}

// array reads the length of an array whose elements take at least size bytes
// each; null counts as empty.
func (r *reader) array(size int) int {
	n := r.length(false)
	if n == -1 {
		return 0
	}
	if n < 0 || n > len(r.src)/size {
		r.bad, r.src = true, nil
		return 0
	}
	return n
}

// tags reads the tagged fields of a flexible version; known sees each, and the
// numbers must rise.
func (r *reader) tags(known func(tag uint32, value reader)) {
	if !r.flexible {
		return
	}
	last := int64(-1)
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		tag := r.uvarint()
		value := r.take(int(r.uvarint()))
		if int64(tag) <= last {
			r.bad, r.src = true, nil
			return
		}
		last = int64(tag)
		if known != nil && !r.bad {
			known(tag, reader{src: value, flexible: true})
		}
	}
}

// err says whether the body was what its version promises.
func (r *reader) err(h wire.Header) error {
	if !r.bad {
		return nil
	}
	return fmt.Errorf("%w: body of key %d version %d", wire.ErrMalformed, h.Key, h.Version)
}

// maxPartitions bounds the partitions that one Produce or Fetch may name; a
// further one makes the request malformed.
const maxPartitions = 100_000
