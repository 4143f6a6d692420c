package schedule

import (
	"time"

	"golang.org/x/sys/unix"
)

// leastTimerSlack sets the thread's timer slack to 1 ns (the default is 50 µs)
// and returns how to put it back.
func leastTimerSlack() (restore func()) {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return func() {} // only less exact; the lateness histogram shows it
	}
	return func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) } // 0 is the default again
}

// sleep blocks the thread in the kernel. An interrupted sleep only returns
// early, and the caller waits for the rest.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}

// sleepPolling is sleep that ends early when fd has one of the events.
func sleepPolling(d time.Duration, fd int, events int16) {
	ts := unix.NsecToTimespec(int64(d))
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: events}}, &ts, nil)
}
