package enginetest

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"tidemark/engines"
	"tidemark/engines/read/pread"
)

// badReads are faults and the clause that must catch each.
var badReads = []struct {
	name, clause string
	open         func(engines.File, engines.ReadOptions) (engines.Reader, error)
}{
	{"reads a byte further on", "read-at", wrapRead(func(r *badReader) engines.Reader { return shiftedReader{r} })},
	{"sends a chunk short", "chunk", wrapRead(func(r *badReader) engines.Reader { return &shortReader{badReader: r} })},
	{"sends nothing to sockets", "chunk-to-socket", wrapRead(func(r *badReader) engines.Reader { return silentReader{r} })},
	{"shares the file's position", "concurrent-chunks", openSharedPosition},
	{"starts over after an error", "resume", wrapRead(func(r *badReader) engines.Reader { return restartingReader{r} })},
	{"lifts the deadline", "deadline", wrapRead(func(r *badReader) engines.Reader { return patientReader{r} })},
	{"ignores a closed peer", "closed-peer", wrapRead(func(r *badReader) engines.Reader { return deafReader{r} })},
	{"knows the length of the file at its opening only", "growth", openFixedLength},
	{"opens the file by name for each chunk", "survives-removal", wrapRead(func(r *badReader) engines.Reader { return byNameReader{r} })},
	{"fills what is lost with zeros", "truncated-under", wrapRead(func(r *badReader) engines.Reader { return zeroReader{r} })},
	{"closes under its chunks", "close-waits", wrapRead(func(r *badReader) engines.Reader { return hastyReader{r} })},
	{"goes on after Close", "closed", wrapRead(func(r *badReader) engines.Reader { return hastyReader{r} })},
}

func TestBadReadEnginesAreCaught(t *testing.T) {
	proved := map[string]bool{}
	for _, bad := range badReads {
		t.Run(bad.name, func(t *testing.T) {
			spec := engines.ReadSpec{Name: bad.name, Open: bad.open}
			results := run(bad.name, t.TempDir(), only(t, readClauses, bad.clause), func(dir string) readBench {
				return readBench{spec: spec, dir: dir}
			})
			wantCaught(t, results)
		})
		proved[bad.clause] = true
	}
	wantAllProved(t, readClauses, proved)
}

// badReader is the pread engine with one fault.
type badReader struct {
	engines.Reader
	file engines.File
}

func wrapRead(plant func(*badReader) engines.Reader) func(engines.File, engines.ReadOptions) (engines.Reader, error) {
	return func(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
		r, err := pread.Spec().Open(f, o)
		if err != nil {
			return nil, err
		}
		return plant(&badReader{Reader: r, file: f}), nil
	}
}

// badChunk is a chunk with another WriteTo; the zero Len counts for nothing.
type badChunk struct {
	engines.Chunk
	writeTo func(w io.Writer) (int64, error)
}

func (c badChunk) WriteTo(w io.Writer) (int64, error) { return c.writeTo(w) }

// with gives the reader's chunks another WriteTo.
func (r *badReader) with(position, n int64, writeTo func(c engines.Chunk, w io.Writer) (int64, error)) (engines.Chunk, error) {
	c, err := r.Reader.Chunk(position, n)
	if err != nil {
		return nil, err
	}
	return badChunk{c, func(w io.Writer) (int64, error) { return writeTo(c, w) }}, nil
}

type shiftedReader struct{ *badReader }

func (r shiftedReader) ReadAt(p []byte, at int64) (int, error) { return r.Reader.ReadAt(p, at+1) }

type shortReader struct{ *badReader }

func (r *shortReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.Reader.Chunk(position, n-n/4096)
}

type silentReader struct{ *badReader }

func (r silentReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		if _, ok := w.(*net.TCPConn); ok {
			return c.WriteTo(io.Discard)
		}
		return c.WriteTo(w)
	})
}

// openSharedPosition is the trap of io.CopyN from the file to a connection: the
// position belongs to the open file, and all readers move it.
func openSharedPosition(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
	shared, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	return wrapRead(func(r *badReader) engines.Reader { return sharedReader{r, shared} })(f, o)
}

type sharedReader struct {
	*badReader
	shared *os.File
}

func (r sharedReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		conn, ok := w.(*net.TCPConn)
		if !ok {
			return c.WriteTo(w)
		}
		if _, err := r.shared.Seek(position, io.SeekStart); err != nil {
			return 0, err
		}
		sent, err := io.CopyN(conn, r.shared, n)
		if _, discardErr := c.WriteTo(io.Discard); err == nil {
			err = discardErr
		}
		return sent, err
	})
}

func (r sharedReader) Close() error {
	_ = r.shared.Close() // Opened for reading.
	return r.Reader.Close()
}

type restartingReader struct{ *badReader }

func (r restartingReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		again, err := r.Reader.Chunk(position, c.Len())
		if err != nil {
			return 0, err
		}
		defer again.Release()
		sent, err := again.WriteTo(w)
		if _, discardErr := io.CopyN(io.Discard, readerOf(c), sent); err == nil {
			err = discardErr
		}
		return sent, err
	})
}

// readerOf reads a chunk to its end through a pipe that takes what it is asked.
func readerOf(c engines.Chunk) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		w := &roomWriter{p: p}
		_, err := c.WriteTo(w)
		if w.n > 0 {
			err = nil
		}
		return w.n, err
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

type roomWriter struct {
	p []byte
	n int
}

func (w *roomWriter) Write(p []byte) (int, error) {
	n := copy(w.p[w.n:], p)
	w.n += n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

type patientReader struct{ *badReader }

func (r patientReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		conn, ok := w.(*net.TCPConn)
		if !ok {
			return c.WriteTo(w)
		}
		// For ever, in a careless engine; not so here, that the test ends.
		if err := conn.SetWriteDeadline(time.Now().Add(5 * patience)); err != nil {
			return 0, err
		}
		sent, err := c.WriteTo(w)
		if err != nil {
			err = io.ErrClosedPipe
		}
		return sent, err
	})
}

type deafReader struct{ *badReader }

func (r deafReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		sent, err := c.WriteTo(w)
		if _, ok := w.(*net.TCPConn); ok {
			err = nil
		}
		return sent, err
	})
}

func openFixedLength(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	return wrapRead(func(r *badReader) engines.Reader { return fixedReader{r, size} })(f, o)
}

type fixedReader struct {
	*badReader
	size int64
}

func (r fixedReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.Reader.Chunk(position, max(0, min(n, r.size-position)))
}

type byNameReader struct{ *badReader }

func (r byNameReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		f, err := os.Open(r.file.Name())
		if err != nil {
			return 0, err
		}
		defer f.Close() // Opened for reading.
		return c.WriteTo(w)
	})
}

type zeroReader struct{ *badReader }

func (r zeroReader) Chunk(position, n int64) (engines.Chunk, error) {
	return r.with(position, n, func(c engines.Chunk, w io.Writer) (int64, error) {
		sent, err := c.WriteTo(w)
		if size, sizeErr := r.file.Size(); err != nil && sizeErr == nil && size < position+n {
			zeros, _ := w.Write(make([]byte, c.Len()))
			return sent + int64(zeros), nil
		}
		return sent, err
	})
}

type hastyReader struct{ *badReader }

func (hastyReader) Close() error { return nil }
