package timer

import (
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/clock"
)

// TestWheelAgainstList compares the wheel with the obvious structure, a list of
// deadlines, over random adds, stops and clock steps from one tick to days.
func TestWheelAgainstList(t *testing.T) {
	type pending struct {
		entry Entry
		due   time.Time
		fired time.Time
		live  bool
	}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := clock.NewManual(time.Unix(1000, 0))
		w := New(c, time.Millisecond)
		var all []*pending
		for range 300 {
			switch rnd.IntN(3) {
			case 0:
				p := &pending{live: true}
				d := time.Duration(rnd.Int64N(int64(time.Millisecond) << rnd.IntN(32)))
				p.due = c.Now().Add(d)
				w.Add(&p.entry, d, func() { p.fired = c.Now() })
				all = append(all, p)
			case 1:
				if len(all) == 0 {
					continue
				}
				p := all[rnd.IntN(len(all))]
				if got, want := w.Stop(&p.entry), p.live && p.fired.IsZero(); got != want {
					t.Fatalf("seed %d: Stop of a deadline: got %v, want %v", seed, got, want)
				}
				p.live = false
			case 2:
				c.Advance(time.Duration(rnd.Int64N(int64(time.Millisecond) << rnd.IntN(28))))
			}
		}
		c.Advance(200 * 24 * time.Hour)
		for i, p := range all {
			switch {
			case !p.live && p.fired.IsZero():
			case p.fired.IsZero():
				t.Fatalf("seed %d: deadline %d never fired", seed, i)
			case p.fired.Before(p.due):
				t.Fatalf("seed %d: deadline %d fired %v early", seed, i, p.due.Sub(p.fired))
			case p.fired.Sub(p.due) > 2*time.Millisecond:
				t.Fatalf("seed %d: deadline %d fired %v late, want at most a tick", seed, i, p.fired.Sub(p.due))
			}
		}
		if got := w.Len(); got != 0 {
			t.Fatalf("seed %d: %d entries left after all fired, want 0", seed, got)
		}
	}
}

func TestCloseDropsPending(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	w := New(c, time.Millisecond)
	var e, late Entry
	called := false
	w.Add(&e, time.Second, func() { called = true })
	w.Close()
	w.Add(&late, time.Second, func() { called = true })
	c.Advance(time.Hour)
	if called {
		t.Error("a deadline fired after Close")
	}
}

func TestAddAndStopDoNotAllocate(t *testing.T) {
	w := New(clock.Real{}, time.Millisecond)
	defer w.Close()
	var first, e Entry
	f := func() {}
	w.Add(&first, time.Hour, f)
	allocs := testing.AllocsPerRun(1000, func() {
		w.Add(&e, 2*time.Hour, f)
		w.Stop(&e)
	})
	if allocs != 0 {
		t.Errorf("Add and Stop allocate %v times, want 0", allocs)
	}
}

func BenchmarkAddStop(b *testing.B) {
	w := New(clock.Real{}, time.Millisecond)
	defer w.Close()
	b.ReportAllocs()
	var e Entry
	f := func() {}
	for b.Loop() {
		w.Add(&e, 500*time.Millisecond, f)
		w.Stop(&e)
	}
}

// TestAHundredThousandDeadlines has them all pending at once, as sessions are, most
// set again before they fall due; each fires once, at its time.
func TestAHundredThousandDeadlines(t *testing.T) {
	type session struct {
		entry Entry
		due   time.Time
		fired time.Time
	}
	c := clock.NewManual(time.Unix(1000, 0))
	w := New(c, time.Millisecond)
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]session, 100_000)
	set := func(s *session) {
		d := time.Duration(rnd.Int64N(int64(45 * time.Second)))
		s.due = c.Now().Add(d)
		w.Add(&s.entry, d, func() {
			if !s.fired.IsZero() {
				t.Error("a deadline fired twice")
			}
			s.fired = c.Now()
		})
	}
	for i := range all {
		set(&all[i])
	}
	for range 300_000 {
		s := &all[rnd.IntN(len(all))]
		if w.Stop(&s.entry) {
			set(s)
		}
		if rnd.IntN(1000) == 0 {
			c.Advance(100 * time.Millisecond)
		}
	}
	c.Advance(time.Minute)
	if got := w.Len(); got != 0 {
		t.Errorf("%d deadlines are left", got)
	}
	for i := range all {
		if late := all[i].fired.Sub(all[i].due); late < 0 || late > 2*time.Millisecond {
			t.Fatalf("deadline %d fired %v after it was due, want within a tick", i, late)
		}
	}
}
