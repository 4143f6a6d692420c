package replicationtest_test

import (
	"errors"
	"slices"
	"testing"

	"tidemark/replication"
	"tidemark/replication/isr"
	"tidemark/replication/replicationtest"
)

// honest is the isr rule written by a stranger: what the broken ones below start
// from.
type honest struct{ replication.Common }

func (honest) AdvanceHighWatermark(r *replication.Replica) int64 {
	if !r.EnoughInSync() {
		return 0
	}
	return slowest(r, r.Maximal())
}

func slowest(r *replication.Replica, set []replication.Member) int64 {
	to := r.Counted()
	for _, p := range r.Peers() {
		if replication.Contains(set, p.Broker) {
			to = min(to, p.LogEnd)
		}
	}
	return to
}

// with is a strategy by that rule, with Kafka's election.
func with(rule replication.Rule) replication.Spec {
	return replication.Spec{
		Name: "mine", Doc: "a stranger's", Elect: isr.Elect,
		New: func(c replication.Config) replication.Machine { return replication.NewReplica(c, rule) },
	}
}

// on is a strategy whose machine is the honest one behind a wrapper.
func on(wrap func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect) replication.Spec {
	s := with(honest{})
	s.New = func(c replication.Config) replication.Machine {
		return wrapped{replication.NewReplica(c, honest{}), wrap}
	}
	return s
}

type wrapped struct {
	replication.Machine
	wrap func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect
}

func (w wrapped) Step(ev replication.Event, out []replication.Effect) []replication.Effect {
	return w.wrap(w.Machine, ev, out)
}

type still struct{ honest }

func (still) AdvanceHighWatermark(*replication.Replica) int64 { return 0 }

type eager struct{ honest }

func (eager) AdvanceHighWatermark(r *replication.Replica) int64 { return r.LogEnd() }
func (eager) AdvanceAck(r *replication.Replica) int64           { return r.LogEnd() }

type early struct{ honest }

func (early) AdvanceAck(r *replication.Replica) int64 { return r.LogEnd() }

type few struct{ honest }

func (few) AdvanceHighWatermark(r *replication.Replica) int64 { return slowest(r, r.Maximal()) }
func (few) AdvanceAck(r *replication.Replica) int64           { return r.HighWatermark() }

// two is the rule of replication's own example.
type two struct{ replication.Common }

func (two) AdvanceHighWatermark(r *replication.Replica) int64 {
	second := int64(0)
	for _, p := range r.Peers() {
		second = max(second, p.LogEnd)
	}
	return min(r.Counted(), second)
}

func (two) AdvanceAck(r *replication.Replica) int64 { return r.HighWatermark() }

type committed struct{ honest }

func (committed) AdvanceHighWatermark(r *replication.Replica) int64 {
	if !r.EnoughInSync() {
		return 0
	}
	return slowest(r, r.ISR())
}

type welcoming struct{ honest }

func (welcoming) ProposeISR(r *replication.Replica, set []replication.Member) ([]replication.Member, replication.Why) {
	set = append(set, r.ISR()...)
	for _, p := range r.Peers() {
		if !replication.Contains(set, p.Broker) && p.LogEnd != replication.NoOffset {
			return append(set, replication.Member{Broker: p.Broker, BrokerEpoch: p.BrokerEpoch, Dir: p.Dir}), replication.CaughtUp
		}
	}
	return set, 0
}

// broken has a strategy for every clause, which breaks that clause before any
// other.
var broken = map[string]replication.Spec{
	"whole": {Name: "mine", Doc: "nothing but a name"},
	"append style": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		return m.Step(ev, out[:0])
	}),
	"pure machine": forgetful(),
	"told state": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		return slices.DeleteFunc(m.Step(ev, out), func(e replication.Effect) bool { return e.Kind == replication.SetHighWatermark })
	}),
	"pure election": moody(),
	// The preferred replica, dead or alive.
	"electable leader": electing(func(c replication.Candidates, cfg replication.Config) replication.Decision {
		d := isr.Elect(c, cfg)
		d.Leader = c.Replicas[0].Broker
		return d
	}),
	// A follower that takes the leader's high watermark for its own.
	"log shape": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		from := len(out)
		out = m.Step(ev, out)
		for i := range out[from:] {
			if e := &out[from+i]; e.Kind == replication.SetHighWatermark && m.Status().Role == replication.Follower {
				e.Offset += 1000
			}
		}
		return out
	}),
	// A leader that compares no epochs.
	"same logs": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		if ev.Kind == replication.FollowerFetched {
			ev.RecordEpoch = replication.NoEpoch
		}
		return m.Step(ev, out)
	}),
	"complete candidates": with(welcoming{}),
	// A leader that leaves the last member of its set out on its own account.
	"counted set": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		if ev.Kind == replication.BecomeLeader {
			ev.ISR = ev.ISR[:max(1, len(ev.ISR)-1)]
		}
		return m.Step(ev, out)
	}),
	// A leader that serves whoever asks, whatever leader epoch they know.
	"durable": on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		if ev.Kind == replication.FollowerFetched {
			ev.LeaderEpoch = replication.NoEpoch
		}
		return m.Step(ev, out)
	}),
	"honest": with(early{}),
	"live":   with(still{}),
}

