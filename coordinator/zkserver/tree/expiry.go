package tree

import "slices"

// Expiry decides when sessions end. As in ZooKeeper (ExpiryQueue) a session's
// end is rounded up to a tick, so that all sessions due in one tick are looked
// at together and a touch is cheap. It is confined to one goroutine.
type Expiry struct {
	tickMs  int64
	dueAt   map[int64]int64              // session → its tick
	buckets map[int64]map[int64]struct{} // tick → sessions
}

// NewExpiry returns an empty Expiry with that tick.
func NewExpiry(tickMs int64) *Expiry {
	return &Expiry{tickMs: tickMs, dueAt: map[int64]int64{}, buckets: map[int64]map[int64]struct{}{}}
}

// Touch says that the session was heard of: it now ends at the first tick that
// is later than its timeout from now.
func (e *Expiry) Touch(session, timeoutMs, nowMs int64) {
	e.end(session, e.after(nowMs+timeoutMs))
}

// Postpone has the session end later by that time, rounded up to a tick, and not later
// than if it were heard of now.
func (e *Expiry) Postpone(session, byMs, timeoutMs, nowMs int64) {
	by := (byMs + e.tickMs - 1) / e.tickMs * e.tickMs
	e.end(session, min(e.dueAt[session]+by, e.after(nowMs+timeoutMs)))
}

// after is the first tick later than a time.
func (e *Expiry) after(ms int64) int64 { return (ms/e.tickMs + 1) * e.tickMs }

func (e *Expiry) end(session, due int64) {
	if e.dueAt[session] >= due {
		return // time stood still or went backwards: a session is never shortened
	}
	e.Remove(session)
	e.dueAt[session] = due
	if e.buckets[due] == nil {
		e.buckets[due] = map[int64]struct{}{}
	}
	e.buckets[due][session] = struct{}{}
}

// Remove forgets a session.
func (e *Expiry) Remove(session int64) {
	due, ok := e.dueAt[session]
	if !ok {
		return
	}
	delete(e.dueAt, session)
	delete(e.buckets[due], session)
	if len(e.buckets[due]) == 0 {
		delete(e.buckets, due)
	}
}

// Due forgets and returns the sessions whose tick has come, earliest first, then
// in order of id.
func (e *Expiry) Due(nowMs int64) []int64 {
	var out []int64
	for _, tick := range sortedKeys(e.buckets) {
		if tick > nowMs {
			break
		}
		sessions := sortedKeys(e.buckets[tick])
		out = slices.Concat(out, sessions)
		for _, s := range sessions {
			e.Remove(s)
		}
	}
	return out
}

// Len is the number of sessions.
func (e *Expiry) Len() int { return len(e.dueAt) }
