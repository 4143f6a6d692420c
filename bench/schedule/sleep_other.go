//go:build !linux

package schedule

import "time"

func leastTimerSlack() (restore func()) { return func() {} }

func sleep(d time.Duration) { time.Sleep(d) }
