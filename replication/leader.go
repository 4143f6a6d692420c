package replication

import (
	"time"

	"tidemark/internal/planted"
)

// leading is a replica's state as a leader.
type leading struct {
	epochStart            int64 // log end when it took office
	ackedLeader, ackedAll int64
	followers             []Peer        // the other assigned replicas in order of assignment
	fetcher               int32         // whose fetch is being answered; NoBroker between fetches
	lagCheck              time.Duration // when members are next looked at for lagging
	checking              bool          // they are now
	proposal              proposal
}

// notLeading is the state of a replica that does not lead; the buffers stay.
func (l *leading) notLeading() leading {
	return leading{epochStart: NoOffset, fetcher: NoBroker, proposal: l.proposal.cleared()}
}

// Peer is what a leader knows of another replica (Kafka's Replica).
type Peer struct {
	Broker int32
	// BrokerEpoch and Dir are of its last fetch; before it, as the ISR has them.
	BrokerEpoch int64
	Dir         DirID
	// LogEnd is its fetch offset; NoOffset before its first fetch in this epoch.
	LogEnd int64
	// LastCaughtUp is when it last had all that the leader had.
	LastCaughtUp time.Duration

	lastFetch    time.Duration
	lastFetchEnd int64 // the leader's log end at its last fetch
	toldHW       int64 // the high watermark it was last told
}

// never is a LastCaughtUp before all times.
const never = time.Duration(-1 << 62)

func (r *Replica) becomeLeader(ev *Event, out []Effect) []Effect {
	news, newEpoch := r.adopt(ev)
	switch {
	case !news:
		return out
	case !newEpoch && r.role == Leader:
		r.proposal = r.proposal.cleared()
		r.followers = r.peers(r.followers)
		return r.advance(r.failIfTooFew(out))
	}
	if r.role == Leader { // It leads on, and so those who wait do.
		out = r.failIfTooFew(out)
	}
	out = r.dropFetch(out)
	r.role, r.leader = Leader, r.cfg.Self
	r.epochs.Assign(r.leaderEpoch, r.end)
	r.leading = r.notLeading()
	r.epochStart, r.ackedAll, r.ackedLeader = r.end, r.hw, r.Counted()
	r.followers, r.lagCheck = r.peers(nil), r.now+r.cfg.LagTimeMax/2
	out = r.advance(r.wantSync(out))
	if r.rule.ControlBatch() {
		out = append(out, Effect{Kind: AppendControl, LeaderEpoch: r.leaderEpoch})
	}
	return out
}

// peers are the assigned replicas but this one. Of those known already it is
// forgotten that they kept up, unless they are in the ISR: whom the controller
// took out is not waited for.
func (r *Replica) peers(known []Peer) []Peer {
	next := make([]Peer, 0, len(r.replicas))
	for _, m := range r.replicas {
		if m.Broker == r.cfg.Self {
			continue
		}
		if old := findPeer(known, m.Broker); old != nil {
			p := *old
			if !Contains(r.isr, p.Broker) {
				p.LastCaughtUp = never
			}
			next = append(next, p)
			continue
		}
		p := Peer{Broker: m.Broker, LastCaughtUp: never}
		p.reset(m.BrokerEpoch, m.Dir)
		if i := Find(r.isr, m.Broker); i >= 0 {
			p.reset(r.isr[i].BrokerEpoch, r.isr[i].Dir)
			p.LastCaughtUp = r.now // A member gets a whole lag time to show up.
		}
		next = append(next, p)
	}
	return next
}

// reset forgets what the replica fetched, in another leader epoch or another
// life of its broker.
func (p *Peer) reset(brokerEpoch int64, dir DirID) {
	p.BrokerEpoch, p.Dir = brokerEpoch, dir
	p.LogEnd, p.lastFetchEnd, p.toldHW = NoOffset, NoOffset, NoOffset
}

func findPeer(peers []Peer, broker int32) *Peer {
	for i := range peers {
		if peers[i].Broker == broker {
			return &peers[i]
		}
	}
	return nil
}

// resign ends leadership; every waiting producer is told.
func (r *Replica) resign(out []Effect) []Effect {
	if r.role != Leader {
		return out
	}
	r.role, r.leader = Follower, NoBroker
	r.leading = r.notLeading()
	return append(out, Effect{Kind: StepDown, LeaderEpoch: r.leaderEpoch}, Effect{Kind: FailWaiters, Offset: r.end, Failure: NotLeader})
}

