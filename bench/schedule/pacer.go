package schedule

import (
	"runtime"
	"time"
)

// spinNs is how long before the intended time a Pacer stops sleeping and yields
// in a loop instead. It covers the kernel's wake-up time on an idle core.
const spinNs = 60_000

// Pacer waits for intended times with an error far below that of a runtime
// timer (which wakes up to a millisecond late): it sleeps in the kernel on a
// thread of its own with the least timer slack, and yields for the rest. It is
// confined to the goroutine that made it, which stays locked to its thread
// until Close.
type Pacer struct{ restore func() }

// NewPacer locks the calling goroutine to its thread.
func NewPacer() *Pacer {
	runtime.LockOSThread()
	return &Pacer{restore: leastTimerSlack()}
}

// Close gives the thread back.
func (p *Pacer) Close() {
	p.restore()
	runtime.UnlockOSThread()
}

// Wait returns at t or as soon after it as the machine allows, at once when t
// has passed, and returns the time it is then.
func (p *Pacer) Wait(t int64) int64 {
	now := Now()
	if rest := t - now - spinNs; rest > 0 {
		sleep(time.Duration(rest))
		now = Now()
	}
	for now < t {
		runtime.Gosched()
		now = Now()
	}
	return now
}
