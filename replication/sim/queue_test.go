package sim

import (
	"slices"
	"testing"
	"time"
)

// TestQueueKeepsOrder holds the heap against a sorted slice: by time, ties in
// the order of adding; slots are used again without mixing jobs up.
func TestQueueKeepsOrder(t *testing.T) {
	type twin struct {
		at time.Duration
		n  int
	}
	r := newRandom(7)
	var q queue
	var want []twin
	n, now := 0, time.Duration(0)
	for range 5000 {
		if len(want) == 0 || r.chance(550) {
			at := now + r.between(0, 20)
			q.add(at).offset = int64(n)
			want = append(want, twin{at, n})
			slices.SortStableFunc(want, func(a, b twin) int { return int(a.at - b.at) })
			n++
			continue
		}
		at, slot, ok := q.take()
		if !ok || at != want[0].at || q.jobs[slot].offset != int64(want[0].n) {
			t.Fatalf("took job %d at %v, want %d at %v", q.jobs[slot].offset, at, want[0].n, want[0].at)
		}
		now = at
		want = want[1:]
		q.release(slot)
	}
}

func TestDisk(t *testing.T) {
	fill := func() *replicaLog {
		l := &replicaLog{directory: 1}
		for i := range 10 {
			l.append(entry{epoch: int32(i / 4), id: uint32(i + 1)})
		}
		return l
	}
	r := newRandom(3)
	kept := map[int64]bool{}
	for range 200 {
		l := fill()
		whole := l.chainAt(6)
		l.sync(6, false)
		if lost := l.powerCut(r); lost != 10-l.end() || l.end() < 6 || l.chainAt(6) != whole {
			t.Fatalf("a power cut with 6 of 10 synced: %d lost, log ends at %d", lost, l.end())
		}
		kept[l.end()] = true
	}
	if !kept[6] || !kept[10] || len(kept) < 4 {
		t.Errorf("power cuts leave logs that end at %v: want all from 6 to 10", kept)
	}
	l := fill()
	if l.sync(4, true) || l.synced != 0 {
		t.Error("a failed fsync synced something")
	}
	if l.sync(4, false) {
		t.Error("an fsync after a failed one proves nothing, and says it does")
	}
	if found, end := fill().endOffset(1); found != 1 || end != 8 {
		t.Errorf("epoch 1 ends at (%d, %d), want (1, 8)", found, end)
	}
	l = fill()
	if l.wipe(2); l.end() != 0 || l.directory != 2 || l.lastEpoch() != -1 {
		t.Errorf("a wiped disk: %+v", l)
	}
}

func TestShrinkKeepsTheViolation(t *testing.T) {
	// The old truncation rule loses: there is something to shrink in any build.
	s := Scenario{Spec: find(t, "isr"), Truncation: 1}
	total := Many{Scenario: s, From: 1, Seeds: 500, StopAfter: 1}.Run(t.Context())
	if len(total.Violations) == 0 {
		t.Fatal("truncating to the high watermark violates nothing in 500 seeds")
	}
	found := total.Violations[0]
	small, result := Shrink(t.Context(), found.Seed, s, found)
	if result.Violation == nil || result.Violation.Invariant != found.Violation.Invariant {
		t.Fatalf("shrunk to %v, want another %s", result.Violation, found.Violation.Invariant)
	}
	if len(small.Keep) > len(found.Options.Faults) || result.Options.Producers > found.Options.Producers {
		t.Errorf("shrunk to more: %s", result.Options)
	}
	if again := Run(t.Context(), found.Seed, small); again.Violation == nil || *again.Violation != *result.Violation {
		t.Errorf("the shrunk run replays as %v, want %v", again.Violation, result.Violation)
	}
}
