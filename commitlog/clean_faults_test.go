package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// TestPowerCutAtEveryCallOfACleaning cuts the power before every call of a round
// over several groups. What a disk may hold then is opened, and the power cut again
// at calls of that: the log is whole, every reader sees the last values, and a
// round from there ends where the first would have.
func TestPowerCutAtEveryCallOfACleaning(t *testing.T) {
	m := newCompacted(t)
	m.o.SegmentBytes = 600
	m.world.open()
	history(m)
	m.cleaner = testCleaner()
	m.o.SegmentBytes = 1500 // Several segments become one.
	m.ok(errors.Join(m.Reconfigure(m.o), m.Flush()))
	state := OpenState{RecoveryPoint: m.RecoveryPoint()}
	mem, end, calls, cuts := m.mem, m.LogEndOffset(), 0, 0
	every, enough := 3, 500
	if raceEnabled { // One goroutine races with nobody.
		every, enough = 30, 100
	}
	segments := len(m.view.segments)
	var check func(left *vfs.Mem, deeper bool, what string)
	check = func(left *vfs.Mem, deeper bool, what string) {
		cuts++
		c := &compacted{world: newWorld(t), cleaner: testCleaner(), entries: m.entries, headers: m.headers, sequences: m.sequences, open: m.open, touched: end}
		c.o, c.state = m.o, state
		c.mount(left)
		inner := 0
		c.faulty.OnCall(func(op vfs.Op, path string) error {
			if inner++; deeper && changes(op) {
				for seed := range uint64(4) {
					check(left.CrashClone(uint64(inner)+100*seed), false, fmt.Sprintf("%s, then at call %d (%s %s) of the start", what, inner, op, path))
				}
			}
			return nil
		})
		c.world.open()
		c.faulty.OnCall(nil)
		if r := c.Report(); c.LogEndOffset() != end || r.Corruption != nil || r.TruncatedBytes > 0 {
			t.Fatalf("power cut %s: log ends at %d, want %d; %+v", what, c.LogEndOffset(), end, r)
		}
		next := int64(0)
		for i := range c.view.segments {
			c.ok(c.view.eachHeader(i, 0, func(s *segment, h header) error {
				if h.BaseOffset() < next {
					t.Fatalf("power cut %s: %s has offset %d, %d was next", what, s.name, h.BaseOffset(), next)
				}
				next = h.NextOffset()
				return nil
			}))
		}
		c.check(0, end/2)
		c.checkProducers()
		for _, name := range c.names() {
			if stem, _ := splitLeftover(name); stem != "" {
				t.Fatalf("power cut %s: %s is still there", what, name)
			}
		}
		c.clean(end)
		c.checkClean()
	}
	m.faulty.OnCall(func(op vfs.Op, path string) error {
		if calls++; changes(op) {
			for seed := range uint64(4) {
				check(mem.CrashClone(seed*uint64(calls)), seed == 1 && calls%every == 0, fmt.Sprintf("at call %d (%s %s), seed %d", calls, op, path, seed))
			}
		}
		return nil
	})
	report, err := m.cleaner.Clean(m.Log, end)
	m.faulty.OnCall(nil)
	m.ok(err)
	if report.SegmentsBefore != segments-1 || report.SegmentsAfter < 2 || report.SegmentsBefore < 2*report.SegmentsAfter || cuts < enough {
		t.Fatalf("%+v over %d segments, %d cuts: too little to prove anything", report, segments, cuts)
	}
}

// TestDamageIsNotCleaned: a bit that flipped is neither dropped nor given a new
// checksum; the log stays as it is, byte for byte.
func TestDamageIsNotCleaned(t *testing.T) {
	m := newCompacted(t)
	m.world.open()
	history(m)
	m.close()
	data := m.content("00000000000000000000.log")
	data[len(data)/2] ^= 4
	m.overwrite("00000000000000000000.log", data)
	m.world.open()
	before := m.names()
	_, err := testCleaner().Clean(m.Log, m.LogEndOffset())
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || m.Err() != nil {
		t.Fatalf("got %v, the log says %v", err, m.Err())
	}
	if !bytes.Equal(m.content("00000000000000000000.log"), data) || !slices.Equal(m.names(), before) || m.FirstDirty() != 0 {
		t.Fatalf("files were changed: %v, before %v", m.names(), before)
	}
}

