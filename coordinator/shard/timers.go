package shard

import (
	"time"

	"tidemark/internal/timer"
)

// armed is the timer of one key. It lives as long as its key is set, so that setting
// it again and again costs no memory.
type armed struct {
	entry timer.Entry
	key   TimerKey
	// expire posts the timer to its shard; made once.
	expire func()
	// version counts settings, so that a parked start knows whether it still holds.
	version uint64
	running bool
	due     time.Time
}

// stopTimer stops the timer of t's key; unless t cancels it, the key keeps an entry
// that waits to be started.
func (s *shard[M, R]) stopTimer(t Timer) {
	a := s.timers[t.Key]
	if a == nil {
		if t.Cancel {
			return
		}
		a = &armed{key: t.Key}
		a.expire = func() { s.expire(a) }
		s.timers[t.Key] = a
	}
	s.host.wheel.Stop(&a.entry)
	a.running = false
	a.version++
	if t.Cancel {
		delete(s.timers, t.Key)
	}
}

// startTimer starts what stopTimer prepared, unless its key was set or cancelled
// since.
func (s *shard[M, R]) startTimer(t start, now time.Time) {
	a := t.armed
	if a.version != t.version {
		return
	}
	a.running = true
	a.due = now.Add(t.after)
	s.host.wheel.Add(&a.entry, t.after, a.expire)
}

// expireTimer runs the machine's operation for a timer that fell due. One that was
// stopped or set again while its expiry was on the way is not due.
func (s *shard[M, R]) expireTimer(a *armed) {
	now := s.host.options.Clock.Now()
	if !a.running || now.Before(a.due) || s.now() != Active {
		return
	}
	a.running = false
	delete(s.timers, a.key)
	s.outcome.Reset()
	s.machine.Expire(now, a.key, &s.outcome)
	if !s.carryOut(now, 0) && s.now() == Active {
		// Nothing has happened, and nobody will ask again.
		s.outcome.Reset()
		s.outcome.Set(a.key, s.host.options.CommitTimeout)
		s.settle()
	}
}
