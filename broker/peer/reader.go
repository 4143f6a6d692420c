package peer

import "encoding/binary"

// reader decodes a message of a flexible version without allocating. After the
// first read beyond the end it is bad for good and returns zeros; its slices
// alias what it reads from.
type reader struct {
	src []byte
	bad bool
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

func (r *reader) id() (id [16]byte) {
	copy(id[:], r.take(len(id)))
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

// bytes reads a compact string or compact bytes; null is nil.
func (r *reader) bytes() []byte {
	n := int(r.uvarint()) - 1
	if n == -1 {
		return nil
	}
	return r.take(n)
}

// array reads the length of a compact array whose elements take at least size
// bytes each; null counts as empty.
func (r *reader) array(size int) int {
	n := int(r.uvarint()) - 1
	if n > len(r.src)/size {
		r.bad, r.src = true, nil
	}
	if r.bad {
		return 0
	}
	return max(n, 0)
}

// tags reads tagged fields, whose numbers must rise, and shows each to known.
func (r *reader) tags(known func(tag uint32, value reader)) {
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
			known(tag, reader{src: value})
		}
	}
}

// appendString writes a compact string.
func appendString(to []byte, s string) []byte {
	return append(appendLength(to, len(s)), s...)
}

// appendLength writes the length of a compact string or array.
func appendLength(to []byte, n int) []byte { return binary.AppendUvarint(to, uint64(n)+1) }

func appendInt16(to []byte, v int16) []byte { return binary.BigEndian.AppendUint16(to, uint16(v)) }
func appendInt32(to []byte, v int32) []byte { return binary.BigEndian.AppendUint32(to, uint32(v)) }
func appendInt64(to []byte, v int64) []byte { return binary.BigEndian.AppendUint64(to, uint64(v)) }
