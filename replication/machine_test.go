package replication_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog/epoch"
	"tidemark/replication"
	"tidemark/replication/catalog"
)

// replica is a machine under test with what it last wanted.
type replica struct {
	t testing.TB
	replication.Machine
	wants []replication.Effect
}

func newReplica(t testing.TB, strategy string, c replication.Config) *replica {
	t.Helper()
	spec, err := catalog.Builtin().Find(strategy)
	if err != nil {
		t.Fatal(err)
	}
	if c.LagTimeMax == 0 {
		c.LagTimeMax = 10 * time.Second
	}
	c.Dir = dir(c.Self)
	return &replica{t: t, Machine: spec.New(c)}
}

func dir(broker int32) replication.DirID { return replication.DirID{15: byte(broker)} }

// set is the members of that many brokers, each under broker epoch 100 + its id.
func set(brokers ...int32) []replication.Member {
	var out []replication.Member
	for _, b := range brokers {
		out = append(out, replication.Member{Broker: b, BrokerEpoch: 100 + int64(b), Dir: dir(b)})
	}
	return out
}

func (r *replica) step(ev replication.Event) { r.wants = r.Step(ev, r.wants[:0]) }

// lead makes the replica leader of a partition of three with the whole set in
// sync.
func (r *replica) lead(leaderEpoch int32) {
	r.step(replication.Event{
		Kind: replication.BecomeLeader, LeaderEpoch: leaderEpoch, PartitionEpoch: leaderEpoch * 10, ISR: set(1, 2, 3), Replicas: set(1, 2, 3),
	})
}

func (r *replica) follow(leader, leaderEpoch int32) {
	r.step(replication.Event{
		Kind: replication.BecomeFollower, Broker: leader, LeaderEpoch: leaderEpoch, PartitionEpoch: leaderEpoch * 10,
		ISR: set(1, 2, 3), Replicas: set(1, 2, 3),
	})
}

func (r *replica) append(end int64, recordEpoch int32) {
	r.step(replication.Event{Kind: replication.Appended, Offset: end, RecordEpoch: recordEpoch})
}

// fetched is a follower's fetch in leader epoch 1.
func (r *replica) fetched(broker int32, offset int64) {
	last := int32(1)
	if offset == 0 {
		last = replication.NoEpoch
	}
	r.step(replication.Event{
		Kind: replication.FollowerFetched, Broker: broker, BrokerEpoch: 100 + int64(broker), Dir: dir(broker),
		LeaderEpoch: 1, Offset: offset, RecordEpoch: last,
	})
}

// kinds are the kinds of effects that were wanted.
func (r *replica) kinds() []replication.EffectKind {
	var out []replication.EffectKind
	for _, e := range r.wants {
		out = append(out, e.Kind)
	}
	return out
}

func (r *replica) want(kinds ...replication.EffectKind) {
	r.t.Helper()
	if diff := cmp.Diff(kinds, r.kinds()); diff != "" {
		r.t.Errorf("effects (-want +got):\n%s\n%+v", diff, r.wants)
	}
}

func (r *replica) wantHW(hw int64) {
	r.t.Helper()
	if got := r.Status().HighWatermark; got != hw {
		r.t.Errorf("high watermark %d, want %d (%s)", got, hw, r.Status().Waiting)
	}
}

func (r *replica) last() replication.Effect {
	r.t.Helper()
	if len(r.wants) == 0 {
		r.t.Fatal("no effect is wanted")
	}
	return r.wants[len(r.wants)-1]
}

