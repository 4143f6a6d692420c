package network

import "sync"

// budget is the memory for requests in flight. It is charged with buffers as
// they are taken, so it grows with bytes received. A connection that holds
// nothing waits for its first buffer until the budget has room. One that is in
// the middle of a frame goes before those; and because many half-received
// frames could fill the budget with none able to end, one of them at a time may
// go beyond it. So memory is bounded by the limit plus one frame, which has two
// buffers while it moves to a larger one, and there is always a frame that can end.
type budget struct {
	limit int64
	stats *Stats

	mu       sync.Mutex
	used     int64
	overrun  *grant // the frame that may go beyond limit; nil: none
	growing  []*waiter
	starting []*waiter
}

// grant is one buffer's share of a budget. Its owner is its buffer's.
type grant struct {
	of    *budget
	bytes int64
	holds bool // it is of.overrun; written under of.mu, for the owner
}

type waiter struct {
	g     *grant
	n     int64
	ready chan struct{} // closed once n is granted
}

func newBudget(limit int64, s *Stats) *budget { return &budget{limit: limit, stats: s} }

// tryStart charges n bytes to g for a connection that holds nothing, if there is
// room.
func (b *budget) tryStart(g *grant, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.growing) > 0 || len(b.starting) > 0 || !b.fits(n) {
		return false
	}
	b.charge(g, n)
	return true
}

// start is tryStart that waits for room. It reports false when done ends the
// wait.
func (b *budget) start(g *grant, n int64, done <-chan struct{}) bool {
	b.mu.Lock()
	if len(b.growing) == 0 && len(b.starting) == 0 && b.fits(n) {
		b.charge(g, n)
		b.mu.Unlock()
		return true
	}
	return b.wait(&b.starting, g, n, done)
}

// grow charges n further bytes to g, which has some, for a connection in the
// middle of a frame. It waits only while another frame is beyond the limit.
func (b *budget) grow(g *grant, n int64, done <-chan struct{}) bool {
	b.mu.Lock()
	if g.holds || len(b.growing) == 0 && b.mayGrow(g, n) {
		b.charge(g, n)
		b.mu.Unlock()
		return true
	}
	return b.wait(&b.growing, g, n, done)
}

// wait enqueues, unlocks b.mu and waits.
func (b *budget) wait(queue *[]*waiter, g *grant, n int64, done <-chan struct{}) bool {
	w := &waiter{g: g, n: n, ready: make(chan struct{})}
	*queue = append(*queue, w)
	b.mu.Unlock()
	b.stats.Muted.Add(1)
	defer b.stats.Muted.Add(-1)
	select {
	case <-w.ready:
		return true
	case <-done:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range *queue {
		if other == w {
			*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
			b.wake()
			return false
		}
	}
	return true // granted at the same moment: the caller owns it
}

// fits reports whether n more bytes are within the limit, or are alone.
func (b *budget) fits(n int64) bool { return b.used+n <= b.limit || b.used == 0 }

// mayGrow reports whether g may have n more bytes, taking the overrun for it
// when there is no other way.
func (b *budget) mayGrow(g *grant, n int64) bool {
	if b.fits(n) || g.holds {
		return true
	}
	if b.overrun != nil {
		return false
	}
	b.overrun, g.holds = g, true
	return true
}

func (b *budget) charge(g *grant, n int64) {
	g.of = b
	g.bytes += n
	b.used += n
	b.stats.InFlightBytes.Store(b.used)
}

// wake grants what has become possible, in order, frames in progress first.
func (b *budget) wake() {
	for len(b.growing) > 0 && b.mayGrow(b.growing[0].g, b.growing[0].n) {
		b.admit(&b.growing)
	}
	for len(b.growing) == 0 && len(b.starting) > 0 && b.fits(b.starting[0].n) {
		b.admit(&b.starting)
	}
}

func (b *budget) admit(queue *[]*waiter) {
	w := (*queue)[0]
	*queue = (*queue)[1:]
	b.charge(w.g, w.n)
	close(w.ready)
}

// move hands n bytes of from, and the overrun with them, to g, which must hold
// none.
func (g *grant) move(from *grant, n int64) {
	if b := from.of; b != nil && from.holds {
		b.mu.Lock()
		b.overrun = g
		b.mu.Unlock()
	}
	g.of, g.bytes, g.holds = from.of, n, from.holds
	from.bytes -= n
	from.holds = false
}

// release gives the share back.
func (g *grant) release() {
	b := g.of
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= g.bytes
	if g.holds {
		b.overrun = nil
	}
	*g = grant{}
	b.stats.InFlightBytes.Store(b.used)
	if len(b.growing)+len(b.starting) > 0 {
		b.wake()
	}
}
