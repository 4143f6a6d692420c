package clock

import (
	"sync"
	"time"
)

// Manual is a clock that stands still until Advance moves it. It is guarded by
// its own mutex; calls due at one instant run in the order they were set.
type Manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	clock *Manual
	due   time.Time
	f     func()
}

// NewManual returns a clock that shows start.
func NewManual(start time.Time) *Manual { return &Manual{now: start} }

// Now returns the instant the clock shows.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc registers f to run, inside a later Advance, once d has passed.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{clock: m, due: m.now.Add(d), f: f}
	m.timers = append(m.timers, t)
	return t
}

// Advance moves the clock by d and runs, on the caller's goroutine, every call
// that falls due, earliest first, each at its own instant.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		next := m.earliest(end)
		if next == nil {
			break
		}
		if next.due.After(m.now) {
			m.now = next.due
		}
		m.mu.Unlock()
		next.f()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

// earliest removes and returns the first timer due by end; nil when none is.
func (m *Manual) earliest(end time.Time) *manualTimer {
	best := -1
	for i, t := range m.timers {
		if !t.due.After(end) && (best < 0 || t.due.Before(m.timers[best].due)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	t := m.timers[best]
	m.timers = append(m.timers[:best], m.timers[best+1:]...)
	return t
}

// Stop implements Timer.
func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	for i, other := range t.clock.timers {
		if other == t {
			t.clock.timers = append(t.clock.timers[:i], t.clock.timers[i+1:]...)
			return true
		}
	}
	return false
}