func TestFetchesThatAreRefused(t *testing.T) {
	fetch := func(change func(ev *replication.Event)) replication.Event {
		ev := replication.Event{
			Kind: replication.FollowerFetched, Broker: 2, BrokerEpoch: 102, Dir: dir(2), LeaderEpoch: 1, Offset: 2, RecordEpoch: 1,
		}
		change(&ev)
		return ev
	}
	for name, c := range map[string]struct {
		change func(ev *replication.Event)
		want   replication.Failure
	}{
		"an older leader epoch":               {func(ev *replication.Event) { ev.LeaderEpoch = 0 }, replication.FencedLeaderEpoch},
		"a newer leader epoch":                {func(ev *replication.Event) { ev.LeaderEpoch = 2 }, replication.UnknownLeaderEpoch},
		"records of a newer leader epoch":     {func(ev *replication.Event) { ev.RecordEpoch = 2 }, replication.UnknownLeaderEpoch},
		"not assigned":                        {func(ev *replication.Event) { ev.Broker = 9 }, replication.UnknownReplica},
		"an earlier life of the broker":       {func(ev *replication.Event) { ev.BrokerEpoch = 99 }, replication.StaleBrokerEpoch},
		"beyond the log end, without epochs":  {func(ev *replication.Event) { ev.Offset, ev.RecordEpoch = 9, -1 }, replication.OffsetOutOfRange},
		"before the log start":                {func(ev *replication.Event) { ev.Offset, ev.RecordEpoch = 0, -1 }, replication.OffsetOutOfRange},
		"no leader epoch is not checked":      {func(ev *replication.Event) { ev.LeaderEpoch = -1 }, replication.NoFailure},
		"no broker epoch is not checked":      {func(ev *replication.Event) { ev.BrokerEpoch = -1 }, replication.NoFailure},
		"a later life of the broker is known": {func(ev *replication.Event) { ev.BrokerEpoch = 200 }, replication.NoFailure},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
			r.lead(1)
			r.append(5, 1)
			r.fetched(2, 5)
			r.fetched(3, 5)
			r.step(replication.Event{Kind: replication.LogStartMoved, Offset: 1})
			r.step(fetch(c.change))
			if got := r.last(); got.Kind != replication.AnswerFetch || got.Failure != c.want {
				t.Errorf("answered %+v, want failure %d", got, c.want)
			}
		})
	}
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.step(fetch(func(*replication.Event) {}))
	if got := r.last(); got.Failure != replication.NotLeader {
		t.Errorf("answered %+v by a replica that does not lead", got)
	}
}

func TestANewLifeOfABrokerStartsAnew(t *testing.T) {
	again := func(offset int64, recordEpoch int32) replication.Event {
		return replication.Event{
			Kind: replication.FollowerFetched, Broker: 2, BrokerEpoch: 300, Dir: dir(2), LeaderEpoch: 1, Offset: offset, RecordEpoch: recordEpoch,
		}
	}
	for strategy, drops := range map[string]bool{"isr": true, "sync": false} {
		r := newReplica(t, strategy, replication.Config{Self: 1, MinISR: 1})
		r.lead(1)
		r.append(4, 1)
		r.fetched(2, 4)
		r.fetched(3, 4)
		r.step(again(0, replication.NoEpoch))
		f := r.Status().Followers[0]
		if f.BrokerEpoch != 300 || f.LogEndOffset != 0 || f.LastCaughtUp >= 0 {
			t.Errorf("follower %+v: want broker epoch 300 at 0, never caught up", f)
		}
		// isr drops it, as one that does not keep up; sync has it join anew, under
		// its present life, once it has everything.
		r.want(replication.AnswerFetch)
		if drops {
			r.step(replication.Event{Kind: replication.Tick, Now: 5 * time.Second})
			if p := r.wants[0]; p.Kind != replication.ProposeISR || replication.Contains(p.Members, 2) {
				t.Errorf("%s wanted %+v", strategy, r.wants)
			}
			continue
		}
		r.step(again(4, 1))
		p := r.wants[0]
		if p.Kind != replication.ProposeISR || p.Members[replication.Find(p.Members, 2)].BrokerEpoch != 300 {
			t.Errorf("%s wanted %+v: want a proposal with 2 under broker epoch 300", strategy, r.wants)
		}
	}
}

