package replica

import (
	"sync"
	"time"

	"tidemark/internal/clock"
)

// throttle paces bytes over several goroutines (Kafka's Throttler): each takes the
// next free stretch of time. It is safe for concurrent use.
type throttle struct {
	clock          clock.Clock
	bytesPerSecond float64

	mu   sync.Mutex
	free time.Time // from when on nothing is taken
}

// wait returns true when it is time for so many bytes; false when one of the
// channels was closed before.
func (t *throttle) wait(bytes int, closed, stopping <-chan struct{}) bool {
	d := t.take(bytes)
	if d > 0 {
		due := make(chan struct{})
		timer := t.clock.AfterFunc(d, func() { close(due) })
		defer timer.Stop()
		select {
		case <-due:
		case <-closed:
		case <-stopping:
		}
	}
	select {
	case <-closed:
		return false
	case <-stopping:
		return false
	default:
		return true
	}
}

// take reserves the time that bytes need and returns how long it is until then.
func (t *throttle) take(bytes int) time.Duration {
	const longest = time.Hour // A rate of next to nothing must not overflow.
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if t.free.Before(now) {
		t.free = now
	}
	start := t.free
	t.free = start.Add(time.Duration(min(float64(bytes)/t.bytesPerSecond*float64(time.Second), float64(longest))))
	return start.Sub(now)
}
