// Package jute reads and writes the records of ZooKeeper's wire protocol, which
// are also those of the embedded server's files: big-endian integers, and
// strings, buffers and vectors behind a four-byte length.
//
// A Reader never allocates by a length that it was told: every length is
// checked against the bytes that are there. Layouts are in
// docs/formats/zookeeper.md.
package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error of a Reader.
var ErrMalformed = errors.New("malformed jute record")

// Reader takes one record apart. The first error sticks, and everything read
// after it is zero, so a caller may check Err once at the end. It is confined to
// one goroutine.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads from data, which it neither copies nor changes.
func NewReader(data []byte) *Reader { return &Reader{rest: data} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes not read yet.
func (r *Reader) Len() int { return len(r.rest) }

// Fail records an error that the caller found.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
		r.rest = nil
	}
}

func (r *Reader) take(n int, what string) []byte {
	if r.err == nil && n > len(r.rest) {
		r.Fail("%s needs %d bytes, %d are left", what, n, len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Int32 reads an int.
func (r *Reader) Int32() int32 {
	b := r.take(4, "int")
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Int64 reads a long.
func (r *Reader) Int64() int64 {
	b := r.take(8, "long")
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// Bool reads a boolean: one byte, anything but zero is true.
func (r *Reader) Bool() bool {
	b := r.take(1, "boolean")
	return b != nil && b[0] != 0
}

// Buffer reads a byte array; a negative length means nil. The result aliases
// the data given to NewReader.
func (r *Reader) Buffer() []byte {
	n := r.Int32()
	if r.err != nil || n < 0 {
		return nil
	}
	return r.take(int(n), "buffer")
}

// String reads a string; a negative length, Java's null, gives "".
func (r *Reader) String() string { return string(r.Buffer()) }

// Count reads the length of a vector of which each element takes at least
// elementSize bytes; a negative length, Java's null, gives 0.
func (r *Reader) Count(elementSize int) int {
	n := int(r.Int32())
	if r.err != nil || n < 0 {
		return 0
	}
	if n > len(r.rest)/elementSize {
		r.Fail("vector of %d elements in %d bytes", n, len(r.rest))
		return 0
	}
	return n
}

// Strings reads a vector of strings.
func (r *Reader) Strings() []string {
	n := r.Count(4)
	if n == 0 {
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.String())
	}
	return out
}

// Writer builds a record. The zero value is ready; it is confined to one
// goroutine.
type Writer struct{ buf []byte }

// NewWriter appends to buf.
func NewWriter(buf []byte) *Writer { return &Writer{buf: buf} }

// Bytes is what was written; it belongs to the Writer until its last use.
func (w *Writer) Bytes() []byte { return w.buf }

// Len is the number of bytes written.
func (w *Writer) Len() int { return len(w.buf) }

// Int32 writes an int.
func (w *Writer) Int32(v int32) { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(v)) }

// Int64 writes a long.
func (w *Writer) Int64(v int64) { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(v)) }

// Bool writes a boolean.
func (w *Writer) Bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	w.buf = append(w.buf, b)
}

// Buffer writes a byte array; nil has length −1.
func (w *Writer) Buffer(b []byte) {
	if b == nil {
		w.Int32(-1)
		return
	}
	w.Int32(int32(len(b)))
	w.buf = append(w.buf, b...)
}

// String writes a string.
func (w *Writer) String(s string) {
	w.Int32(int32(len(s)))
	w.buf = append(w.buf, s...)
}

// Strings writes a vector of strings.
func (w *Writer) Strings(list []string) {
	w.Int32(int32(len(list)))
	for _, s := range list {
		w.String(s)
	}
}

// PutInt32 overwrites the int at a position written before.
func (w *Writer) PutInt32(at int, v int32) { binary.BigEndian.PutUint32(w.buf[at:], uint32(v)) }
