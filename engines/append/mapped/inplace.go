package mapped

import (
	"tidemark/engines"
	"tidemark/internal/invariant"
)

var _ engines.InPlaceAppender = (*appender)(nil)

// Reserve implements engines.InPlaceAppender. It lends what lies in the current
// window and nothing else: where a window ends, once in windowSize, the append
// that goes on in the next one is copied.
func (a *appender) Reserve(n int64) ([]byte, error) {
	if n <= 0 || a.lent != 0 { // Asked first: the arguments of Check are allocated.
		invariant.Check(false, "reserve %d bytes of %s, %d are on loan", n, a.file.Name(), a.lent)
	}
	if err := a.syncer.Err(); err != nil {
		return nil, err
	}
	window := a.windows.current
	if a.torn || window == nil || a.size+n > window.End() {
		return nil, nil
	}
	a.lent = n
	return window.Bytes(a.size, n), nil
}

// Publish implements engines.InPlaceAppender.
func (a *appender) Publish() (int64, error) {
	a.checkLoan()
	if err := a.syncer.Err(); err != nil {
		a.Abandon()
		return 0, err
	}
	position := a.size
	a.size, a.lent = a.size+a.lent, 0
	a.written.Store(a.size)
	if a.size >= a.windows.ahead {
		a.windows.prepare(a.file, a.allocated, nil)
	}
	return position, nil
}

// Abandon implements engines.InPlaceAppender. Recovery would take what was
// received, and refused, for appended: it is cleared, or cut off where a page is
// lost.
func (a *appender) Abandon() {
	a.checkLoan()
	if err := a.windows.current.Clear(a.size, a.lent); err != nil {
		a.torn = true
		_ = a.trim() // If it does not go now, the next call tries.
	}
	a.lent = 0
}

func (a *appender) checkLoan() {
	if a.lent == 0 {
		invariant.Check(false, "no memory of %s is on loan", a.file.Name())
	}
}
