package group

import (
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// TestDropTopics: the offsets of deleted topics go whoever reads them, a batch at a
// time, and others stay.
func TestDropTopics(t *testing.T) {
	w := newWorld(quick())
	for _, group := range []string{"g", "kept"} {
		if err := keep(t, w, group, at("t", 0, 1), at("u", 0, 2), at("v", 7, 3)); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, w, "g", joinRequest("g", "")) // it reads t
	var many []Commit
	for p := range int32(sweepRecords) {
		many = append(many, at("t", p, 1))
	}
	if err := keep(t, w, "large", many...); err != nil {
		t.Fatal(err)
	}
	drop := func() bool {
		r, err := call[*DropReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) {
			g.DropTopics(now, []string{"t", "v"}, k, out)
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.More
	}
	if !drop() || drop() {
		t.Errorf("%d offsets should take two batches", sweepRecords+4)
	}
	for group, want := range map[string]string{"g": "u-0:2 ", "kept": "u-0:2 ", "large": ""} {
		if got := offsetsOf(t, w, group); got != want {
			t.Errorf("%s: left %q, want %q", group, got, want)
		}
	}
}
