// Package load runs a session's producers and fetchers and measures them: the
// open-loop schedule, the warm-up and the window, counts and histograms of every
// interval, and what the processes spent meanwhile.
//
// Every goroutine counts for itself and is merged at the end. In a paced load a
// response time counts from the intended time of the send; in a saturating load
// the send is due when there is room for it, and its latency is the length of
// the queue that the harness keeps.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/hist"
	"tidemark/bench/result"
	"tidemark/bench/schedule"
	"tidemark/bench/workload"
)

// Options is one phase to run.
type Options struct {
	Load workload.Load
	// PerSecond is the rate in records per second; 0 saturates.
	PerSecond float64
	Seed      uint64
	Probe     Probe
}

// Outcome is what a phase came to.
type Outcome struct {
	Window result.Window
	Rows   []result.Row
	Ledger result.Ledger
	// Whole holds the window's histograms by metric, Intervals those of each
	// interval; Began is the instant that their Start counts from.
	Whole     map[string]*hist.Histogram
	Intervals []hist.Interval
	Began     time.Time

	WarmUpNs, DrainNs int64
	BoundByBytes      bool
	RSSAnonPeak       int64
	// StealRatio and OthersRatio are the shares of the machine's CPU time that
	// the hypervisor withheld, and that neither client nor broker used.
	StealRatio, OthersRatio float64
	// Check is filled when consumers followed.
	Check result.Check
}

// Produce runs the session's producers, with following consumers if the load
// says so. An error means that the phase could not be run to its end; the
// outcome then holds what there is.
func Produce(ctx context.Context, s driver.Session, o Options) (*Outcome, error) {
	l, unit := o.Load, s.Unit()
	maxBytes := l.Bytes
	if o.PerSecond > 0 {
		maxBytes = math.MaxInt64
	}
	began := time.Now()
	sp := newSpan(l.WarmUp, l.Window, l.Interval, maxBytes)
	feeds := make([]*feed, l.Producers)
	for i := range feeds {
		feeds[i] = &feed{span: sp, records: unit.Records, sending: newTally(sp), acking: newTally(sp), keepAcks: l.Tail && unit.LatencyOf == "batch"}
		if o.PerSecond > 0 {
			var err error
			share := schedule.Share{Index: i, Count: l.Producers}
			if feeds[i].arrivals, err = schedule.New(l.Arrival, o.PerSecond/float64(unit.Records), share, o.Seed); err != nil {
				return nil, err
			}
		}
	}
	if o.PerSecond > 0 {
		sp.fix()
	}
	// Every phase has a deadline: the measured time and then the drain.
	ctx, cancel := context.WithTimeout(ctx, l.WarmUp+l.Window+l.Drain)
	defer cancel()
	follow, stopFollowing := startFollowing(ctx, s, o, sp)
	sampled, sampledAll := watch(ctx, o.Probe, sp)
	unanswered, err := runProducers(ctx, s, feeds, sp)
	drained := schedule.Now()
	tallies := []*tally{}
	for _, f := range feeds {
		tallies = append(tallies, f.sending, f.acking)
	}
	sinks, followErr := stopFollowing(countAcked(feeds))
	for _, k := range sinks {
		tallies = append(tallies, k.tally)
	}
	<-sampledAll
	out := assemble(sp, tallies, sampled, unit, began, o)
	out.DrainNs = max(0, drained-sp.end.Load())
	out.Ledger.InFlight = unanswered
	for _, f := range feeds {
		out.Window.Dropped += f.dropped
	}
	if follow {
		out.match(feeds, sinks, sp)
	}
	return out, errors.Join(err, followErr)
}

func runProducers(ctx context.Context, s driver.Session, feeds []*feed, sp *span) (unanswered int64, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	for i, f := range feeds {
		group.Add(1)
		go func() {
			defer group.Done()
			open, failed := s.Produce(ctx, i, f)
			if failed != nil {
				sp.open(schedule.Now()) // the others and the sampler must not wait
				sp.close(schedule.Now())
				failed = fmt.Errorf("producer %d: %w", i, failed)
			}
			mu.Lock()
			defer mu.Unlock()
			unanswered += open
			err = errors.Join(err, failed)
		}()
	}
	group.Wait()
	sp.open(schedule.Now()) // when there was nothing to do at all
	sp.close(schedule.Now())
	return unanswered, err
}

func countAcked(feeds []*feed) (n int64) {
	for _, f := range feeds {
		_, _, window := sum([]*tally{f.acking})
		n += f.acking.warmUp.acked + f.acking.drain.acked
		for _, c := range window {
			n += c.acked
		}
	}
	return n
}

// Fetch reads back from the start of the log for the load's fetch time, which begins with the
// first answer: connecting and asking for the first time is no throughput.
func Fetch(ctx context.Context, s driver.Session, o Options) (*Outcome, error) {
	l := o.Load
	ctx, cancel := context.WithTimeout(ctx, l.Fetch+l.Drain)
	defer cancel()
	began := time.Now()
	sp := newSpan(0, l.Fetch, l.Interval, math.MaxInt64)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-sp.closed:
			stop()
		case <-inner.Done():
		}
	}()
	sampled, sampledAll := watch(ctx, o.Probe, sp)
	sinks := make([]*sink, l.Consumers)
	errs := make([]error, l.Consumers)
	var group sync.WaitGroup
	for i := range sinks {
		sinks[i] = &sink{span: sp, tally: newTally(sp)}
		group.Add(1)
		go func() {
			defer group.Done()
			if errs[i] = s.Fetch(inner, i, sinks[i]); errs[i] != nil {
				errs[i] = fmt.Errorf("consumer %d: %w", i, errs[i])
				stop()
			}
		}()
	}
	group.Wait()
	sp.open(schedule.Now())
	sp.close(schedule.Now())
	<-sampledAll
	var tallies []*tally
	for _, k := range sinks {
		tallies = append(tallies, k.tally)
	}
	return assemble(sp, tallies, sampled, s.Unit(), began, o), errors.Join(errs...)
}