func TestAnswersToOtherFetchesAreDropped(t *testing.T) {
	answer := replication.Event{
		Kind: replication.FetchResponse, LeaderEpoch: 2, Offset: 3, DivergingEpoch: replication.NoEpoch, HighWatermark: 3, Records: true,
	}
	for name, change := range map[string]func(ev *replication.Event){
		"of another leader epoch": func(ev *replication.Event) { ev.LeaderEpoch = 1 },
		"from another offset":     func(ev *replication.Event) { ev.Offset = 2 },
		"a refusal":               func(ev *replication.Event) { ev.Failure = replication.FencedLeaderEpoch },
	} {
		r := newReplica(t, "isr", replication.Config{Self: 2})
		r.append(3, 1)
		r.follow(1, 2)
		ev := answer
		change(&ev)
		r.step(ev)
		if len(r.wants) != 0 {
			t.Errorf("an answer %s: wanted %+v, want nothing", name, r.wants)
		}
	}
}

func TestOutOfRangeAtTheFollower(t *testing.T) {
	for name, c := range map[string]struct {
		start, end int64
		want       replication.EffectKind
		offset     int64
		why        replication.Why
	}{
		"the leader ends earlier":   {0, 2, replication.Truncate, 2, replication.LeaderEndsEarlier},
		"the leader starts later":   {7, 9, replication.Restart, 7, replication.LeaderStartsLater},
		"it was so, and is no more": {0, 9, replication.Fetch, 5, 0},
	} {
		r := newReplica(t, "isr", replication.Config{Self: 2})
		r.append(5, 1)
		r.follow(1, 2)
		r.step(replication.Event{
			Kind: replication.FetchResponse, LeaderEpoch: 2, Offset: 5, Failure: replication.OffsetOutOfRange, LogStart: c.start, LogEnd: c.end,
			DivergingEpoch: replication.NoEpoch,
		})
		if got := r.last(); got.Kind != c.want || got.Offset != c.offset || got.Why != c.why {
			t.Errorf("%s: wanted %+v", name, got)
		}
		if c.want == replication.Restart {
			r.step(replication.Event{Kind: replication.Truncated, Offset: 7, LogStart: 7})
			if s := r.Status(); s.LogStartOffset != 7 || s.LogEndOffset != 7 || s.HighWatermark != 7 {
				t.Errorf("restarted at 7: %+v", s)
			}
			if got := r.last(); got.Kind != replication.Fetch || got.Offset != 7 || got.RecordEpoch != replication.NoEpoch {
				t.Errorf("restarted at 7: wanted %+v", got)
			}
		}
	}
}

func TestTheLogStartTravels(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 2})
	r.append(5, 1)
	r.follow(1, 2)
	r.step(replication.Event{
		Kind: replication.FetchResponse, LeaderEpoch: 2, Offset: 5, HighWatermark: 4, LogStart: 3, DivergingEpoch: replication.NoEpoch,
	})
	r.want(replication.MoveLogStart, replication.SetHighWatermark, replication.Fetch)
	r.step(replication.Event{Kind: replication.LogStartMoved, Offset: 3})
	if s := r.Status(); s.LogStartOffset != 3 || s.HighWatermark != 4 {
		t.Errorf("log start moved to 3: %+v", s)
	}
	// DeleteRecords up to the end: what is gone cannot be unreadable.
	r.step(replication.Event{Kind: replication.LogStartMoved, Offset: 5})
	r.want(replication.SetHighWatermark)
}

func TestRestartClampsTheCheckpoint(t *testing.T) {
	for _, c := range []struct{ checkpoint, want int64 }{{replication.NoOffset, 2}, {1, 2}, {4, 4}, {9, 6}} {
		r := newReplica(t, "isr", replication.Config{Self: 1})
		r.step(replication.Event{
			Kind: replication.Restarted, LogStart: 2, Offset: 6, Synced: 3, HighWatermark: c.checkpoint, FencedEpoch: replication.NoEpoch,
			Epochs: []epoch.Entry{{Epoch: 4, StartOffset: 2}},
		})
		r.wantHW(c.want)
		if s := r.Status(); s.FencedEpoch != 4 || s.Role != replication.Idle {
			t.Errorf("restarted with records of epoch 4: %+v", s)
		}
	}
}

