package replica

import (
	"math/rand/v2"
	"testing"
)

// TestTrustAgainstSet holds the spans that were looked at against a set of offsets.
func TestTrustAgainstSet(t *testing.T) {
	const end = 60
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var trusted trust
		trusted.begin(end)
		var set [end]bool
		for range 30 {
			from := random.Int64N(end - 1)
			to := min(end, from+1+random.Int64N(8))
			trusted.note(span{from, to})
			for o := from; o < to; o++ {
				set[o] = true
			}
			for o := range int64(end) {
				want := o
				for want < end && set[want] {
					want++
				}
				if got := trusted.seenFrom(o); got != want {
					t.Fatalf("seed %d: from %d seen to %d, want %d", seed, o, got, want)
				}
			}
		}
	}
}

func TestTrustIsBounded(t *testing.T) {
	var trusted trust
	trusted.begin(1000)
	for o := range int64(500) {
		trusted.note(span{2 * o, 2*o + 1})
	}
	if len(trusted.seen) > mostSpans {
		t.Errorf("%d spans are kept, want %d at most", len(trusted.seen), mostSpans)
	}
}
