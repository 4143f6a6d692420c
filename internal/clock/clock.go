// Package clock makes time a parameter: shells take a Clock, cores take a
// time.Time. Real is the machine's clock; Manual moves only when told to.
package clock

import "time"

// Clock tells the time and wakes its caller later. Implementations are safe for
// concurrent use.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// AfterFunc calls f once, in its own goroutine, after d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of AfterFunc.
type Timer interface {
	// Stop prevents the call and reports whether it did so.
	Stop() bool
}

// Real is the machine's clock.
type Real struct{}

// Now returns time.Now.
func (Real) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (Real) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