// TestASlowDiskCountsNothing: where acknowledgements wait for the disk, neither a
// fetch, nor a vote, nor the leader's own log counts an unsynced tail.
func TestASlowDiskCountsNothing(t *testing.T) {
	synced := replication.Config{Self: 2, SyncedAcks: true}
	r := newReplica(t, "isr", synced)
	r.step(replication.Event{Kind: replication.Restarted, Offset: 3, Synced: 1, HighWatermark: 1, FencedEpoch: -1, Epochs: []epoch.Entry{{Epoch: 1}}})
	r.want(replication.Sync)
	r.follow(1, 2)
	r.want()
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 3})
	r.want(replication.WriteFence, replication.Sync)
	if !r.wants[0].Synced {
		t.Error("the promise is not to be synced")
	}
	r.step(replication.Event{Kind: replication.Flushed, Offset: 3})
	r.want(replication.AnswerFence)
	if got := r.last(); got.Offset != 3 || got.RecordEpoch != 1 || got.Dir != (replication.DirID{}) || got.LeaderEpoch != 3 {
		t.Errorf("the fence is answered with %+v", got)
	}
	r.step(replication.Event{Kind: replication.Flushed, Offset: 3})
	r.want() // It was answered.
	r.follow(1, 3)
	r.want(replication.Fetch)

	leader := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1, SyncedAcks: true})
	leader.lead(1)
	leader.append(2, 1)
	leader.want(replication.Sync)
	leader.fetched(2, 2)
	leader.fetched(3, 2)
	leader.wantHW(0)
	if w := leader.Status().Waiting; w != "the leader synced 0" {
		t.Errorf("waiting for %q", w)
	}
	leader.step(replication.Event{Kind: replication.Flushed, Offset: 2})
	leader.want(replication.AckLeader, replication.SetHighWatermark, replication.AckAll)

	// A switch drops the fetch that would count the tail.
	r = newReplica(t, "isr", replication.Config{Self: 2})
	r.append(3, 1)
	r.follow(1, 2)
	r.step(replication.Event{Kind: replication.ConfigChanged, Config: synced})
	r.want(replication.DropFetch, replication.Sync)
	r.step(replication.Event{Kind: replication.Flushed, Offset: 3})
	r.want(replication.Fetch)
}

// TestFollowerGoesOnWithoutSync: a follower that waits for a sync fetches on when
// synced records alone do not count any more: nobody else might tell it to.
func TestFollowerGoesOnWithoutSync(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 2, MinISR: 1, SyncedAcks: true, LagTimeMax: time.Second})
	r.follow(1, 1)
	r.append(3, 1)
	r.want(replication.Sync, replication.DropFetch)
	r.step(replication.Event{Kind: replication.ConfigChanged, Config: replication.Config{MinISR: 1, LagTimeMax: time.Second}})
	r.want(replication.Fetch)
	if e := r.last(); e.Offset != 3 || e.Broker != 1 {
		t.Errorf("fetches %+v, want from 3 on", e)
	}
}

func TestFencing(t *testing.T) {
	r := newReplica(t, "quorum", replication.Config{Self: 1, MinISR: 1})
	r.lead(3)
	r.append(1, 3)
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 2})
	if got := r.last(); got.Failure != replication.FencedLeaderEpoch || got.LeaderEpoch != 3 {
		t.Errorf("a fence of an older epoch than its own is answered with %+v", got)
	}
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 5})
	r.want(replication.WriteFence, replication.StepDown, replication.FailWaiters, replication.AnswerFence)
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 5})
	r.want(replication.AnswerFence)
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 4})
	if got := r.last(); got.Failure != replication.FencedLeaderEpoch || got.LeaderEpoch != 5 {
		t.Errorf("a fence of a lower epoch is answered with %+v", got)
	}
	r.lead(4)
	r.want()
	r.follow(2, 4)
	r.want()
	r.follow(2, 5)
	r.want(replication.Fetch)
}

