package schedule

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// spinNs is how long before the intended time a Pacer stops sleeping and looks at
// the clock in a loop instead. It covers the kernel's wake-up time on an idle core.
const spinNs = 60_000

// Pacer waits for intended times with an error far below that of a runtime
// timer (which wakes up to a millisecond late): it sleeps in the kernel on a
// thread of its own with the least timer slack, and spins for the rest. To yield
// there would be worse than to spin: a goroutine that is locked to its thread passes
// through another thread each time. A Pacer is confined to the goroutine that made
// it, which stays locked to its thread until Close.
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
		now = Now()
	}
	return now
}

// WaitRead is one step of a wait until t by a caller that reads fd without blocking
// in between: it sleeps until fd is readable or t is near, and returns the time.
// Near t it returns at once, and the caller's reads are the spinning.
func (p *Pacer) WaitRead(t int64, fd int) int64 {
	now := Now()
	if rest := t - now - spinNs; rest > 0 {
		sleepPolling(time.Duration(rest), fd, unix.POLLIN)
		now = Now()
	}
	return now
}

// SleepRead sleeps until fd is readable, d at most.
func (p *Pacer) SleepRead(d time.Duration, fd int) { sleepPolling(d, fd, unix.POLLIN) }

// SleepWrite sleeps until fd is readable or writable, d at most.
func (p *Pacer) SleepWrite(d time.Duration, fd int) { sleepPolling(d, fd, unix.POLLIN|unix.POLLOUT) }
