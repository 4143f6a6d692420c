// Package pread is the read engine that copies: pread(2) into a pooled buffer,
// write to the client. It works on every file and for every writer, and is the
// yardstick of the others.
package pread

import (
	"fmt"
	"io"
	"sync"

	"tidemark/engines"
	"tidemark/engines/read/chunk"
	"tidemark/internal/invariant"
)

// Spec names the engine.
func Spec() engines.ReadSpec {
	return engines.ReadSpec{
		Name:      "pread",
		Doc:       "pread(2) into a buffer and write to the client: two copies, works everywhere",
		Available: func(string) error { return nil },
		Open:      open,
	}
}

// reader implements engines.Reader.
type reader struct {
	file engines.File
	out  chunk.Count
}

func open(f engines.File, _ engines.ReadOptions) (engines.Reader, error) {
	return &reader{file: f}, nil
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, position int64) (int, error) { return r.file.ReadAt(p, position) }

// Chunk implements engines.Reader.
func (r *reader) Chunk(position, n int64) (engines.Chunk, error) {
	if position < 0 || n < 0 { // Asked first: the arguments of Check are allocated.
		invariant.Check(false, "chunk of %d bytes at %d", n, position)
	}
	if err := r.out.Take(); err != nil {
		return nil, fmt.Errorf("chunk of %s: %w", r.file.Name(), err)
	}
	c := chunks.Get().(*sending)
	*c = sending{reader: r, position: position, unsent: n}
	return c, nil
}

// Close implements engines.Reader.
func (r *reader) Close() error {
	r.out.Close()
	return nil
}

var chunks = sync.Pool{New: func() any { return new(sending) }}

// sending implements engines.Chunk; reader is nil after Release.
type sending struct {
	reader           *reader
	position, unsent int64
}

// WriteTo implements io.WriterTo.
func (c *sending) WriteTo(w io.Writer) (int64, error) {
	n, err := chunk.Copy(w, c.reader.file, c.position, c.unsent)
	c.position += n
	c.unsent -= n
	if err != nil {
		return n, fmt.Errorf("send %s: %w", c.reader.file.Name(), err)
	}
	return n, nil
}

// Len implements engines.Chunk.
func (c *sending) Len() int64 { return c.unsent }

// Release implements engines.Chunk.
func (c *sending) Release() {
	r := c.reader
	invariant.Check(r != nil, "chunk released twice")
	*c = sending{}
	chunks.Put(c)
	r.out.Return()
}