// TestAPromiseIsWrittenThoughTheLogImpliesIt: records of an epoch may be truncated
// again, a promise to it may not.
func TestAPromiseIsWrittenThoughTheLogImpliesIt(t *testing.T) {
	r := newReplica(t, "quorum", replication.Config{Self: 1})
	r.step(replication.Event{
		Kind: replication.Restarted, Offset: 3, Synced: 3, FencedEpoch: 2, BrokerEpoch: 1, Epochs: []epoch.Entry{{Epoch: 4}},
	})
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 3})
	if got := r.last(); got.Failure != replication.FencedLeaderEpoch || got.LeaderEpoch != 4 {
		t.Errorf("answered %+v by a replica with records of epoch 4", got)
	}
	r.step(replication.Event{Kind: replication.Fence, LeaderEpoch: 4})
	r.want(replication.WriteFence, replication.AnswerFence)
}

func TestControllersOfAnOlderEpochAreNotObeyed(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.step(replication.Event{Kind: replication.BecomeLeader, ControllerEpoch: 7, LeaderEpoch: 1, PartitionEpoch: 1, ISR: set(1), Replicas: set(1, 2)})
	r.step(replication.Event{Kind: replication.BecomeFollower, Broker: 2, ControllerEpoch: 6, LeaderEpoch: 2, PartitionEpoch: 2, ISR: set(2), Replicas: set(1, 2)})
	r.want()
	r.step(replication.Event{Kind: replication.Fence, ControllerEpoch: 6, LeaderEpoch: 9})
	if got := r.last(); got.Failure != replication.FencedLeaderEpoch {
		t.Errorf("a fence by an older controller is answered with %+v", got)
	}
	if s := r.Status(); s.Role != replication.Leader || s.FencedEpoch != replication.NoEpoch {
		t.Errorf("after messages of an older controller: %+v", s)
	}
}

func TestChangesOfRole(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.follow(2, 1)
	r.want(replication.Fetch)
	r.follow(2, 1) // told twice
	r.want()
	r.lead(2)
	r.want(replication.DropFetch)
	r.append(2, 2)
	r.step(replication.Event{Kind: replication.BecomeFollower, Broker: replication.NoBroker, LeaderEpoch: 3, PartitionEpoch: 30, ISR: set(2), Replicas: set(1, 2, 3)})
	r.want(replication.StepDown, replication.FailWaiters)
	r.step(replication.Event{Kind: replication.BecomeFollower, Broker: 2, LeaderEpoch: 4, PartitionEpoch: 40, ISR: set(2), Replicas: set(1, 2, 3)})
	r.step(replication.Event{Kind: replication.BecomeFollower, Broker: replication.NoBroker, LeaderEpoch: 5, PartitionEpoch: 50, ISR: set(2), Replicas: set(1, 2, 3)})
	r.want(replication.DropFetch)
	r.follow(3, 6)
	r.want(replication.Fetch)
	r.step(replication.Event{Kind: replication.Stopped})
	r.want(replication.DropFetch)
	r.step(replication.Event{Kind: replication.Stopped})
	r.want()

	r = newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.lead(1)
	r.step(replication.Event{Kind: replication.Stopped})
	r.want(replication.StepDown, replication.FailWaiters)
	if s := r.Status(); s.Role != replication.Idle || s.Leader != replication.NoBroker || s.Admits {
		t.Errorf("stopped: %+v", s)
	}
}

// TestALeaderToldOfASmallerSet: the controller took a dead member out, under the
// same leader epoch.
func TestALeaderToldOfASmallerSet(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 2})
	r.lead(1)
	r.append(2, 1)
	r.fetched(2, 2)
	ev := replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 11, ISR: set(1, 2), Replicas: set(1, 2, 3, 4)}
	r.step(ev)
	r.want(replication.SetHighWatermark, replication.AckAll)
	r.step(ev) // told twice
	r.want()
	if n := len(r.Status().Followers); n != 3 {
		t.Errorf("%d followers, want 3: the new one too", n)
	}
	ev.PartitionEpoch, ev.ISR = 12, set(1)
	r.append(3, 1)
	r.step(ev)
	r.want(replication.FailWaiters)
	if got := r.last(); got.Failure != replication.NotEnoughReplicasAfterAppend || got.Offset != 3 {
		t.Errorf("waiters are told %+v", got)
	}
	r.step(replication.Event{Kind: replication.ConfigChanged, Config: replication.Config{MinISR: 1, LagTimeMax: time.Second}})
	r.wantHW(3)
	// Under a new leader epoch it leads on, and its producers wait on.
	r.step(replication.Event{Kind: replication.ConfigChanged, Config: replication.Config{MinISR: 2, LagTimeMax: time.Second}})
	r.append(4, 1)
	ev.LeaderEpoch, ev.PartitionEpoch = 2, 20
	r.step(ev)
	r.want(replication.FailWaiters)
	ev.LeaderEpoch, ev.PartitionEpoch, ev.ISR = 3, 30, set(1, 2)
	r.step(ev)
	r.want()
}