// alsoBroken are strategies that a stranger might well write. Which clause stops
// one depends on the seed.
var alsoBroken = map[string]replication.Spec{
	"acknowledges and shows what the leader has": with(eager{}),
	"acknowledges what any two replicas have":    with(two{}),
	"goes below min.insync.replicas":             with(few{}),
	"looks at the committed set only":            with(committed{}),
	"elects any live replica": electing(func(c replication.Candidates, cfg replication.Config) replication.Decision {
		cfg.UncleanElection = true
		d := isr.Elect(c, cfg)
		d.Unclean = false
		return d
	}),
}

func electing(elect func(replication.Candidates, replication.Config) replication.Decision) replication.Spec {
	s := with(honest{})
	s.Elect = elect
	return s
}

// forgetful is a machine that counts across machines.
func forgetful() replication.Spec {
	steps := 0
	return on(func(m replication.Machine, ev replication.Event, out []replication.Effect) []replication.Effect {
		if steps++; steps%3 == 0 {
			return append(m.Step(ev, out), replication.Effect{Kind: replication.Sync, Offset: int64(steps)})
		}
		return m.Step(ev, out)
	})
}

// moody elects somebody else every other time.
func moody() replication.Spec {
	calls := 0
	return electing(func(c replication.Candidates, cfg replication.Config) replication.Decision {
		d := isr.Elect(c, cfg)
		if calls++; calls%2 == 0 && len(d.ISR) > 1 {
			d.Leader = d.ISR[1].Broker
		}
		return d
	})
}

// seeds are enough for every broken strategy; the sound ones, which go through
// all of theirs, have fewer.
const seeds = 300

func brokenClause(err error) string {
	var b *replicationtest.Broken
	if !errors.As(err, &b) {
		return ""
	}
	return b.Clause.Name
}

// TestEveryClauseCanFail: for each clause there is a strategy that breaks it and
// nothing before it.
func TestEveryClauseCanFail(t *testing.T) {
	for _, clause := range replicationtest.Clauses() {
		t.Run(clause.Name, func(t *testing.T) {
			spec, ok := broken[clause.Name]
			if !ok {
				t.Fatal("no strategy breaks it: nobody knows that it can fail")
			}
			err := replicationtest.Check(spec, seeds)
			if got := brokenClause(err); got != clause.Name {
				t.Errorf("broken is %q: %v", got, err)
			}
			t.Log(err)
			if clause.Why == "" {
				t.Error("it gives no reason")
			}
		})
	}
	if len(broken) != len(replicationtest.Clauses()) {
		t.Errorf("%d broken strategies for %d clauses", len(broken), len(replicationtest.Clauses()))
	}
}

func TestWhatAStrangerMightWrite(t *testing.T) {
	for name, spec := range alsoBroken {
		t.Run(name, func(t *testing.T) {
			if err := replicationtest.Check(spec, seeds); brokenClause(err) == "" {
				t.Errorf("it passes: %v", err)
			}
		})
	}
}

// TestAStrangersStrategyPasses: the contract asks for nothing that only the
// shipped ones can give.
func TestAStrangersStrategyPasses(t *testing.T) {
	if err := replicationtest.Check(with(honest{}), soundSeeds); err != nil {
		t.Error(err)
	}
}

func TestAFailureSaysHowToSeeItAgain(t *testing.T) {
	b := &replicationtest.Broken{Strategy: "mine", Clause: replicationtest.Clauses()[0], Seed: 7, Found: "it is not"}
	want := `strategy mine breaks "whole": it is not (a topic names its strategy, and a table shows what it is); again: tidemark sim replay mine:7`
	if b.Error() != want {
		t.Errorf("got  %s\nwant %s", b.Error(), want)
	}
}
