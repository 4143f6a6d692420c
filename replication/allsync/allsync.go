// Package allsync is the sync strategy: a record is acknowledged, and readable,
// once every replica of the required set has it. A slow member is waited for,
// never dropped; only a lost session or a bounce takes one out, and only once
// the smaller set stands in ZooKeeper. While the set is smaller than
// min.insync.replicas nothing is acknowledged.
//
// The required set is the partition's ISR field. What the set was before it fell
// below min.insync.replicas stands in the ELR field: its members hold everything
// that was ever acknowledged.
package allsync

import (
	"tidemark/internal/planted"
	"tidemark/replication"
)

// Name is the strategy's name in configs.
const Name = "sync"

// Spec is the strategy.
func Spec() replication.Spec {
	return replication.Spec{
		Name:    Name,
		Doc:     "acknowledged and readable once every replica of the required set has it",
		New:     func(c replication.Config) replication.Machine { return replication.NewReplica(c, rule{}) },
		Elect:   Elect,
		Promise: replication.WholeSet,
	}
}

type rule struct{ replication.Common }

// AdvanceHighWatermark is the smallest log end of the set; a replica counts from
// its proposal on.
func (rule) AdvanceHighWatermark(r *replication.Replica) int64 {
	return r.SmallestLogEnd(required)
}

func required(r *replication.Replica, p *replication.Peer) bool {
	if planted.Is(planted.SilentDegrade) && !r.KeepsUp(p) {
		return false
	}
	return replication.Contains(r.Maximal(), p.Broker)
}

// ProposeISR only ever adds: slowness takes nobody out.
func (rule) ProposeISR(r *replication.Replica, set []replication.Member) ([]replication.Member, replication.Why) {
	set, joined := r.WithCaughtUp(set)
	if joined {
		return set, replication.CaughtUp
	}
	return set, 0
}

// Elect lets any live member of the set lead, and takes out of it who is gone or
// bounced, but never the last. Where no member is left that can vouch for its
// log, one of the last full set does; where those all restarted uncleanly, they
// are asked, and the longest log leads once all have answered.
func Elect(c replication.Candidates, cfg replication.Config) replication.Decision {
	if c.New {
		return c.Initial()
	}
	if sound := c.Present(c.ISR, replication.Sound, replication.Rejoined); len(sound) > 0 {
		return decide(&c, cfg, sound, "a live member of the required set")
	}
	full := c.FullSet()
	if sound := c.Present(full, replication.Sound, replication.Rejoined); len(sound) > 0 {
		first := c.First(sound)
		return decide(&c, cfg, c.Alone(first), "a live member of the last full set")
	}
	d := c.Recover(full)
	if d.Leader != replication.NoBroker {
		d.ELR = c.NextELR(d.ISR, cfg.MinISR)
	}
	return d
}

func decide(c *replication.Candidates, cfg replication.Config, isr []replication.Member, why string) replication.Decision {
	return replication.Decision{Leader: c.First(isr), ISR: isr, ELR: c.NextELR(isr, cfg.MinISR), Why: why}
}