func TestProposals(t *testing.T) {
	propose := func(t *testing.T) *replica {
		r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
		r.lead(1)
		r.append(2, 1)
		r.fetched(2, 2)
		r.step(replication.Event{Kind: replication.Tick, Now: 11 * time.Second})
		if got := r.last(); got.Kind != replication.ProposeISR || got.Why != replication.Lagging || got.PartitionEpoch != 10 {
			t.Fatalf("wanted %+v, want a proposal", r.wants)
		}
		return r
	}
	refused := replication.Event{Kind: replication.ISRRefused, LeaderEpoch: 1, PartitionEpoch: 10}
	committed := replication.Event{Kind: replication.ISRCommitted, LeaderEpoch: 1, PartitionEpoch: 11, ISR: set(1, 2)}
	tick := replication.Event{Kind: replication.Tick, Now: 12 * time.Second}
	nextLook := replication.Event{Kind: replication.Tick, Now: 17 * time.Second}

	t.Run("committed", func(t *testing.T) {
		r := propose(t)
		r.step(committed)
		r.wantHW(2)
		r.step(committed) // the same again
		r.want()
	})
	t.Run("of another leader epoch", func(t *testing.T) {
		r := propose(t)
		for _, ev := range []replication.Event{committed, refused} {
			ev.LeaderEpoch = 2
			ev.Refusal = replication.NotApplied
			r.step(ev)
			r.want()
		}
		r.wantHW(0)
	})
	t.Run("not applied", func(t *testing.T) {
		r := propose(t)
		refused := refused
		refused.Refusal = replication.NotApplied
		r.step(refused)
		r.want() // not again at once
		r.step(tick)
		r.want()
		r.step(nextLook)
		r.want(replication.ProposeISR)
	})
	t.Run("stale", func(t *testing.T) {
		r := propose(t)
		refused := refused
		refused.Refusal = replication.StaleState
		r.step(refused)
		r.step(tick)
		r.want()
		if s := r.Status(); !s.Pending || len(s.Maximal) != 3 {
			t.Errorf("%+v: the larger set counts until the state is known", s)
		}
		r.step(committed)
		r.wantHW(2)
	})
	// The first sending may be applied after the second was refused: the larger set
	// counts until another state stands.
	t.Run("unknown, then not applied", func(t *testing.T) {
		r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
		state := replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 10, ISR: set(1, 2), Replicas: set(1, 2, 3)}
		r.step(state)
		r.fetched(3, 0)
		r.want(replication.ProposeISR, replication.AnswerFetch)
		refused := refused
		refused.Refusal = replication.UnknownOutcome
		r.step(refused)
		r.step(replication.Event{Kind: replication.Tick})
		r.want(replication.ProposeISR)
		refused.Refusal = replication.NotApplied
		r.step(refused)
		r.append(1, 1)
		r.fetched(2, 1)
		r.wantHW(0)
		r.step(replication.Event{Kind: replication.Tick})
		if got := r.last(); got.Kind != replication.ProposeISR || got.Why != replication.Settling || len(got.Members) != 2 || got.PartitionEpoch != 10 {
			t.Errorf("wanted %+v, want the committed set proposed", r.wants)
		}
		r.step(replication.Event{Kind: replication.Tick})
		r.want()
		if s := r.Status(); len(s.Maximal) != 3 {
			t.Errorf("%v counts, want 3 too", s.Maximal)
		}
		r.step(replication.Event{Kind: replication.ISRCommitted, LeaderEpoch: 1, PartitionEpoch: 11, ISR: set(1, 2)})
		r.fetched(2, 1)
		r.step(replication.Event{Kind: replication.Tick, Now: 20 * time.Second})
		r.wantHW(1)
	})
	t.Run("unknown, then not applied, and somebody lags by then", func(t *testing.T) {
		r := propose(t)
		for _, outcome := range []replication.Refusal{replication.UnknownOutcome, replication.NotApplied} {
			refused := refused
			refused.Refusal = outcome
			r.step(refused)
			r.step(nextLook)
			nextLook.Now += 6 * time.Second
			if got := r.last(); got.Kind != replication.ProposeISR || got.Why != replication.Lagging {
				t.Errorf("wanted %+v", r.wants)
			}
		}
	})
	t.Run("unknown", func(t *testing.T) {
		r := propose(t)
		refused := refused
		refused.Refusal = replication.UnknownOutcome
		r.step(refused)
		r.want()
		r.step(tick)
		r.want(replication.ProposeISR)
		r.step(tick)
		r.want()
	})
}

