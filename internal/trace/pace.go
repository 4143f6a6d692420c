package trace

import "time"

// Pace lets so many events of one kind through in a time and holds up the others,
// so that what is frequent cannot drown what is rare. The zero value is ready. It is
// not safe for concurrent use.
type Pace struct {
	window time.Duration
	passed int
}

// PaceWindow and PaceEvents are its bound: 50 events in 100 ms.
const (
	PaceWindow = 100 * time.Millisecond
	PaceEvents = 50
)

// Pass reports whether an event at that time goes through.
func (p *Pace) Pass(now time.Duration) bool {
	if window := now / PaceWindow; window != p.window {
		p.window, p.passed = window, 0
	}
	p.passed++
	return p.passed <= PaceEvents
}
