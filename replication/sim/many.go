package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Many is a row of seeds of one scenario.
type Many struct {
	Scenario Scenario
	// From is the first seed, Seeds how many follow it.
	From  uint64
	Seeds int
	// Workers is how many run at a time, 0 for one a core.
	Workers int
	// Done, where not nil, is called after every seed, by several goroutines.
	Done func(Result)
	// StopAfter ends the row after so many violations, 0 for never.
	StopAfter int
}

// Total is what a row of seeds came to.
type Total struct {
	// Seeds, Events and Acked are how many there were.
	Seeds  int   `json:"seeds"`
	Events int64 `json:"events"`
	Acked  int64 `json:"acked"`
	// ThreeKinds is how many seeds had at least three kinds of fault, Thin how
	// many fewer than 2,000 events.
	ThreeKinds int `json:"three_kinds"`
	Thin       int `json:"thin"`
	// Losing is how many seeds lost a record acknowledged to acks=all, Lost how
	// many records; LosingLeader and LostLeader are those of acks=1.
	Losing       int `json:"losing"`
	Lost         int `json:"lost"`
	LosingLeader int `json:"losing_leader"`
	LostLeader   int `json:"lost_leader"`
	// Exceeded is how many seeds had faults beyond the promise.
	Exceeded int `json:"exceeded"`
	// Reach is how often each state was reached, ReachedIn in how many seeds.
	Reach     Counts `json:"-"`
	ReachedIn Counts `json:"-"`
	// Violations are the results in which an invariant did not hold, by seed.
	Violations []Result `json:"-"`
}

// Run plays the seeds on several cores, until all are played, the context ends,
// or enough violations were found.
func (m Many) Run(ctx context.Context) Total {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := m.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		total Total
		wg    sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(m.Seeds) || ctx.Err() != nil {
					return
				}
				r := Run(ctx, m.From+uint64(i), m.Scenario)
				if r.Interrupted {
					return
				}
				mu.Lock()
				total.Add(r)
				enough := m.StopAfter > 0 && len(total.Violations) >= m.StopAfter
				mu.Unlock()
				if m.Done != nil {
					m.Done(r)
				}
				if enough {
					stop()
				}
			}
		})
	}
	wg.Wait()
	return total
}

// Add counts one result in.
func (t *Total) Add(r Result) {
	t.Seeds++
	t.Events += int64(r.Events)
	t.Acked += int64(r.Acked)
	t.Lost += r.Lost
	t.LostLeader += r.LostLeader
	t.Losing += b2i(r.Lost > 0)
	t.LosingLeader += b2i(r.LostLeader > 0)
	t.ThreeKinds += b2i(r.Kinds >= 3)
	t.Thin += b2i(r.Events < 2000 && r.Violation == nil)
	t.Exceeded += b2i(r.Exceeded)
	for i, n := range r.Reach {
		t.Reach[i] += n
		t.ReachedIn[i] += b2i(n > 0)
	}
	if r.Violation != nil {
		t.Violations = append(t.Violations, r)
	}
}

// Merge counts another row in.
func (t *Total) Merge(o Total) {
	t.Seeds += o.Seeds
	t.Events += o.Events
	t.Acked += o.Acked
	t.Lost += o.Lost
	t.LostLeader += o.LostLeader
	t.Losing += o.Losing
	t.LosingLeader += o.LosingLeader
	t.ThreeKinds += o.ThreeKinds
	t.Thin += o.Thin
	t.Exceeded += o.Exceeded
	for i := range t.Reach {
		t.Reach[i] += o.Reach[i]
		t.ReachedIn[i] += o.ReachedIn[i]
	}
	t.Violations = append(t.Violations, o.Violations...)
}

func b2i(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
