package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/result"
)

// startFollowing runs consumers beside the producers when the load asks for it.
// The returned function waits until they have read as many records as were
// acknowledged, or the phase's deadline, and stops them.
func startFollowing(ctx context.Context, s driver.Session, o Options, sp *span) (bool, func(acked int64) ([]*sink, error)) {
	if !o.Load.Tail {
		return false, func(int64) ([]*sink, error) { return nil, nil }
	}
	inner, stop := context.WithCancel(ctx)
	var read atomic.Int64
	sinks := make([]*sink, o.Load.Consumers)
	errs := make([]error, o.Load.Consumers)
	var group sync.WaitGroup
	for i := range sinks {
		sinks[i] = &sink{span: sp, tally: newTally(sp), keep: s.Unit().LatencyOf == "batch", follow: true}
		group.Add(1)
		go func() {
			defer group.Done()
			if err := s.Follow(inner, i, &counting{sinks[i], &read}); err != nil {
				errs[i] = fmt.Errorf("following consumer %d: %w", i, err)
			}
		}()
	}
	return true, func(acked int64) ([]*sink, error) {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for read.Load() < acked && inner.Err() == nil {
			select {
			case <-tick.C:
			case <-inner.Done():
			}
		}
		stop()
		group.Wait()
		return sinks, errors.Join(errs...)
	}
}

// counting adds up what all followers read.
type counting struct {
	*sink
	read *atomic.Int64
}

// Got implements driver.Sink.
func (c *counting) Got(g driver.Got) {
	c.sink.Got(g)
	c.read.Add(g.Records)
}

// match joins acknowledged batches with those that followers saw: end-to-end
// times, and what is missing or double. For single records the consumer knows
// the intended time itself, and only numbers are compared.
func (o *Outcome) match(feeds []*feed, sinks []*sink, sp *span) {
	var read int64
	type id struct {
		partition int32
		offset    int64
	}
	arrived := map[id]int64{}
	for _, k := range sinks {
		_, _, window := sum([]*tally{k.tally})
		read += k.tally.warmUp.consumed + k.tally.drain.consumed
		for _, c := range window {
			read += c.consumed
		}
		for _, a := range k.arrived {
			key := id{a.partition, a.offset}
			if _, twice := arrived[key]; twice {
				o.Check.Duplicate++
				continue
			}
			arrived[key] = a.at
		}
	}
	o.Check.Read = read
	joined := newTally(sp)
	batches := false
	for _, f := range feeds {
		batches = batches || f.keepAcks
		for _, a := range f.acks {
			at, ok := arrived[id{a.partition, a.offset}]
			if !ok {
				o.Check.Lost += f.records
				continue
			}
			record(&joined.at(a.at).e2e, at-a.at, 1)
		}
	}
	if !batches {
		o.Check.Lost = max(0, o.Ledger.Acked-read)
		o.Check.Duplicate = max(0, read-o.Ledger.Acked-o.Ledger.InFlight)
		return
	}
	o.addE2E(joined)
}

// addE2E puts joined end-to-end times where the others are.
func (o *Outcome) addE2E(joined *tally) {
	whole := o.Whole[result.HistE2E]
	for i, c := range joined.window {
		if c.e2e == nil {
			continue
		}
		merge(&whole, c.e2e)
		o.Intervals = append(o.Intervals, interval(joined.span, i, result.HistE2E, c.e2e))
	}
	if whole != nil {
		o.Whole[result.HistE2E] = whole
		o.Window.E2ENs = summary(whole)
	}
}
