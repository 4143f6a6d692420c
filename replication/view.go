package replication

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config is what the replica is configured with now.
func (r *Replica) Config() Config { return r.cfg }

// LogEnd is the log end offset.
func (r *Replica) LogEnd() int64 { return r.end }

// Counted is the leader's own vote: up to where its log counts as written. That
// is the log end, or the synced end where acknowledgements wait for the disk.
func (r *Replica) Counted() int64 {
	if r.cfg.SyncedAcks {
		return r.synced
	}
	return r.end
}

// SmallestLogEnd is what the leader counts and every peer that counts has: the
// smallest of their log ends. It is 0 while the ISR is below min.insync.replicas.
func (r *Replica) SmallestLogEnd(counts func(*Replica, *Peer) bool) int64 {
	if !r.EnoughInSync() {
		return 0
	}
	to, peers := r.Counted(), r.Peers()
	for i := range peers {
		if p := &peers[i]; p.LogEnd < to && counts(r, p) {
			to = p.LogEnd
		}
	}
	return to
}

// HighWatermark is the first offset that consumers may not read.
func (r *Replica) HighWatermark() int64 { return r.hw }

// EpochStart is the log end offset when the leader took office.
func (r *Replica) EpochStart() int64 { return r.epochStart }

// ISR is the committed set; it is not to be changed.
func (r *Replica) ISR() []Member { return r.isr }

// Maximal is the set that counts: the committed one, with the proposed one while
// a proposal is under way. It is not to be changed.
func (r *Replica) Maximal() []Member {
	if r.proposal.pending {
		return r.proposal.maximal
	}
	return r.isr
}

// Peers are the other assigned replicas, in the order of assignment. They are
// not to be changed.
func (r *Replica) Peers() []Peer { return r.followers }

// Assigned is the replication factor.
func (r *Replica) Assigned() int { return len(r.replicas) }

// MinISR is what min.insync.replicas asks for, which is never more than there
// are replicas.
func (r *Replica) MinISR() int { return EffectiveMinISR(r.cfg.MinISR, len(r.replicas)) }

// EffectiveMinISR is min.insync.replicas of a partition with that many replicas.
func EffectiveMinISR(minISR, replicas int) int { return max(1, min(minISR, replicas)) }

// EnoughInSync reports whether the committed ISR has min.insync.replicas
// members.
func (r *Replica) EnoughInSync() bool { return len(r.isr) >= r.MinISR() }

// Admits reports whether the replica leads and a producer with acks=all may
// append.
func (r *Replica) Admits() bool { return r.role == Leader && r.rule.Admits(r) }

// KeepsUp reports whether the peer had everything within the last
// replica.lag.time.max.ms.
func (r *Replica) KeepsUp(p *Peer) bool { return r.keepsUp(p) }

// MayJoin reports whether the peer may be proposed for the ISR: its fetch is being
// answered, and it has what a member must have.
func (r *Replica) MayJoin(p *Peer) bool { return r.mayJoin(p) }

// Status implements Machine.
func (r *Replica) Status() Status {
	s := Status{
		Role: r.role, Leader: r.leader, LeaderEpoch: r.leaderEpoch, PartitionEpoch: r.partitionEpoch, FencedEpoch: r.fenced,
		EpochStart: r.epochStart, LogStartOffset: r.start, LogEndOffset: r.end, Synced: r.synced, HighWatermark: r.hw,
		AckedAll: r.ackedAll, AckedLeader: r.ackedLeader,
		ISR: slices.Clone(r.isr), Maximal: slices.Clone(r.isr), MinISR: r.MinISR(),
	}
	if r.role != Leader {
		return s
	}
	s.Maximal, s.Pending, s.Admits = slices.Clone(r.Maximal()), r.proposal.pending, r.Admits()
	for i := range r.followers {
		p := &r.followers[i]
		f := FollowerStatus{
			Broker: p.Broker, BrokerEpoch: p.BrokerEpoch, LogEndOffset: p.LogEnd, Lag: NoOffset,
			LastCaughtUp: p.LastCaughtUp, InSync: Contains(r.isr, p.Broker),
		}
		if p.LogEnd != NoOffset {
			f.Lag = r.end - p.LogEnd
		}
		s.Followers = append(s.Followers, f)
	}
	if r.hw < r.end {
		s.Waiting = r.rule.Waiting(r)
	}
	return s
}

// DescribeTooFew says that the ISR is smaller than min.insync.replicas.
func (r *Replica) DescribeTooFew() string {
	return fmt.Sprintf("in sync are %d, min.insync.replicas is %d", len(r.isr), r.MinISR())
}

// DescribeBehind names who holds the high watermark back: the leader's own disk,
// and the peers that count and have nothing over it. What more is to be said of a
// peer comes from note, which may be nil.
func (r *Replica) DescribeBehind(counts func(*Peer) bool, note func(*Peer) string) string {
	var who []string
	if r.Counted() <= r.hw {
		who = append(who, fmt.Sprintf("the leader synced %d", r.Counted()))
	}
	for i := range r.followers {
		p := &r.followers[i]
		if !counts(p) || p.LogEnd > r.hw {
			continue
		}
		text := fmt.Sprintf("%d fetched %d", p.Broker, p.LogEnd)
		if p.LogEnd == NoOffset {
			text = fmt.Sprintf("%d has not fetched yet", p.Broker)
		}
		if note != nil {
			text += note(p)
		}
		who = append(who, text)
	}
	return strings.Join(who, ", ")
}

// Patience is how long the peer may go on without catching up before it lags;
// negative once it does.
func (r *Replica) Patience(p *Peer) time.Duration {
	return p.LastCaughtUp + r.cfg.LagTimeMax - r.now
}
