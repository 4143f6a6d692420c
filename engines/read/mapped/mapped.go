// Package mapped is the read engine that writes to the client straight from a
// memory mapping of the file: one copy, by the kernel, out of the page cache.
//
// A mapped page that is gone (the file truncated by a stranger, a broken disk)
// is an error of the read that met it, not the end of the process: the kernel
// answers write(2) with EFAULT, and copies within the process are guarded.
//
// A mapping takes address space for a whole segment and at least one entry of
// the process's map table (vm.max_map_count, 65,530 by default) per open segment
// that has been read.
package mapped

import (
	"fmt"
	"io"
	"net"
	"sync"

	"tidemark/engines"
	"tidemark/engines/read/chunk"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// Spec names the engine.
func Spec() engines.ReadSpec {
	return engines.ReadSpec{
		Name:      "mapped",
		Doc:       "write to the socket straight from a memory mapping of the file: one copy",
		Available: func(string) error { return nil },
		Open:      open,
	}
}

// reader implements engines.Reader.
type reader struct {
	file engines.File
	out  chunk.Count
	view view
}

func open(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
	if _, ok := f.Descriptor(); !ok {
		return nil, fmt.Errorf("open %s: %w", f.Name(), vfs.ErrNoDescriptor)
	}
	return &reader{file: f, view: view{file: f, segmentBytes: o.SegmentBytes}}, nil
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, position int64) (int, error) {
	if err := r.out.Take(); err != nil {
		return 0, fmt.Errorf("read %s: %w", r.file.Name(), err)
	}
	defer r.out.Return()
	m, end, err := r.view.cover(position, position+int64(len(p)))
	if err != nil {
		return 0, err
	}
	if position >= end {
		return 0, io.EOF
	}
	n := min(int64(len(p)), end-position)
	if err := m.CopyOut(p[:n], position); err != nil {
		return 0, err
	}
	if int(n) < len(p) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// Chunk implements engines.Reader.
func (r *reader) Chunk(position, n int64) (engines.Chunk, error) {
	if position < 0 || n < 0 { // Asked first: the arguments of Check are allocated.
		invariant.Check(false, "chunk of %d bytes at %d", n, position)
	}
	if err := r.out.Take(); err != nil {
		return nil, fmt.Errorf("chunk of %s: %w", r.file.Name(), err)
	}
	m, end, err := r.view.cover(position, position+n)
	if err == nil && position+n > end {
		err = fmt.Errorf("chunk of %s: %d bytes at %d: %w", r.file.Name(), n, position, io.ErrUnexpectedEOF)
	}
	if err != nil {
		r.out.Return()
		return nil, err
	}
	c := chunks.Get().(*sending)
	*c = sending{reader: r, mapping: m, position: position, unsent: n}
	return c, nil
}

// LetGo implements engines.PageHolder.
func (r *reader) LetGo(from, to int64) {
	if r.out.Take() != nil {
		return // Closed: nothing is mapped.
	}
	defer r.out.Return()
	if e := r.view.now.Load(); e != nil {
		e.mapping.LetGo(from, min(to, e.end))
	}
}

// Close implements engines.Reader.
func (r *reader) Close() error {
	if !r.out.Close() {
		return nil
	}
	return r.view.unmap()
}

var chunks = sync.Pool{New: func() any { return new(sending) }}

// sending implements engines.FallbackChunk and engines.MemoryChunk; reader is nil after Release.
type sending struct {
	reader           *reader
	mapping          *vfs.Mapping
	position, unsent int64
	fallback         int64
}

// WriteTo implements io.WriterTo. A TCP connection gets the mapped bytes in
// write(2); any other writer might touch them in the process, so it gets copies.
func (c *sending) WriteTo(w io.Writer) (n int64, err error) {
	if c.unsent == 0 {
		return 0, nil
	}
	if conn, ok := w.(*net.TCPConn); ok {
		var sent int
		sent, err = conn.Write(c.mapping.Bytes(c.position, c.unsent))
		n = int64(sent)
	} else {
		n, err = chunk.Copy(w, (*copier)(c), c.position, c.unsent)
		c.fallback += n
	}
	c.position += n
	c.unsent -= n
	if err != nil {
		err = fmt.Errorf("send %s: %w", c.reader.file.Name(), err)
	}
	return n, err
}

// copier is a chunk whose mapping is read, within the bounds that were checked for it.
type copier sending

// ReadAt implements io.ReaderAt.
func (c *copier) ReadAt(p []byte, position int64) (int, error) {
	if err := c.mapping.CopyOut(p, position); err != nil {
		return 0, err
	}
	// Where the file was cut, the rest of the page has become zeros.
	size, err := c.reader.file.Size()
	if err != nil {
		return 0, err
	}
	if size < position+int64(len(p)) {
		return 0, io.EOF
	}
	return len(p), nil
}

// Len implements engines.Chunk.
func (c *sending) Len() int64 { return c.unsent }

// Bytes implements engines.MemoryChunk.
func (c *sending) Bytes() []byte {
	if c.unsent == 0 {
		return nil
	}
	return c.mapping.Bytes(c.position, c.unsent)
}

// FallbackBytes implements engines.FallbackChunk.
func (c *sending) FallbackBytes() int64 { return c.fallback }

// Release implements engines.Chunk.
func (c *sending) Release() {
	r := c.reader
	invariant.Check(r != nil, "chunk released twice")
	*c = sending{}
	chunks.Put(c)
	r.out.Return()
}
