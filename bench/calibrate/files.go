package calibrate

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/bench/result"
)

var fileLimits = []limit{
	{result.LimitWrite16K, "write(2) of 16 KiB to the end of a file", result.UnitBytesPerS, appending(16 << 10)},
	{result.LimitWrite64K, "write(2) of 64 KiB to the end of a file", result.UnitBytesPerS, appending(64 << 10)},
	{result.LimitWrite1M, "write(2) of 1 MiB to the end of a file", result.UnitBytesPerS, appending(1 << 20)},
	{result.LimitSync4K, "fdatasync(2) after a write of 4 KiB", result.UnitNs, syncing(4 << 10)},
	{result.LimitSync64K, "fdatasync(2) after a write of 64 KiB", result.UnitNs, syncing(64 << 10)},
	{result.LimitSync1M, "fdatasync(2) after a write of 1 MiB", result.UnitNs, syncing(1 << 20)},
	{result.LimitGroup1, "durable 4 KiB writes, 1 waiter on a shared sync", result.UnitPerS, grouping(1)},
	{result.LimitGroup5, "durable 4 KiB writes, 5 waiters on a shared sync", result.UnitPerS, grouping(5)},
	{result.LimitGroup8, "durable 4 KiB writes, 8 waiters on a shared sync", result.UnitPerS, grouping(8)},
	{result.LimitGroup40, "durable 4 KiB writes, 40 waiters on a shared sync", result.UnitPerS, grouping(40)},
	{result.LimitGroup64, "durable 4 KiB writes, 64 waiters on a shared sync", result.UnitPerS, grouping(64)},
	{result.LimitMmapCold, "store into a mapping of a sparse file, 64 KiB at a time", result.UnitBytesPerS, mapping(false)},
	{result.LimitMmapFaulted, "store into a mapping whose pages are there already", result.UnitBytesPerS, mapping(true)},
	{result.LimitDirect1M, "O_DIRECT write of 1 MiB", result.UnitBytesPerS, direct(1 << 20)},
}

// fileBytes is where a growing file starts over.
const fileBytes = 256 << 20

// grow appends to a file and truncates it when it got long.
type grow struct {
	f   *os.File
	buf []byte
	at  int
}

func newGrow(dir string, size int) (*grow, error) {
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return nil, err
	}
	g := &grow{f: f, buf: make([]byte, size)}
	for i := range g.buf {
		g.buf[i] = byte(i)
	}
	return g, nil
}

func (g *grow) write() (int, error) {
	if g.at+len(g.buf) > fileBytes {
		if err := g.f.Truncate(0); err != nil {
			return 0, err
		}
		g.at = 0
	}
	n, err := g.f.WriteAt(g.buf, int64(g.at))
	g.at += n
	return n, err
}

func appending(size int) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		g, err := newGrow(dir, size)
		if err != nil {
			return sampler{}, err
		}
		return throughput(each, g.write, g.f.Close), nil
	}
}

func syncing(size int) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		g, err := newGrow(dir, size)
		if err != nil {
			return sampler{}, err
		}
		return timing(each, func() (time.Duration, error) {
			if _, err := g.write(); err != nil {
				return 0, err
			}
			began := time.Now()
			err := dataSync(g.f)
			return time.Since(began), err
		}, g.f.Close), nil
	}
}

// grouping measures group commit: writers append 4 KiB and wait for a sync that
// began after their write; whoever finds none running does it for all.
func grouping(waiters int) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		g, err := newGrow(dir, 4<<10)
		if err != nil {
			return sampler{}, err
		}
		return sampler{sample: func() (float64, float64, error) {
			n, spent, err := commitTogether(g, waiters, each)
			return float64(n) / spent.Seconds(), 0, err
		}, close: g.f.Close}, nil
	}
}

func commitTogether(g *grow, waiters int, each time.Duration) (n int64, spent time.Duration, err error) {
	c := &committer{grow: g}
	c.changed = sync.NewCond(&c.mu)
	began := time.Now()
	var count atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, waiters)
	for range waiters {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				if err := c.commit(); err != nil {
					errs <- err
					return
				}
				count.Add(1)
				if time.Since(began) >= each {
					return
				}
			}
		}()
	}
	group.Wait()
	close(errs)
	return count.Load(), time.Since(began), <-errs
}

type committer struct {
	grow    *grow
	mu      sync.Mutex
	changed *sync.Cond
	written int64 // writes so far
	durable int64 // writes that a finished sync covers
	syncing bool
	failed  error
}

func (c *committer) commit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.grow.write(); err != nil {
		return err
	}
	c.written++
	mine := c.written
	for c.durable < mine && c.failed == nil {
		if c.syncing {
			c.changed.Wait()
			continue
		}
		c.syncing = true
		covers := c.written
		c.mu.Unlock()
		err := dataSync(c.grow.f)
		c.mu.Lock()
		c.syncing, c.failed = false, err
		c.durable = max(c.durable, covers)
		c.changed.Broadcast()
	}
	return c.failed
}

func mapping(faulted bool) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		const size = 64 << 20
		piece := make([]byte, 64<<10)
		n := 0
		return sampler{sample: func() (float64, float64, error) {
			n++
			f, err := os.Create(filepath.Join(dir, fmt.Sprint("map", n)))
			if err != nil {
				return 0, 0, err
			}
			defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }() // scratch
			if err := f.Truncate(size); err != nil {
				return 0, 0, err
			}
			m, unmap, err := mapFile(f, size)
			if err != nil {
				return 0, 0, err
			}
			if faulted {
				for i := 0; i < size; i += 4096 {
					m[i] = 1
				}
			}
			began := time.Now()
			for at := 0; at < size; at += len(piece) {
				copy(m[at:], piece)
			}
			spent := time.Since(began)
			return size / spent.Seconds(), 0, unmap()
		}}, nil
	}
}

func direct(size int) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		f, buf, err := openDirect(filepath.Join(dir, "direct"), size)
		if err != nil {
			return sampler{}, err
		}
		at := 0
		return throughput(each, func() (int, error) {
			if at+size > fileBytes {
				at = 0
			}
			n, err := f.WriteAt(buf, int64(at))
			at += n
			return n, err
		}, f.Close), nil
	}
}
