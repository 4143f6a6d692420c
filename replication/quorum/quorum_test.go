package quorum

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/replication"
	"tidemark/replication/internal/vote"
)

// TestHeldByEnoughAgainstSorting holds the count against the obvious way: sort
// what the voters have and take the one so far from the end.
func TestHeldByEnoughAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "replicas")
		minISR := rapid.IntRange(1, 8).Draw(t, "min")
		r := replication.NewReplica(replication.Config{Self: 1, MinISR: minISR, Dir: vote.Dir(1)}, rule{})
		state := replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 1}
		for b := int32(1); b <= int32(n); b++ {
			m := replication.Member{Broker: b, BrokerEpoch: int64(b), Dir: vote.Dir(b)}
			state.Replicas = append(state.Replicas, m)
			state.ISR = append(state.ISR, m)
		}
		r.Step(state, nil)
		const end = 20
		r.Step(replication.Event{Kind: replication.Appended, Offset: end, RecordEpoch: 1}, nil)
		held := []int64{end}
		for b := int32(2); b <= int32(n); b++ {
			offset := rapid.Int64Range(0, end).Draw(t, "fetched")
			dir := b
			if rapid.Bool().Draw(t, "on another directory") {
				dir = b + 100
			} else {
				held = append(held, offset)
			}
			r.Step(replication.Event{
				Kind: replication.FollowerFetched, Broker: b, BrokerEpoch: int64(b), Dir: vote.Dir(dir), LeaderEpoch: 1, Offset: offset,
				RecordEpoch: replication.NoEpoch,
			}, nil)
		}
		slices.Sort(held)
		need, want := max(n/2+1, min(minISR, n)), int64(0)
		if need <= len(held) {
			want = held[len(held)-need]
		}
		if got := heldByEnough(r); got != want {
			t.Fatalf("of %v, %d needed: %d, want %d", held, need, got, want)
		}
		if hw := r.HighWatermark(); hw != want {
			t.Fatalf("high watermark %d, want %d", hw, want)
		}
	})
}

// TestACopyOnAnotherDirectoryVotesOnceRecorded: a replica that lost its disk
// counts again only when the state names the new one.
func TestACopyOnAnotherDirectoryVotesOnceRecorded(t *testing.T) {
	r := replication.NewReplica(replication.Config{Self: 1, MinISR: 1, Dir: vote.Dir(1)}, rule{})
	member := func(b, dir int32) replication.Member {
		return replication.Member{Broker: b, BrokerEpoch: int64(b), Dir: vote.Dir(dir)}
	}
	isr := []replication.Member{member(1, 1), member(2, 2), member(3, 3)}
	r.Step(replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 1, ISR: isr, Replicas: isr}, nil)
	r.Step(replication.Event{Kind: replication.Appended, Offset: 2, RecordEpoch: 1}, nil)
	fetch := func(offset int64) []replication.Effect {
		return r.Step(replication.Event{
			Kind: replication.FollowerFetched, Broker: 2, BrokerEpoch: 2, Dir: vote.Dir(9), LeaderEpoch: 1, Offset: offset,
			RecordEpoch: replication.NoEpoch,
		}, nil)
	}
	effects := fetch(2)
	if r.HighWatermark() != 0 || effects[0].Kind != replication.ProposeISR || effects[0].Why != replication.Copied {
		t.Fatalf("high watermark %d, effects %+v: want a proposal and nothing else", r.HighWatermark(), effects)
	}
	if diff := slices.Compare(brokersOf(effects[0].Members), []int32{1, 2, 3}); diff != 0 || effects[0].Members[1].Dir != vote.Dir(9) {
		t.Fatalf("proposed %+v: want 2 on directory 9", effects[0].Members)
	}
	if s := r.Status(); s.Waiting != "1 of 3 voters have offset 0, 2 are needed: 3 has not fetched yet" {
		t.Errorf("waiting: %q", s.Waiting)
	}
	isr = slices.Clone(effects[0].Members)
	r.Step(replication.Event{Kind: replication.ISRCommitted, LeaderEpoch: 1, PartitionEpoch: 2, ISR: isr}, nil)
	if r.HighWatermark() != 2 {
		t.Errorf("high watermark %d once directory 9 is recorded, want 2", r.HighWatermark())
	}
	if effects := fetch(2); effects[0].Kind != replication.AnswerFetch {
		t.Errorf("it is recorded, and proposed again: %+v", effects)
	}
}

func brokersOf(set []replication.Member) []int32 {
	var out []int32
	for _, m := range set {
		out = append(out, m.Broker)
	}
	return out
}
