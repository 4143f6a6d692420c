// Package async replicates after the fact: a record is acknowledged, and
// readable, once its leader has it. What followers had not fetched when the
// leader died is gone, acknowledged and read or not.
//
// It is the fast end of the comparison. min.insync.replicas means nothing here;
// the ISR is kept as elsewhere, to be looked at.
package async

import "tidemark/replication"

// Name is the strategy's name in configs.
const Name = "async"

// Spec is the strategy.
func Spec() replication.Spec {
	return replication.Spec{
		Name:    Name,
		Doc:     "acknowledged and readable once the leader has it",
		New:     func(c replication.Config) replication.Machine { return replication.NewReplica(c, rule{}) },
		Elect:   Elect,
		Promise: replication.LeaderOnly,
	}
}

type rule struct{ replication.Common }

// AdvanceHighWatermark is what the leader has.
func (rule) AdvanceHighWatermark(r *replication.Replica) int64 { return r.Counted() }

// AdvanceAck is what the leader has.
func (rule) AdvanceAck(r *replication.Replica) int64 { return r.Counted() }

// Admits is true: nobody else is needed.
func (rule) Admits(*replication.Replica) bool { return true }

// Waiting can only be the leader's disk.
func (rule) Waiting(*replication.Replica) string { return "the leader has not synced it" }

// Elect lets the longest log among the live replicas lead, by last epoch and log
// end: whatever of the old leader's tail is left anywhere is kept.
func Elect(c replication.Candidates, _ replication.Config) replication.Decision {
	if c.New {
		return c.Initial()
	}
	sound := c.Present(c.ISR, replication.Sound)
	if c.LastLeader != replication.NoBroker && replication.Contains(sound, c.LastLeader) {
		return replication.Decision{Leader: c.LastLeader, ISR: sound, Why: "the leader lives"}
	}
	live := c.Live()
	best, silent := c.Longest(live)
	if len(silent) > 0 || best == replication.NoBroker {
		return replication.Decision{Leader: replication.NoBroker, ISR: c.ISR, Fence: silent, Why: "waiting for every live replica's log end"}
	}
	return replication.Decision{Leader: best, ISR: c.Alone(best), Unclean: true, Why: "the longest log of the live replicas"}
}
