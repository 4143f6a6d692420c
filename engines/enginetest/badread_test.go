package enginetest

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
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

// badPairs are faults that show only when one file is written and read.
var badPairs = []struct {
	name, clause string
	reads        engines.ReadSpec
}{
	{"remembers what it read", "truncate-then-append", engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader {
		return &memoReader{badReader: r, memo: map[int64][]byte{}}
	})}},
	{"does not see the newest page", "coherent", engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{"does not see the newest page while it is written", "readers-during-append", engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{"sends nothing to sockets", "readers-during-append", engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return silentReader{r} })}},
	{"stops at a segment's size", "oversize-read", engines.ReadSpec{Open: func(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
		return wrapRead(func(r *badReader) engines.Reader { return fixedReader{r, o.SegmentBytes} })(f, o)
	}}},
	{"does not see the end of a sealed file", "read-after-seal", engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{"does not see what a new appender adds", "reopen-read", engines.ReadSpec{Open: func(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
		return wrapRead(func(r *badReader) engines.Reader { return fixedReader{r, 10_000} })(f, o)
	}}},
}

func TestBadPairsAreCaught(t *testing.T) {
	proved := map[string]bool{}
	for _, bad := range badPairs {
		t.Run(bad.name, func(t *testing.T) {
			results := run(bad.name, t.TempDir(), only(t, pairClauses, bad.clause), func(dir string) pairBench {
				return pairBench{appends: buffered.Spec(), reads: bad.reads, dir: dir}
			})
			wantCaught(t, results)
		})
		proved[bad.clause] = true
	}
	wantAllProved(t, pairClauses, proved)
}

// memoReader answers a second ReadAt of a position from memory.
type memoReader struct {
	*badReader
	mu   sync.Mutex
	memo map[int64][]byte
}

func (r *memoReader) ReadAt(p []byte, at int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.memo[at]; len(known) >= len(p) {
		return copy(p, known), nil
	}
	n, err := r.Reader.ReadAt(p, at)
	r.memo[at] = append([]byte(nil), p[:n]...)
	return n, err
}

type laggingReader struct{ *badReader }

func (r laggingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	if size, sizeErr := r.file.Size(); sizeErr == nil && at+int64(n) > size-16 {
		clear(p[max(0, int64(n)-16):n])
	}
	return n, err
}
