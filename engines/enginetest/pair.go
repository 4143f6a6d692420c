package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"tidemark/engines"
)

var pairClauses = []clause[pairBench]{
	{Clause{"coherent", "every byte that was appended can be fetched at once"}, checkCoherent},
	{Clause{"readers-during-append", "consumers read the active segment while it is written"}, checkReadersDuringAppend},
	{Clause{"readers-during-truncate", "a follower drops its tail while consumers read what stays"}, checkReadersDuringTruncate},
	{Clause{"readers-during-seal", "consumers read a segment while the log rolls"}, checkReadersDuringSeal},
	{Clause{"removed-under-both", "a topic is deleted while it is written and read"}, checkRemovedUnderBoth},
	{Clause{"truncate-then-append", "after a truncation readers see the new batches, not remembered old ones"}, checkTruncateThenAppend},
	{Clause{"read-after-seal", "a reader outlives the appender of its segment"}, checkReadAfterSeal},
	{Clause{"oversize-read", "one batch may be larger than a segment, for its readers too"}, checkOversizeRead},
	{Clause{"reopen-read", "what one life of the broker wrote, the next one serves"}, checkReopenRead},
}

// pairBench is what a clause on two engines works with.
type pairBench struct {
	appends engines.AppendSpec
	reads   engines.ReadSpec
	dir     string
}

// pair is one file under both.
type pair struct {
	*segment
	reader engines.Reader
}

func (b pairBench) with(segmentBytes int64, do func(p *pair) error) error {
	return appendBench{spec: b.appends, dir: b.dir}.with(segmentBytes, func(s *segment) error {
		r, err := b.reads.Open(s.file, engines.ReadOptions{SegmentBytes: segmentBytes})
		if err != nil {
			return fmt.Errorf("open for reading: %w", err)
		}
		return errors.Join(do(&pair{segment: s, reader: r}), r.Close())
	})
}

// fetch compares n bytes from position, as ReadAt and as a chunk, with the
// appended ones.
func (p *pair) fetch(position, n int64) error {
	want := p.want[position : position+n]
	got := make([]byte, n)
	if n, err := p.reader.ReadAt(got, position); n < len(got) {
		return fmt.Errorf("ReadAt of %d bytes at %d returned %d, %w", len(got), position, n, err)
	}
	if err := compare(got, want, position); err != nil {
		return fmt.Errorf("ReadAt: %w", err)
	}
	var sent bytes.Buffer
	if err := (&source{reader: p.reader}).chunkTo(&sent, position, n); err != nil {
		return err
	}
	if err := compare(sent.Bytes(), want, position); err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	return nil
}

func checkCoherent(b pairBench) error {
	return b.with(4<<20, func(p *pair) error {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := 0; len(p.want) < 3<<20; i++ {
			at, n := int64(len(p.want)), rng.Int64N(20_000)
			if rng.IntN(10) == 0 {
				n *= 10
			}
			if err := p.append(pattern(40).bytes(at, n), pattern(40).bytes(at+n, 61)); err != nil {
				return err
			}
			if _, err := p.appendEitherWay(pattern(40).bytes(at+n+61, n), i%2 == 0); err != nil {
				return err
			}
			if err := p.fetch(at, n+61+n); err != nil {
				return err
			}
		}
		return p.fetch(0, int64(len(p.want)))
	})
}

func checkReadersDuringAppend(b pairBench) error {
	const total, step = 8 << 20, 50_000
	return b.with(total, func(p *pair) error {
		var published atomic.Int64
		return p.besideReaders(&published, func() error {
			buf := make([]byte, step)
			for end := int64(0); end+step <= total; end += step {
				pattern(41).fill(buf, end)
				if _, err := p.appender.Append([][]byte{buf}); err != nil {
					return err
				}
				published.Store(end + step)
			}
			return nil
		})
	})
}

