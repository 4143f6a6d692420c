package shard

import "time"

// park is the part of an outcome that waits for the high watermark and for the store.
type park struct {
	end     int64
	sent    uint64 // the store's write that it waits for
	due     time.Time
	replies []Reply
	starts  []start
}

// start is a timer that begins to run when its outcome is released, unless its key
// was set or cancelled in between.
type start struct {
	armed   *armed
	version uint64
	after   time.Duration
}

// queue holds parks in order of their ends; head is the first that waits.
type queue struct {
	parks []park
	head  int
}

func (q *queue) empty() bool  { return q.head == len(q.parks) }
func (q *queue) first() *park { return &q.parks[q.head] }
func (q *queue) pop() {
	q.parks[q.head] = park{}
	if q.head++; q.empty() {
		q.parks, q.head = q.parks[:0], 0
	}
}

// settle gives the outcome's replies and starts its timers, now if all that the
// machine has seen is committed, else once it is. Earlier timers of the keys stop
// at once.
func (s *shard[M, R]) settle() {
	o := &s.outcome
	now := s.host.options.Clock.Now()
	if s.parked.empty() && s.isSafe(s.written, s.keeping.sent) {
		for _, t := range o.Timers {
			s.stopTimer(t)
			if !t.Cancel {
				s.startTimer(start{armed: s.timers[t.Key], version: s.timers[t.Key].version, after: t.After}, now)
			}
		}
		for _, r := range o.Replies {
			s.answer(r)
		}
		return
	}
	p := park{end: s.written, sent: s.keeping.sent, due: now.Add(s.host.options.CommitTimeout), replies: append([]Reply(nil), o.Replies...)}
	for _, t := range o.Timers {
		s.stopTimer(t)
		if a := s.timers[t.Key]; !t.Cancel {
			p.starts = append(p.starts, start{armed: a, version: a.version, after: t.After})
		}
	}
	if len(p.replies) == 0 && len(p.starts) == 0 {
		return
	}
	if s.parked.empty() {
		s.host.wheel.Add(&s.overdue, s.host.options.CommitTimeout, s.ring)
	}
	s.parked.parks = append(s.parked.parks, p)
}

// release lets go what is committed, and what has waited too long with
// ErrCommitTimeout in place of its replies. Clients' times begin then in both cases.
func (s *shard[M, R]) release() {
	if s.parked.empty() {
		return
	}
	now := s.host.options.Clock.Now()
	for !s.parked.empty() {
		p := s.parked.first()
		late := !s.isSafe(p.end, p.sent)
		if late && now.Before(p.due) {
			break
		}
		for _, t := range p.starts {
			s.startTimer(t, now)
		}
		for _, r := range p.replies {
			if late {
				r = Reply{Token: r.Token, Err: ErrCommitTimeout}
			}
			s.answer(r)
		}
		s.parked.pop()
	}
	s.host.wheel.Stop(&s.overdue)
	if !s.parked.empty() {
		s.host.wheel.Add(&s.overdue, s.parked.first().due.Sub(now), s.ring)
	}
}
