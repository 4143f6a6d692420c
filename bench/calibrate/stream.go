package calibrate

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/hugepage"
)

// way is one way to take a stream. Which is the fastest differs from machine to
// machine, with the size of the pieces and with where the scheduler happens to
// put the two ends, so that a limit is the best of them all.
type way struct {
	connections int
	// lowWater is how many bytes wake a waiting receiver. One that is faster
	// than the sender waits before every piece, and waking it for each costs the
	// sender more than the piece: discarding is slower than reading then.
	lowWater int
	// short is for a receiver that stores: its pieces do not end at a multiple of
	// their size, as batches do not. Whole ones spare the kernel the pages that two
	// share; but for one of 1 MiB it takes one block of memory, and where the host
	// has to give that the stream is six times slower.
	short bool
}

var (
	ways      = []way{{connections: 1}, {connections: 2}, {connections: 1, lowWater: 512 << 10}, {connections: 2, lowWater: 512 << 10}}
	waysStore = append(slices.Clone(ways), way{connections: 1, short: true}, way{connections: 2, short: true})
)

// warm is how long a stream runs before it counts.
const warm = 10 * time.Millisecond

// receiver takes what comes on a connection until it ends and counts it. dir is for
// its files.
type receiver func(f *os.File, w way, dir string, arrived *atomic.Int64) error

// stream is one way's open connections. send is made anew for each of them.
type stream struct {
	pairs   []*pair
	sends   []func() error
	arrived atomic.Int64
}

// streaming takes a limit over all the ways in turn. prepare returns what moves
// one piece to a connection, and how to clean up.
func streaming(ways []way, receive receiver, prepare func(dir string) (sender func(*net.TCPConn) func() error, close func() error, err error)) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		sender, done, err := prepare(dir)
		if err != nil {
			return sampler{}, err
		}
		var streams []*stream
		closeAll := func() error {
			var errs []error
			for _, s := range streams {
				errs = append(errs, s.close())
			}
			return errors.Join(append(errs, done())...)
		}
		for _, w := range ways {
			s, err := openStream(w, receive, dir, sender)
			if err != nil {
				return sampler{}, errors.Join(err, closeAll())
			}
			streams = append(streams, s)
		}
		turn := 0
		return sampler{rounds: len(ways), sample: func() (float64, float64, error) {
			s := streams[turn%len(streams)]
			turn++
			v, err := s.rate(each / 2)
			return v, 0, err
		}, close: closeAll}, nil
	}
}

func openStream(w way, receive receiver, dir string, sender func(*net.TCPConn) func() error) (*stream, error) {
	s := &stream{}
	for range w.connections {
		p, err := connect(func(f *os.File) error { return receive(f, w, dir, &s.arrived) })
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.pairs, s.sends = append(s.pairs, p), append(s.sends, sender(p.near))
	}
	return s, nil
}

func (s *stream) close() error {
	var errs []error
	for _, p := range s.pairs {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// rate sends on all connections at once and returns the bytes per second that
// arrived once the stream was under way. It goes on beyond its time until something
// has: on a busy machine a receiver may not run for as long as that.
func (s *stream) rate(each time.Duration) (float64, error) {
	type mark struct {
		at    time.Time
		bytes int64
	}
	var mu sync.Mutex
	var from, to mark
	began := time.Now()
	reached := func(m *mark) {
		mu.Lock()
		defer mu.Unlock()
		if m.at.IsZero() {
			*m = mark{time.Now(), s.arrived.Load()}
		}
	}
	errs := make([]error, len(s.sends))
	var group sync.WaitGroup
	for i, send := range s.sends {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Since(began) < warm && errs[i] == nil {
				errs[i] = send()
			}
			reached(&from)
			for start := s.arrived.Load(); (time.Since(began) < warm+each || s.arrived.Load() == start) && errs[i] == nil; {
				errs[i] = send()
			}
			reached(&to)
		}()
	}
	group.Wait()
	spent := to.at.Sub(from.at)
	if err := errors.Join(errs...); err != nil || spent <= 0 {
		return 0, err
	}
	return float64(to.bytes-from.bytes) / spent.Seconds(), nil
}

// sourceBytes is the memory that is sent from: past the processor's second-level
// cache, as where the raw driver's batches lie.
const sourceBytes = 4 << 20

// source is memory with pages of its own, like that of who sends batches: one never
// written to is one page of zeros for the kernel, wherever it is read.
func source() []byte {
	b := make([]byte, sourceBytes)
	for i := range b {
		b[i] = byte(i)
	}
	hugepage.Under(b)
	return b
}

// writing sends pieces of memory, one behind the other.
func writing(size int) func(string) (func(*net.TCPConn) func() error, func() error, error) {
	return func(string) (func(*net.TCPConn) func() error, func() error, error) {
		memory := source()
		return func(conn *net.TCPConn) func() error {
			at := 0
			return func() error {
				_, err := conn.Write(memory[at : at+size])
				if at += size; at == sourceBytes {
					at = 0
				}
				return err
			}
		}, func() error { return nil }, nil
	}
}

// cachedBytes is the file that is sent again and again, turnBytes a turn, which
// is what one fetch of a partition asks for.
const (
	cachedBytes = 512 << 20
	turnBytes   = 1 << 20
)

// cachedFile makes a file that is in the page cache.
func cachedFile(dir string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, "cached"))
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(make([]byte, cachedBytes)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// turns calls send with the start of each turn through the cached file, for ever.
func turns(send func(offset int64) error) func() error {
	var offset int64
	return func() error {
		err := send(offset)
		offset = (offset + turnBytes) % cachedBytes
		return err
	}
}

// sendingFile sends a file that is in the page cache, as the read engine sendfile
// does.
func sendingFile(dir string) (func(*net.TCPConn) func() error, func() error, error) {
	f, err := cachedFile(dir)
	if err != nil {
		return nil, nil, err
	}
	return func(conn *net.TCPConn) func() error {
		return turns(func(offset int64) error { return sendAll(conn, f, offset, turnBytes) })
	}, f.Close, nil
}

// copyingFile copies it through a buffer that stays in the processor's cache, as
// the read engine pread does.
func copyingFile(dir string) (func(*net.TCPConn) func() error, func() error, error) {
	f, err := cachedFile(dir)
	if err != nil {
		return nil, nil, err
	}
	return func(conn *net.TCPConn) func() error {
		buf := make([]byte, 256<<10)
		return turns(func(offset int64) error {
			for end := offset + turnBytes; offset < end; offset += int64(len(buf)) {
				if _, err := f.ReadAt(buf, offset); err != nil {
					return err
				}
				if _, err := conn.Write(buf); err != nil {
					return err
				}
			}
			return nil
		})
	}, f.Close, nil
}

// sendingMapping writes a mapping of it, as the read engine mapped does.
func sendingMapping(dir string) (func(*net.TCPConn) func() error, func() error, error) {
	f, err := cachedFile(dir)
	if err != nil {
		return nil, nil, err
	}
	mapping, unmap, err := mapFile(f, cachedBytes)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return func(conn *net.TCPConn) func() error {
			return turns(func(offset int64) error {
				_, err := conn.Write(mapping[offset : offset+turnBytes])
				return err
			})
		}, func() error {
			return errors.Join(unmap(), f.Close())
		}, nil
}