// readWhile verifies the newest bytes and random earlier ones until done, over a
// socket and in the process in turn.
func readWhile(r engines.Reader, p pattern, published *atomic.Int64, done *atomic.Bool, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	server, client, err := dial()
	if err != nil {
		return err
	}
	defer client.Close() // Reading is over.
	defer server.Close() // Reading is over.
	s := source{pattern: p, reader: r}
	// A writer may be done before a reader was scheduled: some rounds are read all the
	// same.
	for rounds := 0; rounds < 64; rounds++ {
		if !done.Load() {
			rounds = 0
		}
		end := published.Load()
		if end == 0 {
			continue
		}
		n := rng.Int64N(min(end, 60_000)) + 1
		position := end - n
		if rng.IntN(3) == 0 {
			position = rng.Int64N(end - n + 1)
		}
		if err := s.fetchOver(server, client, position, n); err != nil {
			return err
		}
		if holder, ok := r.(engines.PageHolder); ok {
			holder.LetGo(rng.Int64N(position+1), position+n/2) // What others are being sent, too.
		}
	}
	return nil
}

// fetchOver compares n bytes from position with the pattern, as ReadAt and as a
// chunk through a connection.
func (s *source) fetchOver(server, client *net.TCPConn, position, n int64) error {
	got := make([]byte, n)
	if read, err := s.reader.ReadAt(got, position); read < len(got) {
		return fmt.Errorf("ReadAt of %d bytes at %d returned %d, %w", n, position, read, err)
	}
	if err := s.verify(got, position); err != nil {
		return fmt.Errorf("ReadAt: %w", err)
	}
	clear(got)
	sent := make(chan error, 1)
	go func() {
		err := s.chunkTo(server, position, n)
		// What was sent has arrived by then; what was not never will.
		sent <- errors.Join(err, client.SetReadDeadline(time.Now().Add(100*patience)))
	}()
	_, err := io.ReadFull(client, got)
	if err := errors.Join(<-sent, err, client.SetReadDeadline(time.Time{})); err != nil {
		return err
	}
	if err := s.verify(got, position); err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	return nil
}

func checkTruncateThenAppend(b pairBench) error {
	return b.with(smallSegment, func(p *pair) error {
		if err := p.append(pattern(42).bytes(0, 300_000)); err != nil {
			return err
		}
		for i, size := range []int64{200_001, 200_001, 4096, 0} {
			if err := p.fetch(0, int64(len(p.want))); err != nil {
				return err
			}
			if err := p.appender.Truncate(size); err != nil {
				return fmt.Errorf("truncate(%d): %w", size, err)
			}
			p.want = p.want[:size]
			if err := p.fetch(0, size); err != nil {
				return fmt.Errorf("after Truncate(%d): %w", size, err)
			}
			if err := p.append(pattern(43+i).bytes(size, 100_000)); err != nil {
				return err
			}
		}
		return p.fetch(0, int64(len(p.want)))
	})
}

func checkReadAfterSeal(b pairBench) error {
	return b.with(smallSegment, func(p *pair) error {
		return errors.Join(
			p.append(pattern(50).bytes(0, 123_456)),
			p.fetch(0, 123_456),
			p.stop(),
			p.fetch(0, 123_456))
	})
}

func checkOversizeRead(b pairBench) error {
	return b.with(64<<10, func(p *pair) error {
		return errors.Join(
			p.append(pattern(51).bytes(0, 100)),
			p.fetch(0, 100),
			p.append(pattern(52).bytes(0, 20<<20)),
			p.fetch(0, int64(len(p.want))),
			p.fetch(19<<20, 1<<20))
	})
}

func checkReopenRead(b pairBench) error {
	return b.with(smallSegment, func(p *pair) error {
		for i := range 4 {
			at := int64(len(p.want))
			err := errors.Join(
				p.append(pattern(53+i).bytes(at, 10_000)),
				p.stop(),
				p.open(),
				p.fetch(0, at+10_000))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
