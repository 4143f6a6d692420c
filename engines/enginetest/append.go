package enginetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

var appendClauses = []clause[appendBench]{
	{Clause{"positions", "the log's index points at the positions that Append returns"}, checkPositions},
	{Clause{"visible", "a consumer may fetch a batch as soon as its append returned"}, checkVisible},
	{Clause{"empty", "a request may carry nothing for a partition"}, checkEmpty},
	{Clause{"buffers-returned", "the broker reuses the request's buffer for the next request"}, checkBuffersReturned},
	{Clause{"grows", "a segment is filled in many appends, through every step of allocation"}, checkGrows},
	{Clause{"oversize", "one batch may be larger than a segment"}, checkOversize},
	{Clause{"two-files", "a broker appends to many segments at once"}, checkTwoFiles},
	{Clause{"drops-the-tail", "what a crash left behind the valid bytes would be taken for batches at the next recovery"}, checkTornTails},
	{Clause{"refuses-a-short-file", "bytes that are not there cannot be valid"}, checkRefusesShort},
	{Clause{"truncate", "a follower drops what its leader does not have, and the dropped batches must not come back after a crash"}, checkTruncate},
	{Clause{"close-trims", "a sealed segment is the same bytes whichever engine wrote it"}, checkCloseTrims},
	{Clause{"reopens", "a broker restarts"}, checkReopens},
	{Clause{"flush-beside-append", "no append waits for the disk"}, checkFlushBesideAppend},
	{Clause{"flush-final", "after a failed sync the kernel counts the lost pages as clean, so a later success proves nothing"}, checkFlushFinal},
	{Clause{"power-cut", "what was flushed is there after a power cut, whatever happened to the rest, and the engine goes on behind it"}, checkPowerCut},
	{Clause{"lost-end", "a file that lost its reserved end is an error of one append; an unguarded fault on a mapped page would end the process"}, checkLostEnd},
	{Clause{"error-leaves-end", "an append that was refused must leave no gap and no trace, and the next may succeed"}, checkErrorLeavesEnd},
}

func checkPositions(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		p := pattern(1)
		for _, sizes := range [][]int64{{1}, {61}, {4096}, {1, 2, 3}, {4095, 1, 4097}, {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}, {65536, 61}} {
			at := int64(len(s.want))
			var bufs [][]byte
			for _, n := range sizes {
				bufs = append(bufs, p.bytes(at, n))
				at += n
			}
			if err := s.append(bufs...); err != nil {
				return err
			}
		}
		return s.check()
	})
}

func checkVisible(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		p := pattern(2)
		for range 20 {
			if err := s.append(p.bytes(int64(len(s.want)), 1000), p.bytes(int64(len(s.want))+1000, 777)); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return fmt.Errorf("after Append returned: %w", err)
			}
		}
		return nil
	})
}

func checkEmpty(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		for _, bufs := range [][][]byte{nil, {}, {nil}, {{}, nil, {}}, {{1, 2}, {}, {3}}, {{}, {4}}, nil} {
			if err := s.append(bufs...); err != nil {
				return err
			}
		}
		return s.check()
	})
}

func checkBuffersReturned(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		one, two := make([]byte, 5000), make([]byte, 300)
		for i := range 4 {
			pattern(i).fill(one, 0)
			pattern(i+10).fill(two, 0)
			bufs := [][]byte{one, two}
			if err := s.append(bufs...); err != nil {
				return err
			}
			if &bufs[0][0] != &one[0] || len(bufs[0]) != len(one) || len(bufs[1]) != len(two) {
				return fmt.Errorf("append changed the caller's list of buffers")
			}
			clear(one)
			clear(two)
		}
		if err := s.append([]byte{1}); err != nil { // An engine that held a buffer back writes it now.
			return err
		}
		return s.check()
	})
}

func checkGrows(b appendBench) error {
	return b.with(64<<20, func(s *segment) error {
		p := pattern(3)
		buf := make([]byte, 1<<20-61)
		for len(s.want) < 40<<20 {
			p.fill(buf, int64(len(s.want)))
			if err := s.append(buf); err != nil {
				return err
			}
		}
		return s.check()
	})
}

func checkOversize(b appendBench) error {
	return b.with(64<<10, func(s *segment) error {
		if err := s.append(pattern(4).bytes(0, 40<<20+17)); err != nil {
			return err
		}
		return s.check()
	})
}

func checkTwoFiles(b appendBench) error {
	one, err := b.create("one", smallSegment)
	if err != nil {
		return err
	}
	two, err := b.create("two", smallSegment)
	if err != nil {
		return errors.Join(err, one.close())
	}
	for range 50 {
		err = errors.Join(err,
			one.append(pattern(5).bytes(int64(len(one.want)), 3000)),
			two.append(pattern(6).bytes(int64(len(two.want)), 1234)))
	}
	return errors.Join(err, one.check(), two.check(), one.close(), two.close())
}

func checkRefusesShort(b appendBench) error {
	f, err := vfs.OS{}.Create(filepath.Join(b.dir, "segment"))
	if err != nil {
		return err
	}
	a, err := b.spec.Open(f, 1, engines.AppendOptions{SegmentBytes: smallSegment})
	if err == nil {
		return errors.Join(fmt.Errorf("open of an empty file at size 1 succeeded"), a.Close(), f.Close())
	}
	return f.Close()
}

func checkTruncate(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		if err := s.append(pattern(10).bytes(0, 50_000)); err != nil {
			return err
		}
		for i, size := range []int64{50_000, 49_999, 8192, 8192, 4097, 100, 0} {
			if err := s.appender.Truncate(size); err != nil {
				return fmt.Errorf("truncate(%d): %w", size, err)
			}
			s.want = s.want[:size]
			if got := s.appender.Size(); got != size {
				return fmt.Errorf("size after Truncate(%d) is %d", size, got)
			}
			if err := s.check(); err != nil {
				return fmt.Errorf("after Truncate(%d): %w", size, err)
			}
			if err := s.append(pattern(11+i).bytes(size, 61)); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return fmt.Errorf("after Truncate(%d) and Append: %w", size, err)
			}
		}
		return nil
	})
}

func checkCloseTrims(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		if err := errors.Join(s.append(pattern(20).bytes(0, 12_345)), s.stop()); err != nil {
			return err
		}
		size, err := s.file.Size()
		if err != nil {
			return fmt.Errorf("the file is not usable after Close: %w", err)
		}
		if size != 12_345 {
			return fmt.Errorf("the file has %d bytes after Close, want 12345", size)
		}
		return s.check()
	})
}

func checkReopens(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		for i := range 5 {
			if err := errors.Join(s.append(pattern(i).bytes(int64(len(s.want)), 4096*int64(i)+99)), s.stop(), s.open()); err != nil {
				return err
			}
		}
		return s.check()
	})
}

func checkFlushBesideAppend(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		var flushes sync.WaitGroup
		stop := make(chan struct{})
		errs := make(chan error, 1)
		appender := s.appender
		flushes.Go(func() {
			for {
				if err := appender.Flush(); err != nil {
					errs <- fmt.Errorf("flush beside Append: %w", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		var err error
		for range 200 {
			err = errors.Join(err, s.append(pattern(21).bytes(int64(len(s.want)), 5000)))
		}
		close(stop)
		flushes.Wait()
		select {
		case flushErr := <-errs:
			err = errors.Join(err, flushErr)
		default:
		}
		return errors.Join(err, s.check())
	})
}
