package replication

import "tidemark/internal/planted"

// fence promises to take nothing from a leader of an epoch below the asked one,
// and tells how far the log is. The promise is written before it is given. A
// lower epoch than was promised is refused, the same is answered again.
func (r *Replica) fence(ev *Event, out []Effect) []Effect {
	if !r.obeys(ev.ControllerEpoch) || ev.LeaderEpoch < r.fenced || ev.LeaderEpoch < r.leaderEpoch {
		return append(out, Effect{Kind: AnswerFence, LeaderEpoch: max(r.fenced, r.leaderEpoch), Failure: FencedLeaderEpoch})
	}
	r.fenced = max(r.fenced, ev.LeaderEpoch)
	if r.fenced > r.written {
		r.written = r.fenced
		synced := r.cfg.SyncedAcks && !planted.Is(planted.FenceNotSynced)
		out = append(out, Effect{Kind: WriteFence, LeaderEpoch: r.fenced, Synced: synced})
	}
	if r.leaderEpoch < r.fenced {
		out = r.dropFetch(r.resign(out))
	}
	r.fenceAsked = ev.LeaderEpoch
	if r.fenceWaiting = r.cfg.SyncedAcks && r.synced < r.end; r.fenceWaiting {
		return r.wantSync(out)
	}
	return append(out, r.fenceAnswer())
}

func (r *Replica) fenceAnswer() Effect {
	return Effect{Kind: AnswerFence, LeaderEpoch: r.fenceAsked, RecordEpoch: r.latestEpoch(), Offset: r.end, Dir: r.cfg.Dir}
}