// TestCaughtUpAtTheFetchBefore: a follower that always lacks what came since its
// last fetch keeps up all the same.
func TestCaughtUpAtTheFetchBefore(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.lead(1)
	end := int64(0)
	for second := time.Duration(1); second < 60; second++ {
		before := end
		end += 10
		r.append(end, 1)
		for b := int32(2); b <= 3; b++ {
			ev := replication.Event{
				Kind: replication.FollowerFetched, Now: second * time.Second, Broker: b, BrokerEpoch: 100 + int64(b), Dir: dir(b), LeaderEpoch: 1,
				Offset: before, RecordEpoch: 1,
			}
			if before == 0 {
				ev.RecordEpoch = replication.NoEpoch
			}
			r.step(ev)
		}
		r.step(replication.Event{Kind: replication.Tick, Now: second * time.Second})
		r.want()
	}
	if s := r.Status(); s.Pending || len(s.ISR) != 3 || s.Followers[0].Lag != 10 || s.Followers[0].LastCaughtUp != 58*time.Second {
		t.Errorf("%+v", s)
	}
}

func TestStatusBeforeAnybodyFetched(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 2})
	if s := r.Status(); s.Role.String() != "idle" || s.Waiting != "" || s.EpochStart != replication.NoOffset {
		t.Errorf("a new machine: %+v", s)
	}
	r.lead(1)
	r.append(1, 1)
	s := r.Status()
	if s.Waiting != "2 has not fetched yet (waited for another 10s), 3 has not fetched yet (waited for another 10s)" || s.Followers[1].Lag != replication.NoOffset || !s.Admits {
		t.Errorf("%+v", s)
	}
}

// TestNewsWakesAFollower: an answer need not wait for records where the follower
// does not know the high watermark yet.
func TestNewsWakesAFollower(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 1})
	r.lead(1)
	r.append(2, 1)
	r.fetched(2, 2)
	if got := r.last(); !got.News || got.HighWatermark != 0 {
		t.Errorf("the first answer: %+v", got)
	}
	r.fetched(2, 2)
	if got := r.last(); got.News {
		t.Errorf("nothing is new: %+v", got)
	}
	r.fetched(3, 2)
	r.fetched(2, 2)
	if got := r.last(); !got.News || got.HighWatermark != 2 {
		t.Errorf("the high watermark is new: %+v", got)
	}
}

