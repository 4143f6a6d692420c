// Package sendfile is the read engine that has the kernel move the bytes from
// the page cache to the socket, with sendfile(2), as Kafka does
// (FileRecords.writeTo, FileChannel.transferTo).
//
// Every call gives its own position. The one of the file description, which
// io.Copy to a connection uses, is shared by all readers of the file: concurrent
// fetches would get each other's bytes.
//
// Only a TCP connection is served so. Any other writer (TLS encrypts in the
// process, a buffer has no descriptor) gets copies, and the chunk says so
// through engines.FallbackChunk.
package sendfile

import (
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/engines/read/chunk"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// callSize bounds one sendfile(2). Over loopback that does not pace, on two busy
// cores, the processor time per gigabyte, both ends, was 0.26 s with 32 KiB, 0.22
// with 64, 0.20 with 128 and 0.18 with 256 KiB to 1 MiB (median of three alternating
// runs each); in a broker 0.34 with 256 KiB and 0.28 with 1 MiB.
const callSize = 1 << 20

// Spec names the engine.
func Spec() engines.ReadSpec {
	return engines.ReadSpec{
		Name:      "sendfile",
		Doc:       "sendfile(2) from the page cache to the socket, without a copy into the process, as Kafka does",
		Available: func(string) error { return nil },
		Open:      open,
	}
}

// reader implements engines.Reader.
type reader struct {
	file engines.File
	fd   int
	out  chunk.Count
}

func open(f engines.File, _ engines.ReadOptions) (engines.Reader, error) {
	fd, ok := f.Descriptor()
	if !ok {
		return nil, fmt.Errorf("open %s: %w", f.Name(), vfs.ErrNoDescriptor)
	}
	return &reader{file: f, fd: fd}, nil
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
	c.reader, c.position, c.unsent = r, position, n
	return c, nil
}

// Close implements engines.Reader.
func (r *reader) Close() error {
	r.out.Close()
	return nil
}

var chunks = sync.Pool{New: func() any {
	c := new(sending)
	c.step = c.sendfile
	return c
}}

// sending implements engines.FallbackChunk; reader is nil after Release.
type sending struct {
	reader           *reader
	position, unsent int64
	fallback         int64
	// step is sendfile bound to this chunk, once for all its lives; err is
	// what it met.
	step func(socket uintptr) (done bool)
	err  error
}

// WriteTo implements io.WriterTo. The write deadline of a connection holds.
func (c *sending) WriteTo(w io.Writer) (int64, error) {
	before := c.unsent
	conn, ok := w.(*net.TCPConn)
	var err error
	if ok {
		err = c.send(conn)
	} else {
		err = c.copy(w)
	}
	if err != nil {
		err = fmt.Errorf("send %s: %w", c.reader.file.Name(), err)
	}
	return before - c.unsent, err
}

// send calls sendfile(2) until all is in the socket; the runtime's poller waits
// for room in between.
func (c *sending) send(conn *net.TCPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Write(c.step)
	if c.err != nil {
		err, c.err = c.err, nil
	}
	return err
}

// sendfile fills the socket; false asks to be called again when it has room.
func (c *sending) sendfile(socket uintptr) (done bool) {
	for c.unsent > 0 {
		n, err := unix.Sendfile(int(socket), c.reader.fd, &c.position, int(min(c.unsent, callSize)))
		switch {
		case err == unix.EAGAIN:
			return false
		case err == unix.EINTR:
		case err != nil:
			c.err = fmt.Errorf("sendfile: %w", err)
			return true
		case n == 0:
			c.err = io.ErrUnexpectedEOF // The bytes were published, so they must be there.
			return true
		default:
			c.unsent -= int64(n)
		}
	}
	return true
}

func (c *sending) copy(w io.Writer) error {
	n, err := chunk.Copy(w, c.reader.file, c.position, c.unsent)
	c.position += n
	c.unsent -= n
	c.fallback += n
	return err
}

// Len implements engines.Chunk.
func (c *sending) Len() int64 { return c.unsent }

// FallbackBytes implements engines.FallbackChunk.
func (c *sending) FallbackBytes() int64 { return c.fallback }

// Release implements engines.Chunk.
func (c *sending) Release() {
	r := c.reader
	invariant.Check(r != nil, "chunk released twice")
	*c = sending{step: c.step}
	chunks.Put(c)
	r.out.Return()
}
