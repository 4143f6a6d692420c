package replication

import (
	"time"

	"tidemark/commitlog/epoch"
	"tidemark/internal/invariant"
	"tidemark/internal/planted"
)

// Replica is the machine that all shipped strategies share: everything about a
// replica but the commit rule. It implements Machine.
//
// The shell keeps to this: what Accept, Truncate and Restart ask for is done,
// and told by Appended and Truncated, before the next event of another kind. A
// flush that began before a truncation is not told. On BecomeLeader of a new
// epoch the shell notes in its log, too, that the epoch begins at the log end.
// Where a log became shorter than its high watermark's checkpoint says, by a
// truncation or because power was lost, the checkpoint is lowered before anything
// is appended: else the next restart takes for committed what was appended there.
type Replica struct {
	cfg  Config
	rule Rule
	now  time.Duration

	role            Role
	leader          int32
	leaderEpoch     int32
	partitionEpoch  int32
	controllerEpoch int32
	isr, elr        []Member // committed: what ZooKeeper has
	replicas        []Member // assigned, preferred first

	fenced       int32 // nothing is taken from leaders of a lower epoch
	written      int32 // the highest promise in its checkpoint
	fenceWaiting bool  // an AnswerFence waits for the tail to be synced
	fenceAsked   int32 // the epoch it answers

	// start ≤ hw ≤ end, synced ≤ end.
	start, end, synced, hw int64
	epochs                 epoch.Cache

	following // as a follower
	leading   // as a leader
}

// NewReplica is the machine of a replica with an empty log that nobody gave a
// role yet.
func NewReplica(c Config, rule Rule) *Replica {
	r := &Replica{cfg: c, rule: rule}
	r.forget()
	return r
}

// forget is what a restart leaves of the roles.
func (r *Replica) forget() {
	r.role, r.leader, r.fenceWaiting = Idle, NoBroker, false
	r.leaderEpoch, r.partitionEpoch, r.controllerEpoch = NoEpoch, NoEpoch, NoEpoch
	r.fenced, r.written = NoEpoch, NoEpoch
	r.isr, r.elr, r.replicas = nil, nil, nil
	r.following, r.leading = following{}, r.notLeading()
}

// Step implements Machine.
func (r *Replica) Step(ev Event, out []Effect) []Effect {
	r.now = max(r.now, ev.Now)
	switch ev.Kind {
	case Tick:
		return r.tick(out)
	case Restarted:
		return r.restarted(&ev, out)
	case ConfigChanged:
		return r.configure(ev.Config, out)
	case BecomeLeader:
		return r.becomeLeader(&ev, out)
	case BecomeFollower:
		return r.becomeFollower(&ev, out)
	case Stopped:
		return r.stop(out)
	case Appended:
		return r.appended(&ev, out)
	case Flushed:
		return r.flushed(ev.Offset, out)
	case FollowerFetched:
		return r.followerFetched(&ev, out)
	case FetchResponse:
		return r.fetchResponse(&ev, out)
	case ISRCommitted:
		return r.isrCommitted(&ev, out)
	case ISRRefused:
		return r.isrRefused(&ev, out)
	case Truncated:
		return r.truncated(&ev, out)
	case LogStartMoved:
		return r.logStartMoved(ev.Offset, out)
	case Fence:
		return r.fence(&ev, out)
	}
	invariant.Check(false, "event kind %d", ev.Kind)
	return out
}

func (r *Replica) tick(out []Effect) []Effect {
	if r.role != Leader {
		return out
	}
	r.proposal.held = false
	r.checking = r.now >= r.lagCheck
	if r.checking {
		r.lagCheck = r.now + r.cfg.LagTimeMax/2
	}
	out = r.advance(r.proposal.again(r, out))
	r.checking = false
	return out
}

func (r *Replica) restarted(ev *Event, out []Effect) []Effect {
	invariant.Check(ev.Synced <= ev.Offset && ev.LogStart <= ev.Offset, "restart with log %d..%d synced to %d", ev.LogStart, ev.Offset, ev.Synced)
	r.forget()
	r.cfg.BrokerEpoch, r.cfg.Dir = ev.BrokerEpoch, ev.Dir
	r.start, r.end, r.synced = ev.LogStart, ev.Offset, ev.Synced
	// A checkpoint ahead of the log is from another life; none means that
	// nothing is known committed.
	r.hw = max(r.start, min(ev.HighWatermark, r.end))
	r.epochs.Load(ev.Epochs)
	// What the log holds of an epoch is a promise to it, too.
	r.written = ev.FencedEpoch
	r.fenced = max(ev.FencedEpoch, r.latestEpoch())
	return r.wantSync(out)
}