func TestCatalog(t *testing.T) {
	var names []string
	for _, s := range catalog.Builtin().Specs() {
		names = append(names, s.Name)
		if s.Doc == "" || s.New == nil || s.Elect == nil {
			t.Errorf("strategy %s is not whole", s.Name)
		}
	}
	if diff := cmp.Diff([]string{"async", "sync", "isr", "quorum"}, names); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
	if _, err := catalog.Builtin().Find("isr2"); err == nil || err.Error() != `no replication strategy "isr2" (there are: async, sync, isr, quorum); did you mean "isr"?` {
		t.Errorf("an unknown name: %v", err)
	}
	mine := catalog.Builtin().With(replication.Spec{Name: "isr", Doc: "mine"}).With(replication.Spec{Name: "new"})
	if s, err := mine.Find("isr"); err != nil || s.Doc != "mine" || len(mine.Specs()) != 5 {
		t.Errorf("replaced: %+v, %v", s, err)
	}
	if s, _ := catalog.Builtin().Find("isr"); s.Doc == "mine" {
		t.Error("the shipped catalog changed")
	}
}

// TestEveryBrokenPromiseOfTheShellIsCaught: what cannot happen ends the process
// instead of a log.
func TestEveryBrokenPromiseOfTheShellIsCaught(t *testing.T) {
	for name, ev := range map[string]replication.Event{
		"an unknown event":            {Kind: 99},
		"an append below the log end": {Kind: replication.Appended, Offset: 1},
		"more synced than there is":   {Kind: replication.Restarted, Offset: 3, Synced: 4},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s went through", name)
				}
			}()
			r := newReplica(t, "isr", replication.Config{Self: 1})
			r.append(2, 1)
			r.step(ev)
		}()
	}
}

// TestAnAnswerAboutAnEpochNobodyHas: a leader that names an epoch beyond the
// follower's is believed as far as its end goes.
func TestAnAnswerAboutAnEpochNobodyHas(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 2})
	r.append(5, 1)
	r.follow(1, 2)
	r.step(replication.Event{Kind: replication.FetchResponse, LeaderEpoch: 2, Offset: 5, DivergingEpoch: 2, DivergingEnd: 3})
	if got := r.last(); got.Kind != replication.Truncate || got.Offset != 3 || got.Why != replication.Diverged {
		t.Errorf("wanted %+v", got)
	}
}

func TestAsyncWaitsForTheDiskAlone(t *testing.T) {
	r := newReplica(t, "async", replication.Config{Self: 1, MinISR: 3, SyncedAcks: true})
	r.lead(1)
	r.append(2, 1)
	if s := r.Status(); s.HighWatermark != 0 || s.Waiting != "the leader has not synced it" || !s.Admits {
		t.Errorf("%+v", s)
	}
	r.step(replication.Event{Kind: replication.Flushed, Offset: 2})
	r.want(replication.AckLeader, replication.SetHighWatermark, replication.AckAll)
}

// TestASlowFollowerMakesNoStorm: one that reaches the high watermark again and
// again, and the log end never, goes in and out of the ISR no faster than members
// are looked at.
func TestASlowFollowerMakesNoStorm(t *testing.T) {
	r := newReplica(t, "isr", replication.Config{Self: 1, MinISR: 2})
	r.step(replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 1, ISR: set(1), Replicas: set(1, 2)})
	proposals, partitionEpoch := 0, int32(1)
	for ms := time.Duration(1); ms < 60_000; ms++ {
		now := ms * time.Millisecond
		for _, ev := range []replication.Event{
			{Kind: replication.Appended, Offset: int64(10 * ms), RecordEpoch: 1},
			{Kind: replication.FollowerFetched, Broker: 2, BrokerEpoch: 102, Dir: dir(2), LeaderEpoch: 1, Offset: int64(ms), RecordEpoch: 1},
			{Kind: replication.Tick},
		} {
			ev.Now = now
			r.step(ev)
			for _, e := range r.wants {
				if e.Kind == replication.ProposeISR {
					proposals++
					partitionEpoch++
					r.step(replication.Event{Kind: replication.ISRCommitted, Now: now, LeaderEpoch: 1, PartitionEpoch: partitionEpoch, ISR: e.Members})
					break
				}
			}
		}
	}
	if limit := 2 * 60 / 5; proposals < 4 || proposals > limit {
		t.Errorf("%d proposals in a minute, want some, and at most %d: two for each look", proposals, limit)
	}
	if hw := r.Status().HighWatermark; hw < 50_000 {
		t.Errorf("high watermark %d: the slow follower is not waited for while it is in", hw)
	}
}
