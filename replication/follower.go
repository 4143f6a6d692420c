package replication

import "tidemark/internal/planted"

// following is a replica's state as a follower.
type following struct {
	// standing is true from a Fetch to the DropFetch after it.
	standing bool
	// toldHW is the high watermark that came with the records being appended.
	toldHW int64
	// sameLeader is set by a planted flaw only.
	sameLeader bool
}

func (r *Replica) becomeFollower(ev *Event, out []Effect) []Effect {
	if news, newEpoch := r.adopt(ev); !news || !newEpoch && r.role == Follower && r.leader == ev.Broker {
		return out
	}
	out = r.resign(out)
	r.toldHW = 0
	r.sameLeader = planted.Is(planted.SameLeaderNoTruncation) && r.role == Follower && r.leader == ev.Broker
	r.role, r.leader = Follower, ev.Broker
	if r.byHighWatermark() && r.end > r.hw && !r.sameLeader {
		return append(out, Effect{Kind: Truncate, Offset: r.hw, Why: OverHighWatermark})
	}
	return r.fetch(out)
}

func (r *Replica) byHighWatermark() bool {
	return r.cfg.Truncation == ByHighWatermark || planted.Is(planted.TruncateToHighWatermark)
}

// fetch asks for what comes next. Where the tail is not synced and would count,
// or there is nobody to ask, a fetch that still stands is dropped: it may name
// another leader.
func (r *Replica) fetch(out []Effect) []Effect {
	if !r.fetching() || r.cfg.SyncedAcks && r.synced < r.end {
		return r.dropFetch(out)
	}
	last := r.latestEpoch()
	if r.byHighWatermark() || r.sameLeader || planted.Is(planted.FetchWithoutEpoch) {
		last = NoEpoch
	}
	r.standing = true
	return append(out, Effect{Kind: Fetch, Broker: r.leader, LeaderEpoch: r.fetchEpoch(), Offset: r.end, RecordEpoch: last})
}

// dropFetch ends the fetch that stands, if any does.
func (r *Replica) dropFetch(out []Effect) []Effect {
	if !r.standing {
		return out
	}
	r.standing = false
	return append(out, Effect{Kind: DropFetch})
}

// fetching reports whether the replica follows somebody and promised nothing to
// a later leader.
func (r *Replica) fetching() bool {
	return r.role == Follower && r.leader != NoBroker && r.leaderEpoch >= r.fenced
}

// fetchEpoch is the leader epoch that goes with a fetch.
func (r *Replica) fetchEpoch() int32 {
	if planted.Is(planted.FetchWithoutEpoch) {
		return NoEpoch
	}
	return r.leaderEpoch
}

// fetchResponse takes what the leader said; an answer to another request than
// the present one is dropped.
func (r *Replica) fetchResponse(ev *Event, out []Effect) []Effect {
	if !r.fetching() || ev.LeaderEpoch != r.fetchEpoch() || ev.Offset != r.end {
		return out
	}
	switch {
	case ev.Failure == OffsetOutOfRange:
		return r.outOfRange(ev, out)
	case ev.Failure != NoFailure:
		return out
	case ev.DivergingEpoch != NoEpoch:
		if planted.Is(planted.HighWatermarkBeforeTruncation) {
			out = r.setHighWatermark(min(ev.HighWatermark, r.end), out)
		}
		return append(out, Effect{Kind: Truncate, Offset: r.agreement(ev.DivergingEpoch, ev.DivergingEnd), Why: Diverged})
	}
	if ev.LogStart > r.start && ev.LogStart <= r.end {
		out = append(out, Effect{Kind: MoveLogStart, Offset: ev.LogStart})
	}
	if ev.Records {
		r.toldHW = ev.HighWatermark
		return append(out, Effect{Kind: Accept})
	}
	return r.caughtUpTo(ev.HighWatermark, out)
}

// agreement is where the log must end so that nothing in it contradicts the
// leader, whose log ends leaderEpoch at leaderEnd: the smaller of that and where
// this log ends the epoch. An epoch that only the leader has tells no more than
// that the previous one of ours ended; the next fetch asks again (KIP-279,
// AbstractFetcherThread.getOffsetTruncationState).
func (r *Replica) agreement(leaderEpoch int32, leaderEnd int64) int64 {
	_, own := r.epochs.EndOffset(leaderEpoch, r.end)
	if own == NoOffset {
		own = r.end
	}
	return min(leaderEnd, own, r.end)
}

// outOfRange is what to do where the leader has nothing at the log end
// (AbstractFetcherThread.fetchOffsetAndTruncate).
func (r *Replica) outOfRange(ev *Event, out []Effect) []Effect {
	switch {
	case ev.LogEnd < r.end:
		return append(out, Effect{Kind: Truncate, Offset: ev.LogEnd, Why: LeaderEndsEarlier})
	case ev.LogStart > r.end:
		return append(out, Effect{Kind: Restart, Offset: ev.LogStart, Why: LeaderStartsLater})
	}
	return r.fetch(out)
}

// caughtUpTo moves the follower's high watermark to what the leader told, as far
// as the log goes, and fetches on.
func (r *Replica) caughtUpTo(leaderHW int64, out []Effect) []Effect {
	return r.fetch(r.setHighWatermark(min(leaderHW, r.end), out))
}
