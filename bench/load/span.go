package load

import (
	"math"
	"sync/atomic"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/schedule"
)

// span is the shared state of one measured phase: a warm-up, then a window that
// ends by time or by bytes. Start and end are decided once, by whichever
// goroutine gets there first, and are immutable afterwards.
type span struct {
	begin           int64 // start of the warm-up
	warmUp, window  int64 // ns
	maxBytes        int64 // of the whole phase; math.MaxInt64 for no bound
	interval        int64 // ns
	start, end      atomic.Int64
	bytes           atomic.Int64
	boundByBytes    atomic.Bool
	started, closed chan struct{}
}

// unset is the value of start and end before they are decided.
const unset = math.MaxInt64

func newSpan(warmUp, window, interval time.Duration, maxBytes int64) *span {
	s := &span{begin: schedule.Now(), warmUp: int64(warmUp), window: int64(window), maxBytes: maxBytes,
		interval: int64(interval), started: make(chan struct{}), closed: make(chan struct{})}
	s.start.Store(unset)
	s.end.Store(unset)
	return s
}

// fix decides start and end beforehand, for a paced load: both lie on its
// schedule and do not depend on what the target does.
func (s *span) fix() {
	s.open(s.begin + s.warmUp)
	s.close(s.begin + s.warmUp + s.window)
}

// lastPart begins that part of a paced window whose sends are made even after its end.
func (s *span) lastPart() int64 {
	return s.end.Load() - int64(float64(s.window)*result.LastPart)
}

func (s *span) open(at int64) {
	if s.start.CompareAndSwap(unset, at) {
		close(s.started)
	}
}

func (s *span) close(at int64) {
	if s.end.CompareAndSwap(unset, at) {
		close(s.closed)
	}
}

// advance moves the phase on at the time now and reports whether it goes on. A
// quarter of the bytes ends the warm-up early, all of them the window.
func (s *span) advance(now int64) bool {
	if now >= s.end.Load() {
		return false
	}
	written := s.bytes.Load()
	start := s.start.Load()
	if start == unset {
		if now-s.begin < s.warmUp && written < s.maxBytes/4 {
			return true
		}
		s.open(now)
		start = s.start.Load()
	}
	if now-start >= s.window || written >= s.maxBytes {
		if written >= s.maxBytes {
			s.boundByBytes.Store(true)
		}
		s.close(min(now, start+s.window))
		return false
	}
	return true
}

// Places of an event that is in no interval of the window.
const (
	inWarmUp = -1
	inDrain  = -2
)

// place is the interval of the window that holds the time t.
func (s *span) place(t int64) int {
	start := s.start.Load()
	if t < start {
		return inWarmUp
	}
	if t >= s.end.Load() {
		return inDrain
	}
	return int((t - start) / s.interval)
}
