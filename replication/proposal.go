package replication

import (
	"slices"

	"tidemark/internal/planted"
)

// proposal is an ISR on its way to ZooKeeper (Kafka's PendingPartitionChange,
// KIP-497). While it is, the union of the committed and the proposed set counts:
// whichever of them a next leader is elected from, it has what was acknowledged.
type proposal struct {
	pending bool
	// unknown: there was no answer; made again on the next tick.
	unknown bool
	// doubtful: there was none once, so an earlier sending may still be applied.
	doubtful bool
	// settling: a doubtful one was refused; on the next tick another is made in its
	// place, which ends the doubt once it stands.
	settling bool
	// held: one was refused; none is made before the next tick.
	held           bool
	why            Why
	members        []Member // proposed; handed out, so never written to again
	partitionEpoch int32    // the state it was made from
	maximal        []Member // the union
	scratch        []Member
}

// cleared is no proposal; the buffers stay.
func (p proposal) cleared() proposal { return proposal{maximal: p.maximal[:0], scratch: p.scratch[:0]} }

func (p *proposal) effect(r *Replica) Effect {
	return Effect{Kind: ProposeISR, LeaderEpoch: r.leaderEpoch, PartitionEpoch: p.partitionEpoch, Members: p.members, Why: p.why}
}

// propose asks the rule whether the set is right, and has another one written.
func (r *Replica) propose(out []Effect) []Effect {
	p := &r.proposal
	if p.pending || p.held {
		return out
	}
	set, why := r.rule.ProposeISR(r, p.scratch[:0])
	p.scratch = set
	if why == 0 {
		return out
	}
	p.pending, p.partitionEpoch = true, r.partitionEpoch
	p.maximal = append(p.maximal[:0], r.isr...)
	p.choose(set, why)
	return append(out, p.effect(r))
}

// choose makes set what is proposed; it counts from now on, with whatever counts
// already.
func (p *proposal) choose(set []Member, why Why) {
	p.members, p.why = slices.Clone(set), why
	for _, m := range p.members {
		if !Contains(p.maximal, m.Broker) {
			p.maximal = append(p.maximal, m)
		}
	}
}

// again makes the proposal anew on a tick, where it came to nothing certain.
func (p *proposal) again(r *Replica, out []Effect) []Effect {
	if !p.unknown && !p.settling {
		return out
	}
	if p.settling {
		set, why := r.rule.ProposeISR(r, p.scratch[:0])
		p.scratch = set
		if why == 0 {
			set, why = r.isr, Settling
		}
		p.choose(set, why)
	}
	p.unknown, p.settling = false, false
	return append(out, p.effect(r))
}

// isrCommitted takes over the state as it stands in ZooKeeper. A newer one ends
// whatever was proposed: it was either that, or will be refused by its version.
func (r *Replica) isrCommitted(ev *Event, out []Effect) []Effect {
	if r.role != Leader || ev.LeaderEpoch != r.leaderEpoch || ev.PartitionEpoch <= r.partitionEpoch {
		return out
	}
	r.partitionEpoch, r.isr, r.elr = ev.PartitionEpoch, ev.ISR, ev.ELR
	r.proposal = r.proposal.cleared()
	return r.advance(r.failIfTooFew(out))
}

func (r *Replica) isrRefused(ev *Event, out []Effect) []Effect {
	p := &r.proposal
	if r.role != Leader || !p.pending || ev.LeaderEpoch != r.leaderEpoch || ev.PartitionEpoch != p.partitionEpoch {
		return out
	}
	switch ev.Refusal {
	case NotApplied:
		if p.settling = p.doubtful; p.settling {
			return out
		}
		*p = p.cleared()
		p.held = true
		return r.advance(out)
	case UnknownOutcome:
		p.unknown, p.doubtful = true, true
	}
	return out
}

// WithoutLagging appends to set the ISR without the members that have not caught
// up for replica.lag.time.max.ms (Partition.getOutOfSyncReplicas), and says
// whether that left somebody out; where it did not, set is as it was. The leader
// stays. They are looked at on a tick every half of that time, as in Kafka: a
// replica joins at the high watermark, which a slow one reaches again and again,
// and were it dropped as often, ZooKeeper would do nothing else.
func (r *Replica) WithoutLagging(set []Member) (left []Member, dropped bool) {
	if !r.checking || !slices.ContainsFunc(r.isr, r.lags) {
		return set, false
	}
	for _, m := range r.isr {
		if !r.lags(m) {
			set = append(set, m)
		}
	}
	return set, true
}

func (r *Replica) lags(m Member) bool {
	p := findPeer(r.followers, m.Broker)
	return p != nil && !r.keepsUp(p)
}

// WithCaughtUp appends to set the ISR and the replica whose fetch is being
// answered, if it may join it: it has everything below the high watermark and
// everything from before this leader epoch (the high watermark of a new leader
// may be older than what was acknowledged). It says whether it joined; where it
// did not, set is as it was. A member whose broker came back under another broker
// epoch joins anew.
func (r *Replica) WithCaughtUp(set []Member) (grown []Member, joined bool) {
	p := findPeer(r.followers, r.fetcher)
	if p == nil || !r.mayJoin(p) {
		return set, false
	}
	at := Find(r.isr, p.Broker)
	if at >= 0 && (r.isr[at].BrokerEpoch == NoBrokerEpoch || r.isr[at].BrokerEpoch == p.BrokerEpoch) {
		return set, false
	}
	return append(set, r.with(at, p)...), true
}

// with is the ISR with the peer in it, in the place at if it has one.
func (r *Replica) with(at int, p *Peer) []Member {
	set := slices.Clone(r.isr)
	m := Member{Broker: p.Broker, BrokerEpoch: p.BrokerEpoch, Dir: p.Dir}
	if planted.Is(planted.JoinWithoutBrokerEpoch) {
		m.BrokerEpoch = NoBrokerEpoch
	}
	if at < 0 {
		return append(set, m)
	}
	set[at] = m
	return set
}

// mayJoin is Partition.isFollowerInSync, of the replica whose fetch is being
// answered: one that is dropped, or gone, does not come back by having been near.
func (r *Replica) mayJoin(p *Peer) bool {
	if p.Broker != r.fetcher || p.LogEnd < r.hw {
		return false
	}
	return p.LogEnd >= r.epochStart || planted.Is(planted.JoinBelowEpochStart)
}

// keepsUp is Replica.isCaughtUp.
func (r *Replica) keepsUp(p *Peer) bool {
	return p.LogEnd == r.end || r.now-p.LastCaughtUp <= r.cfg.LagTimeMax
}
