package sim

import (
	"context"
	"fmt"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// Result is what a run found.
type Result struct {
	Seed    uint64
	Options Options
	// Events is how many ran, Kinds how many kinds of fault.
	Events, Kinds int
	// Acked is how many records were acknowledged, Lost how many of those the
	// strategy promises to keep (acks=all) are gone in the end; in a safe run
	// that is a violation unless faults exceeded the promise.
	Acked, Lost int
	// LostLeader is how many records acknowledged to acks=1 are gone.
	LostLeader int
	// Exceeded says that the faults exceeded what the settings promise to bear.
	Exceeded bool
	// Reach is what was reached.
	Reach Counts
	// Violation is nil where every invariant held.
	Violation *Violation
	// Interrupted says that the context ended the run.
	Interrupted bool
}

// Run plays one seed: faults first, then healing, with every invariant looked at
// after every event. Equal arguments give equal results.
func Run(ctx context.Context, seed uint64, s Scenario) Result {
	return play(ctx, newWorld(seed, s), seed)
}

// Record plays one seed and hands every event to the sink.
func Record(ctx context.Context, seed uint64, s Scenario, sink trace.Sink) Result {
	w := newWorld(seed, s)
	w.trace = newRecording(sink)
	return play(ctx, w, seed)
}

func play(ctx context.Context, w *world, seed uint64) Result {
	w.run(ctx, w.options.safety)
	if w.violation == nil && ctx.Err() == nil {
		w.heal()
		w.settle(ctx)
	}
	r := Result{Seed: seed, Options: w.options, Events: w.events, Reach: w.reach, Violation: w.violation, Interrupted: ctx.Err() != nil}
	for _, n := range w.faultCount {
		if n > 0 {
			r.Kinds++
		}
	}
	if w.violation == nil && ctx.Err() == nil {
		w.account(&r)
		r.Violation = w.violation
	}
	if w.violation != nil && w.trace != nil {
		w.emit(harness, trace.Event{Kind: trace.Verdict, TopicPartition: partitionName, Epoch: w.zk.state.leaderEpoch, What: w.violation.Invariant, Why: w.violation.Text})
	}
	return r
}

// settle runs until everything is as it should be after healing (I20), which has
// to happen in bounded time.
func (w *world) settle(ctx context.Context) {
	deadline := w.now + w.options.liveness
	w.run(ctx, w.now+2*w.options.session)
	w.draining = true
	for w.violation == nil && ctx.Err() == nil {
		why := w.unsettled()
		if why == "" {
			return
		}
		if w.now >= deadline {
			if w.mayStayDown() {
				return
			}
			w.violate("I20", "%s after everything healed: %s", w.options.liveness, why)
			return
		}
		w.run(ctx, w.now+w.options.session/4)
	}
}

// mayStayDown: after faults beyond the promise, refusing to serve is right.
func (w *world) mayStayDown() bool {
	return w.ghost.exceeded && (w.spec.Promise == replication.Majority || w.spec.Promise == replication.WholeSet)
}

// unsettled says what is not yet as it should be, "" where all is.
func (w *world) unsettled() string {
	s := w.zk.state
	if s.leader == replication.NoBroker {
		return "no leader"
	}
	l := w.brokers[endOf(s.leader)]
	if l.role != replication.Leader || l.epoch != s.leaderEpoch || !l.mayLead() {
		return fmt.Sprintf("broker %d does not lead epoch %d", l.id, s.leaderEpoch)
	}
	if len(s.isr) != len(w.replicas) && w.bound() {
		return fmt.Sprintf("the ISR is %v", ids(s.isr))
	}
	for _, c := range w.clients {
		if !c.consumer && c.pending {
			return fmt.Sprintf("a producer with acks=%d still waits", c.acks)
		}
	}
	for _, id := range w.replicas {
		b := w.brokers[endOf(id)]
		if b.log.end() != l.log.end() || b.log.chainAt(b.log.end()) != l.log.chainAt(l.log.end()) {
			return fmt.Sprintf("the logs of brokers %d and %d differ", b.id, l.id)
		}
		if b.hw != b.log.end() {
			return fmt.Sprintf("the high watermark of broker %d is %d, its log ends at %d", b.id, b.hw, b.log.end())
		}
	}
	return ""
}

// account is I10: every record that was promised to be kept is where it was
// acknowledged, once.
func (w *world) account(r *Result) {
	g := &w.ghost
	r.Acked, r.Exceeded = len(g.acked), w.bound() && g.exceeded
	var l *broker
	if s := w.zk.state; s.leader != replication.NoBroker {
		l = w.brokers[endOf(s.leader)]
	}
	for i := range g.acked {
		a := &g.acked[i]
		r.Exceeded = r.Exceeded || w.bound() && a.excused
		if l != nil && a.in(l) {
			continue
		}
		if a.acks != -1 {
			r.LostLeader++
			continue
		}
		r.Lost++
		if w.bound() && !a.excused && l != nil {
			w.violate("I10", "offset %d, acknowledged to acks=all in epoch %d at %s, is gone", a.offset, a.epoch, a.at)
		}
	}
}
