// Package quorum replicates to a majority: a record is acknowledged, and
// readable, once a majority of the assigned replicas (or min.insync.replicas, if
// that is more) has it. No set shrinks or grows with the load; a slow minority
// costs nothing.
//
// Two rules are not obvious. A leader counts nothing before so many replicas
// hold a control batch of its own epoch: an entry of an older epoch can be held
// by a majority and still be overwritten by a later leader (Raft, 5.4.2). And a
// replica counts and votes only on the log directory that the partition's state
// records for it: one that lost its disk would otherwise vote for a log without
// what its first life had confirmed.
//
// The ISR field lists who votes, with the directories.
package quorum

import (
	"fmt"
	"strings"

	"tidemark/internal/planted"
	"tidemark/replication"
)

// Name is the strategy's name in configs.
const Name = "quorum"

// Spec is the strategy.
func Spec() replication.Spec {
	return replication.Spec{
		Name:    Name,
		Doc:     "acknowledged and readable once a majority of the assigned replicas has it",
		New:     func(c replication.Config) replication.Machine { return replication.NewReplica(c, rule{}) },
		Elect:   Elect,
		Promise: replication.Majority,
	}
}

type rule struct{ replication.Common }

// AdvanceHighWatermark is the highest offset that enough voters have, once that
// lies over the start of the leader's epoch.
func (rule) AdvanceHighWatermark(r *replication.Replica) int64 {
	held := heldByEnough(r)
	if held > r.EpochStart() || planted.Is(planted.NoControlBatch) {
		return held
	}
	if planted.Is(planted.CommitToEpochStart) {
		return min(held, r.EpochStart())
	}
	return 0
}

// needed is how many replicas must hold a record.
func needed(r *replication.Replica) int { return max(r.Assigned()/2+1, r.MinISR()) }

// heldByEnough is the highest offset up to which needed voters have the log.
// There are few: counting for each is cheaper than sorting, and needs no memory.
func heldByEnough(r *replication.Replica) int64 {
	need, peers, best := needed(r), r.Peers(), int64(0)
	own, votes := r.Counted(), votesFor(r, r.Config().Self, r.Config().Dir)
	if votes && holders(r, own) >= need {
		best = own
	}
	for i := range peers {
		if p := &peers[i]; p.LogEnd > best && votesFor(r, p.Broker, p.Dir) && holders(r, p.LogEnd) >= need {
			best = p.LogEnd
		}
	}
	return best
}

// holders is how many voters have the log up to end.
func holders(r *replication.Replica, end int64) int {
	n, peers := 0, r.Peers()
	if r.Counted() >= end && votesFor(r, r.Config().Self, r.Config().Dir) {
		n++
	}
	for i := range peers {
		if p := &peers[i]; p.LogEnd >= end && votesFor(r, p.Broker, p.Dir) {
			n++
		}
	}
	return n
}

// votesFor reports whether a replica on dir is a voter: the directory is the
// recorded one.
func votesFor(r *replication.Replica, broker int32, dir replication.DirID) bool {
	i := replication.Find(r.ISR(), broker)
	return i >= 0 && r.ISR()[i].Dir == dir && dir != replication.DirID{}
}

// AdvanceAck is the high watermark: min.insync.replicas is part of it already.
func (rule) AdvanceAck(r *replication.Replica) int64 { return r.HighWatermark() }

// ProposeISR records the directory of a replica that has a full copy.
func (rule) ProposeISR(r *replication.Replica, set []replication.Member) ([]replication.Member, replication.Why) {
	peers := r.Peers()
	for i := range peers {
		p := &peers[i]
		if !r.MayJoin(p) || p.Dir == (replication.DirID{}) || votesFor(r, p.Broker, p.Dir) {
			continue
		}
		set = append(set, r.ISR()...)
		m := replication.Member{Broker: p.Broker, BrokerEpoch: p.BrokerEpoch, Dir: p.Dir}
		if at := replication.Find(set, p.Broker); at >= 0 {
			set[at] = m
		} else {
			set = append(set, m)
		}
		return set, replication.Copied
	}
	return set, 0
}

// Admits is true: who has no majority waits.
func (rule) Admits(*replication.Replica) bool { return true }

// ControlBatch is true.
func (rule) ControlBatch() bool { return !planted.Is(planted.NoControlBatch) }

// Waiting counts the voters that have more than the high watermark.
func (rule) Waiting(r *replication.Replica) string {
	next := max(r.HighWatermark(), r.EpochStart()) + 1
	behind := r.DescribeBehind(func(p *replication.Peer) bool { return p.LogEnd < next }, nil)
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d voters have offset %d, %d are needed", holders(r, next), r.Assigned(), next-1, needed(r))
	if behind != "" {
		out.WriteString(": " + behind)
	}
	return out.String()
}
