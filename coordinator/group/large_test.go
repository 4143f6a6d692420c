package group

import (
	"fmt"
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// TestRebalanceOfManyMembers: 500 members that join one after the other make one
// generation, one that comes later the next, and no more.
func TestRebalanceOfManyMembers(t *testing.T) {
	const members = 500
	o := quick()
	o.InitialRebalanceDelay = time.Second
	w := newWorld(o)
	ids, leader, generation := map[string]bool{}, "", int32(0)
	w.replied = func(r shard.Reply) {
		if b, ok := r.Body.(*JoinReply); ok && r.Err == nil {
			ids[b.Member], leader = true, b.Leader
			if generation != 0 && generation != b.Generation {
				t.Fatalf("generations %d and %d in one rebalance", generation, b.Generation)
			}
			generation = b.Generation
		}
	}
	join := func(member, fresh string) {
		r := joinRequest("g", member)
		r.FreshID = fresh
		w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
	}
	for i := range members {
		join("", fmt.Sprint(i))
	}
	w.advance(3 * time.Second)
	if len(ids) != members || generation != 1 {
		t.Fatalf("%d members are in generation %d, want %d in the first", len(ids), generation, members)
	}
	for id := range ids {
		if id != leader {
			sync := &SyncRequest{Group: "g", Generation: 1, Member: id}
			w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, sync, k, out) })
		}
	}
	sync := &SyncRequest{Group: "g", Generation: 1, Member: leader}
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, sync, k, out) })
	if got := w.groups.groups["g"].state; got != Stable {
		t.Fatalf("the group is %v, want Stable", got)
	}

	old := ids
	ids, generation = map[string]bool{}, 0
	join("", "late")
	for id := range old {
		join(id, "")
	}
	if len(ids) != members+1 || generation != 2 {
		t.Errorf("%d members are in generation %d, want %d in the second", len(ids), generation, members+1)
	}
}
