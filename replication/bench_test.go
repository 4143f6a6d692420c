package replication_test

import (
	"testing"
	"time"

	"tidemark/replication"
)

// round is what a leader of three is told for one batch that both followers
// fetch.
func round(r *replica, n int64) {
	r.step(replication.Event{Kind: replication.Appended, Now: time.Duration(n), Offset: n, RecordEpoch: 1})
	for b := int32(2); b <= 3; b++ {
		r.step(replication.Event{
			Kind: replication.FollowerFetched, Now: time.Duration(n), Broker: b, BrokerEpoch: 100 + int64(b), Dir: dir(b),
			LeaderEpoch: 1, Offset: n, RecordEpoch: 1,
		})
	}
}

var strategies = []string{"async", "sync", "isr", "quorum"}

// TestSteadyStateAllocatesNothing: what happens for every batch costs no memory.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, strategy := range strategies {
		r := newReplica(t, strategy, replication.Config{Self: 1, MinISR: 2})
		r.lead(1)
		n := int64(1)
		round(r, n)
		allocs := testing.AllocsPerRun(1000, func() {
			n++
			round(r, n)
			r.step(replication.Event{Kind: replication.Tick, Now: time.Duration(n)})
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a batch, want 0", strategy, allocs)
		}
		r.wantHW(n)

		f := newReplica(t, strategy, replication.Config{Self: 2, MinISR: 2})
		f.follow(1, 1)
		end := int64(0)
		allocs = testing.AllocsPerRun(1000, func() {
			f.step(replication.Event{
				Kind: replication.FetchResponse, LeaderEpoch: 1, Offset: end, HighWatermark: end, DivergingEpoch: replication.NoEpoch, Records: true,
			})
			end++
			f.append(end, 1)
		})
		if allocs != 0 {
			t.Errorf("%s follower: %v allocations a batch, want 0", strategy, allocs)
		}
		f.wantHW(end - 1)
	}
}

func BenchmarkFollowerFetched(b *testing.B) {
	for _, strategy := range strategies {
		b.Run(strategy, func(b *testing.B) {
			b.ReportAllocs()
			r := newReplica(b, strategy, replication.Config{Self: 1, MinISR: 2})
			r.lead(1)
			n := int64(0)
			for b.Loop() {
				n++
				round(r, n) // two fetches and an append
			}
		})
	}
}