// TestDiskErrorsWhileCleaning: a full disk costs nothing but the round; any other
// error of writing ends the service of the log, and the next start mends it.
func TestDiskErrorsWhileCleaning(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		for at := range 60 {
			m := newCompacted(t)
			m.o.SegmentBytes = 600
			m.world.open()
			history(m)
			m.cleaner = testCleaner()
			m.ok(m.Flush())
			calls := 0
			m.faulty.OnCall(func(op vfs.Op, path string) error {
				if changes(op) && op != vfs.OpRemove {
					if calls++; calls == at+1 {
						return errno
					}
				}
				return nil
			})
			_, err := m.cleaner.Clean(m.Log, m.LogEndOffset())
			m.faulty.OnCall(nil)
			m.touched = m.LogEndOffset()
			if calls <= at {
				m.ok(err)
				break
			}
			if !errors.Is(err, errno) || errors.Is(err, ErrFailed) != (m.Err() != nil) || errno == syscall.EIO && m.Err() == nil {
				t.Fatalf("%v at call %d: %v, the log says %v", errno, at, err, m.Err())
			}
			m.check(0)
			if m.Err() == nil {
				m.clean(m.LogEndOffset()) // There is room again.
				m.checkClean()
			}
			m.crash()
			m.world.open()
			m.check(0)
			if m.LogEndOffset() != m.entries[len(m.entries)-1].offset+1 || m.Report().Corruption != nil {
				t.Fatalf("%v at call %d: after a start %+v", errno, at, m.Report())
			}
		}
	}
}

// TestCleaningGivesWay: a round ends when the log is truncated, cut at its start or
// closed under it, and leaves no files.
func TestCleaningGivesWay(t *testing.T) {
	for name, disturb := range map[string]func(m *compacted) error{
		"truncate":   func(m *compacted) error { return m.TruncateTo(5) },
		"start over": func(m *compacted) error { return m.TruncateFullyAndStartAt(1000) },
		"delete first": func(m *compacted) error {
			m.ok(m.AdvanceLogStart(m.view.segments[1].base))
			_, err := m.ApplyRetention(m.clock.Now(), 1000)
			return err
		},
		"stop": func(m *compacted) error { return ErrCleaningAborted },
	} {
		m := newCompacted(t)
		m.o.SegmentBytes, m.o.FileDeleteDelay = 600, 0
		m.world.open()
		history(m)
		pauses := 0
		c := NewCleaner(CleanerOptions{MapBytes: 4096, MapLoad: 0.5, BufferBytes: 512, Pause: func(bytes int, _ <-chan struct{}) error {
			if pauses++; pauses == 8 {
				return disturb(m)
			}
			return nil
		}})
		_, err := c.Clean(m.Log, m.LogEndOffset())
		if !errors.Is(err, ErrCleaningAborted) || m.Err() != nil {
			t.Errorf("%s: %v, the log says %v", name, err, m.Err())
		}
		for _, file := range m.names() {
			if strings.HasSuffix(file, cleanedSuffix) {
				t.Errorf("%s: %s is left", name, file)
			}
		}
		if name == "truncate" && m.FirstDirty() > 5 {
			t.Errorf("%d counts as cleaned after a truncation to 5", m.FirstDirty())
		}
		m.readAll(m.LogStartOffset())
		m.close()
	}
}

// TestCleaningBesideEverything reads, appends, flushes and reconfigures while rounds
// follow one another, and closes the log under the last.
func TestCleaningBesideEverything(t *testing.T) {
	w := newWorld(t)
	w.o.SegmentBytes, w.o.FileDeleteDelay = 2048, 0
	l, err := Open(w.fs, w.dir, w.o, w.state, w.clock)
	if err != nil {
		t.Fatal(err)
	}
	w.Log = l
	const enough = 30
	var rounds atomic.Int64
	stop := make(chan struct{})
	var rest sync.WaitGroup
	rest.Go(func() {
		c := testCleaner()
		for {
			r, err := c.Clean(l, math.MaxInt64)
			if err != nil {
				if !errors.Is(err, ErrCleaningAborted) {
					t.Error(err)
				}
				rounds.Store(enough)
				return
			}
			if r.SegmentsBefore > 0 {
				rounds.Add(1)
			}
		}
	})
	for range 2 {
		rest.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				seen := map[string]string{}
				for at := int64(0); at < l.LogEndOffset(); {
					info, err := l.Read(at, 1000, math.MaxInt64, true)
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil || info.Chunk == nil {
						t.Errorf("read %d: %+v, %v", at, info, err)
						return
					}
					data := drain(t, info.Chunk)
					for len(data) > 0 {
						b, next, err := record.Parse(data)
						if err != nil || b.CheckCRC() != nil || b.LastOffset() < at {
							t.Errorf("read %d: %v", at, err)
							return
						}
						for _, e := range decodeKeyed(t, b) {
							seen[string(e.key)] = string(e.value)
						}
						at, data = b.NextOffset(), next
					}
				}
				if len(seen) > 7 {
					t.Errorf("keys %v", seen)
				}
			}
		})
	}
	for i := 0; rounds.Load() < enough; i++ {
		if l.LogEndOffset()-l.FirstDirty() > 500 {
			runtime.Gosched() // The cleaner is to keep up.
			continue
		}
		w.mustAppend(keyed(record.None, -1, false, 0, string(rune('a'+i%7))), 0)
		if i%100 == 0 {
			w.o.SegmentBytes = 1024 + int64(i%3)*1024
			if err := errors.Join(l.Flush(), l.Reconfigure(w.o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rest.Wait()
}