// followerFetched takes a follower's fetch offset for how far its log is, which
// is what moves the high watermark, and answers it.
func (r *Replica) followerFetched(ev *Event, out []Effect) []Effect {
	answer := Effect{
		Kind: AnswerFetch, Broker: ev.Broker, LeaderEpoch: r.leaderEpoch, Offset: ev.Offset,
		HighWatermark: NoOffset, LogStart: r.start, LogEnd: r.end, DivergingEpoch: NoEpoch, DivergingEnd: NoOffset,
	}
	p := findPeer(r.followers, ev.Broker)
	if answer.Failure = r.refuses(ev, p); answer.Failure != NoFailure {
		return append(out, answer)
	}
	p.meet(ev)
	if epoch, end, diverges := r.diverges(ev); diverges {
		answer.DivergingEpoch, answer.DivergingEnd, answer.HighWatermark, answer.News = epoch, end, r.hw, true
		return append(out, answer)
	}
	if ev.Offset < r.start || ev.Offset > r.end {
		answer.Failure = OffsetOutOfRange
		return append(out, answer)
	}
	p.fetched(ev, r.end)
	if planted.Is(planted.AckBeforeAppend) {
		p.LogEnd = r.end
	}
	r.fetcher = p.Broker
	out = r.advance(out)
	r.fetcher = NoBroker
	answer.HighWatermark, answer.News = r.hw, p.toldHW < r.hw
	p.toldHW = r.hw
	return append(out, answer)
}

// refuses says why a fetch is not answered.
func (r *Replica) refuses(ev *Event, p *Peer) Failure {
	switch {
	case r.role != Leader:
		return NotLeader
	case ev.LeaderEpoch != NoEpoch && ev.LeaderEpoch < r.leaderEpoch:
		return FencedLeaderEpoch
	case ev.LeaderEpoch > r.leaderEpoch || ev.RecordEpoch > r.leaderEpoch:
		return UnknownLeaderEpoch
	case p == nil:
		return UnknownReplica
	case ev.BrokerEpoch != NoBrokerEpoch && ev.BrokerEpoch < p.BrokerEpoch && !planted.Is(planted.JoinWithoutBrokerEpoch):
		return StaleBrokerEpoch
	}
	return NoFailure
}

// diverges compares the last epoch the follower has with the own log: where this
// log ends it, or the largest below it, before the fetch offset, the follower
// must truncate first (KIP-320, UnifiedLog and Partition.readRecords).
func (r *Replica) diverges(ev *Event) (epoch int32, end int64, yes bool) {
	if ev.RecordEpoch == NoEpoch {
		return NoEpoch, NoOffset, false
	}
	// There is always one: the leader's own epoch is in the cache since it took
	// office, and a later one was refused.
	found, end := r.epochs.EndOffset(ev.RecordEpoch, r.end)
	return found, end, found < ev.RecordEpoch || end < ev.Offset
}

// meet notes who fetches: a broker in a later life starts anew.
func (p *Peer) meet(ev *Event) {
	switch {
	case p.BrokerEpoch == NoBrokerEpoch:
		p.BrokerEpoch = ev.BrokerEpoch
	case ev.BrokerEpoch > p.BrokerEpoch && !planted.Is(planted.JoinWithoutBrokerEpoch):
		p.reset(ev.BrokerEpoch, ev.Dir)
		p.LastCaughtUp = never
	}
	p.Dir = ev.Dir
}

// fetched notes a fetch (Kafka's Replica.updateFetchStateOrThrow): a follower
// that asks for the leader's end is caught up now, one that asks for what was
// the end at its fetch before was caught up then.
func (p *Peer) fetched(ev *Event, leaderEnd int64) {
	switch {
	case ev.Offset >= leaderEnd:
		p.LastCaughtUp = max(p.LastCaughtUp, ev.Now)
	case p.lastFetchEnd != NoOffset && ev.Offset >= p.lastFetchEnd:
		p.LastCaughtUp = max(p.LastCaughtUp, p.lastFetch)
	}
	p.LogEnd, p.lastFetch, p.lastFetchEnd = ev.Offset, ev.Now, max(p.lastFetchEnd, leaderEnd)
}

// advance asks the rule how far the leader has come.
func (r *Replica) advance(out []Effect) []Effect {
	if counted := r.Counted(); counted > r.ackedLeader {
		r.ackedLeader = counted
		out = append(out, Effect{Kind: AckLeader, Offset: counted, LeaderEpoch: r.leaderEpoch})
	}
	out = r.setHighWatermark(min(r.rule.AdvanceHighWatermark(r), r.end), out)
	if acked := min(r.rule.AdvanceAck(r), r.end); acked > r.ackedAll {
		r.ackedAll = acked
		out = append(out, Effect{Kind: AckAll, Offset: acked, LeaderEpoch: r.leaderEpoch})
	}
	return r.propose(out)
}

// failIfTooFew tells who waits for acks=all that the set became too small: the
// records stay in the log, and nobody promises anything for them.
func (r *Replica) failIfTooFew(out []Effect) []Effect {
	if r.rule.Admits(r) {
		return out
	}
	return append(out, Effect{Kind: FailWaiters, Offset: r.end, Failure: NotEnoughReplicasAfterAppend})
}
