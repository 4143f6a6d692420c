package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/shard"
)

// TestPlainOffsets: nothing but the number is kept, of groups whose name will do, and
// no transaction commits.
func TestPlainOffsets(t *testing.T) {
	o := quick()
	o.PlainOffsets = func(group string) bool { return group != "a/b" }
	w := newWorld(o)
	commit := func(group string) error {
		offset := Commit{TopicPartition: TopicPartition{"t", 0}, TopicID: [16]byte{1}, Offset: 7, LeaderEpoch: 3, Metadata: "note"}
		r := &CommitRequest{Group: group, Generation: -1, RetentionMs: 1, Offsets: []Commit{offset}}
		_, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Commit(now, r, k, out) })
		return err
	}
	if err := commit("a/b"); err != ErrInvalidGroupID {
		t.Errorf("a group whose name is no node's: got %v, want %v", err, ErrInvalidGroupID)
	}
	if err := commit("g"); err != nil {
		t.Fatal(err)
	}
	all := &OffsetsRequest{Group: "g", All: true}
	got, err := call[*OffsetsReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Offsets(now, all, k, out) })
	if err != nil {
		t.Fatal(err)
	}
	want := &OffsetsReply{Offsets: []Committed{{TopicPartition: TopicPartition{"t", 0}, Offset: 7, LeaderEpoch: -1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the offset (-want +got):\n%s", diff)
	}
	w.advance(time.Hour)
	if kept := w.groups.groups["g"]; kept == nil || len(kept.offsets) != 1 {
		t.Error("the offset expired when its client said, which is not kept")
	}
	_, err = call[*Verification](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.StartVerification(now, 9, k, out) })
	if err != ErrPlainOffsets {
		t.Errorf("a transaction: got %v, want %v", err, ErrPlainOffsets)
	}
}