func (r *Replica) configure(c Config, out []Effect) []Effect {
	c.Self = r.cfg.Self
	r.cfg = c
	if r.role == Leader {
		return r.advance(r.failIfTooFew(r.wantSync(out)))
	}
	switch {
	case c.SyncedAcks && r.synced < r.end:
		out = r.dropFetch(out) // Its offset would count.
	case !r.standing:
		out = r.fetch(out) // It waited for a sync that does not count any more.
	}
	return r.wantSync(out)
}

func (r *Replica) appended(ev *Event, out []Effect) []Effect {
	if ev.Offset < r.end { // Asked first: boxing the arguments would cost memory.
		invariant.Check(false, "append that ends at %d, log ends at %d", ev.Offset, r.end)
	}
	r.epochs.Assign(ev.RecordEpoch, r.end)
	r.end = ev.Offset
	out = r.wantSync(out)
	switch r.role {
	case Leader:
		return r.advance(out)
	case Follower:
		return r.caughtUpTo(r.toldHW, out)
	}
	return out
}

func (r *Replica) flushed(to int64, out []Effect) []Effect {
	r.synced = max(r.synced, min(to, r.end))
	if r.fenceWaiting && r.synced >= r.end {
		out = append(out, r.fenceAnswer())
		r.fenceWaiting = false
	}
	switch r.role {
	case Leader:
		return r.advance(out)
	case Follower:
		if r.cfg.SyncedAcks {
			return r.fetch(out)
		}
	}
	return out
}

func (r *Replica) truncated(ev *Event, out []Effect) []Effect {
	if ev.LogStart > r.start || ev.Offset < r.start {
		r.start = ev.LogStart
		r.epochs.TruncateStart(ev.LogStart)
	}
	r.end = ev.Offset
	r.epochs.TruncateEnd(r.end)
	r.synced = min(r.synced, r.end)
	r.hw = max(r.start, min(r.hw, r.end))
	return r.fetch(out)
}

func (r *Replica) logStartMoved(to int64, out []Effect) []Effect {
	r.start = max(r.start, min(to, r.end))
	r.epochs.TruncateStart(r.start)
	return r.setHighWatermark(max(r.hw, r.start), out)
}

// wantSync asks for the tail where it counts only once it is on stable storage.
func (r *Replica) wantSync(out []Effect) []Effect {
	if r.cfg.SyncedAcks && r.synced < r.end {
		return append(out, Effect{Kind: Sync, Offset: r.end})
	}
	return out
}

func (r *Replica) setHighWatermark(to int64, out []Effect) []Effect {
	if to <= r.hw {
		return out
	}
	from := r.hw
	r.hw = to
	return append(out, Effect{Kind: SetHighWatermark, From: from, Offset: to, LeaderEpoch: r.leaderEpoch})
}

// obeys reports whether a message of the controller is to be followed at all,
// and remembers the controller.
func (r *Replica) obeys(controllerEpoch int32) bool {
	if controllerEpoch < r.controllerEpoch && !planted.Is(planted.NoControllerEpoch) {
		return false
	}
	r.controllerEpoch = max(r.controllerEpoch, controllerEpoch)
	return true
}

// adopt takes over the partition's state from LeaderAndIsr and reports whether
// it is news, and whether its leader epoch is.
func (r *Replica) adopt(ev *Event) (news, newEpoch bool) {
	older := ev.LeaderEpoch < r.leaderEpoch || ev.LeaderEpoch < r.fenced
	same := ev.LeaderEpoch == r.leaderEpoch && ev.PartitionEpoch <= r.partitionEpoch
	if older || same || !r.obeys(ev.ControllerEpoch) {
		return false, false
	}
	newEpoch = ev.LeaderEpoch > r.leaderEpoch
	r.leaderEpoch, r.partitionEpoch = ev.LeaderEpoch, ev.PartitionEpoch
	r.isr, r.elr, r.replicas = ev.ISR, ev.ELR, ev.Replicas
	return true, newEpoch
}

// stop ends every role; the log stays.
func (r *Replica) stop(out []Effect) []Effect {
	out = r.dropFetch(r.resign(out))
	r.role, r.leader = Idle, NoBroker
	return out
}

// latestEpoch is the newest leader epoch of the log.
func (r *Replica) latestEpoch() int32 {
	latest, ok := r.epochs.Latest()
	if !ok {
		return NoEpoch
	}
	return latest
}
