//go:build !linux

package schedule

import (
	"time"

	"golang.org/x/sys/unix"
)

func leastTimerSlack() (restore func()) { return func() {} }

func sleep(d time.Duration) { time.Sleep(d) }

// sleepPolling is sleep that ends early when fd has one of the events; it knows only
// whole milliseconds, and leaves the rest to the caller.
func sleepPolling(d time.Duration, fd int, events int16) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, int(d.Milliseconds()))
}
