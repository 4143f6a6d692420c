package tree

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestExpiryTwin compares with a plain map from session to the last touch.
func TestExpiryTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.Int64Range(1, 1000).Draw(t, "tick")
		e := NewExpiry(tick)
		ends := map[int64]int64{}
		now := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3*tick).Draw(t, "wait")
			id := rapid.Int64Range(1, 6).Draw(t, "session")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				timeout := rapid.Int64Range(0, 5*tick).Draw(t, "timeout")
				e.Touch(id, timeout, now)
				due := now + timeout
				for due++; due%tick != 0; due++ { // the first tick after the timeout
				}
				ends[id] = max(ends[id], due)
			case 1:
				e.Remove(id)
				delete(ends, id)
			case 3:
				if _, ok := ends[id]; !ok {
					continue
				}
				by, timeout := rapid.Int64Range(0, 3*tick).Draw(t, "by"), rapid.Int64Range(0, 5*tick).Draw(t, "timeout")
				e.Postpone(id, by, timeout, now)
				later, whole := ends[id]+by, now+timeout
				for ; later%tick != 0; later++ { // a whole number of ticks
				}
				for whole++; whole%tick != 0; whole++ {
				}
				ends[id] = max(ends[id], min(later, whole))
			case 2:
				var want []int64
				for id, end := range ends {
					if end <= now {
						want = append(want, id)
					}
				}
				slices.SortFunc(want, func(a, b int64) int {
					if ends[a] != ends[b] {
						return int(ends[a] - ends[b])
					}
					return int(a - b)
				})
				if diff := cmp.Diff(want, e.Due(now)); diff != "" {
					t.Fatalf("due at %d differs (-want +got):\n%s", now, diff)
				}
				for _, id := range want {
					delete(ends, id)
				}
			}
			if e.Len() != len(ends) {
				t.Fatalf("%d sessions, want %d", e.Len(), len(ends))
			}
		}
	})
}
