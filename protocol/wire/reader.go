package wire

import (
	"encoding/binary"
	"fmt"
)

// Reader decodes a message without allocating. After the first read beyond the end
// it is Bad for good and returns zeros; its slices alias Src. It is a value for one
// goroutine.
type Reader struct {
	// Src is what was not read yet.
	Src []byte
	// Flexible: lengths are compact, and there are tagged fields (KIP-482).
	Flexible bool
	Bad      bool
}

func (r *Reader) fail() { r.Bad, r.Src = true, nil }

// Take reads n bytes.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.Src) {
		r.fail()
		return nil
	}
	b := r.Src[:n:n]
	r.Src = r.Src[n:]
	return b
}

// Int8 reads an int8.
func (r *Reader) Int8() int8 {
	if b := r.Take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

// Int16 reads an int16.
func (r *Reader) Int16() int16 {
	if b := r.Take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

// Int32 reads an int32.
func (r *Reader) Int32() int32 {
	if b := r.Take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads an int64.
func (r *Reader) Int64() int64 {
	if b := r.Take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// UUID reads the id of a topic or a log directory.
func (r *Reader) UUID() (id [16]byte) {
	copy(id[:], r.Take(len(id)))
	return id
}

// uvarint reads at most the five bytes that 32 bits need.
func (r *Reader) uvarint() uint32 {
	v, n := binary.Uvarint(r.Src[:min(len(r.Src), binary.MaxVarintLen32)])
	if n <= 0 || v > 1<<32-1 {
		r.fail()
		return 0
	}
	r.Src = r.Src[n:]
	return uint32(v)
}

// StringLength reads the length of a string; −1 is null.
func (r *Reader) StringLength() int {
	if r.Flexible {
		return int(r.uvarint()) - 1
	}
	return int(r.Int16())
}

// Length reads the length of bytes or of an array; −1 is null.
func (r *Reader) Length() int {
	if r.Flexible {
		return int(r.uvarint()) - 1
	}
	return int(r.Int32())
}

// Text reads a string; null is nil.
func (r *Reader) Text() []byte { return r.nullable(r.StringLength()) }

// Bytes reads bytes; null is nil.
func (r *Reader) Bytes() []byte { return r.nullable(r.Length()) }

func (r *Reader) nullable(n int) []byte {
	if n == -1 {
		return nil
	}
	return r.Take(n)
}

// Array reads the length of an array whose elements take at least size bytes each;
// null counts as empty.
func (r *Reader) Array(size int) int {
	n := r.Length()
	if n == -1 || r.Bad {
		return 0
	}
	if n < 0 || n > len(r.Src)/size {
		r.fail()
		return 0
	}
	return n
}

// Tags reads the tagged fields of a flexible version, whose numbers must rise; known,
// if not nil, sees each.
func (r *Reader) Tags(known func(tag uint32, value Reader)) {
	if !r.Flexible {
		return
	}
	last := int64(-1)
	for n := r.uvarint(); n > 0 && !r.Bad; n-- {
		tag := r.uvarint()
		value := r.Take(int(r.uvarint()))
		if int64(tag) <= last {
			r.fail()
			return
		}
		last = int64(tag)
		if known != nil && !r.Bad {
			known(tag, Reader{Src: value, Flexible: true})
		}
	}
}

// Err says whether the body of a request was what its version promises.
func (r *Reader) Err(h Header) error {
	if !r.Bad {
		return nil
	}
	return fmt.Errorf("%w: body of key %d version %d", ErrMalformed, h.Key, h.Version)
}
