// Package isr is Kafka's own strategy: a record is acknowledged, and readable,
// once every in-sync replica has it, and a replica that does not keep up is taken
// out of the in-sync set instead of being waited for. min.insync.replicas bounds
// how small the set may get before nothing is acknowledged any more.
//
// While a change of the set is under way the larger set counts (KIP-497), and a
// replica that keeps up is waited for even before it is in (Partition's
// maybeIncrementLeaderHW), or it could never catch up with a moving target.
package isr

import (
	"fmt"
	"time"

	"tidemark/internal/planted"
	"tidemark/replication"
)

// Name is the strategy's name in configs.
const Name = "isr"

// Spec is the strategy.
func Spec() replication.Spec {
	return replication.Spec{
		Name:    Name,
		Doc:     "acknowledged and readable once every in-sync replica has it; who lags leaves the set",
		New:     func(c replication.Config) replication.Machine { return replication.NewReplica(c, rule{}) },
		Elect:   Elect,
		Promise: replication.InSync,
	}
}

type rule struct{ replication.Common }

// AdvanceHighWatermark is the smallest log end of the set; it is frozen while
// the set is below min.insync.replicas.
func (rule) AdvanceHighWatermark(r *replication.Replica) int64 {
	return r.SmallestLogEnd(counts)
}

func counts(r *replication.Replica, p *replication.Peer) bool {
	if planted.Is(planted.CommittedSetOnly) {
		return replication.Contains(r.ISR(), p.Broker)
	}
	return replication.Contains(r.Maximal(), p.Broker) || r.KeepsUp(p)
}

// Waiting also names who is waited for without being in the set yet, and says how
// long it will be.
func (rule) Waiting(r *replication.Replica) string {
	if !r.EnoughInSync() {
		return r.DescribeTooFew()
	}
	return r.DescribeBehind(
		func(p *replication.Peer) bool { return counts(r, p) },
		func(p *replication.Peer) string {
			if left := r.Patience(p); left >= 0 {
				return fmt.Sprintf(" (waited for another %v)", left.Round(100*time.Millisecond))
			}
			return " (lags)"
		})
}
