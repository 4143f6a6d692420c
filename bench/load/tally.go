package load

import "tidemark/bench/hist"

// cell is what one goroutine counted in one interval.
type cell struct {
	offered, accepted, acked, failed, consumed int64
	requests, wire                             int64
	response, service, lateness, own, e2e      *hist.Histogram
}

func (c *cell) add(o *cell) {
	c.offered += o.offered
	c.accepted += o.accepted
	c.acked += o.acked
	c.failed += o.failed
	c.consumed += o.consumed
	c.requests += o.requests
	c.wire += o.wire
	merge(&c.response, o.response)
	merge(&c.service, o.service)
	merge(&c.lateness, o.lateness)
	merge(&c.own, o.own)
	merge(&c.e2e, o.e2e)
}

func merge(into **hist.Histogram, from *hist.Histogram) {
	if from == nil {
		return
	}
	if *into == nil {
		*into = hist.New()
	}
	(*into).Merge(from)
}

func record(into **hist.Histogram, ns, n int64) {
	if *into == nil {
		*into = hist.New()
	}
	(*into).RecordN(ns, n)
}

// tally holds one goroutine's cells: the warm-up's, the window's intervals and
// the drain's. Nothing in it is shared until the goroutine has ended.
type tally struct {
	span          *span
	warmUp, drain cell
	window        []*cell
	// last is the cell of lastPlace, so that the common case skips the lookup.
	last      *cell
	lastPlace int
}

func newTally(s *span) *tally { return &tally{span: s, lastPlace: inDrain - 1} }

// at returns the cell for events at time t.
func (y *tally) at(t int64) *cell {
	place := y.span.place(t)
	if place == y.lastPlace {
		return y.last
	}
	y.lastPlace, y.last = place, y.cell(place)
	return y.last
}

func (y *tally) cell(place int) *cell {
	switch place {
	case inWarmUp:
		return &y.warmUp
	case inDrain:
		return &y.drain
	}
	for len(y.window) <= place {
		y.window = append(y.window, &cell{})
	}
	return y.window[place]
}

// sum merges tallies.
func sum(tallies []*tally) (warmUp, drain cell, window []*cell) {
	for _, t := range tallies {
		warmUp.add(&t.warmUp)
		drain.add(&t.drain)
		for i, c := range t.window {
			for len(window) <= i {
				window = append(window, &cell{})
			}
			window[i].add(c)
		}
	}
	return warmUp, drain, window
}
