package load

import (
	"context"
	"math"
	"testing"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/schedule"
)

// late is a feed of ten thousand sends a second over a window of a second that is past,
// whose sender has made all but the last ones.
func late(t *testing.T, unsent int64) *feed {
	t.Helper()
	const perSecond, window = 10_000, time.Second
	sp := newSpan(0, window, window, math.MaxInt64)
	sp.begin -= int64(2 * window)
	sp.fix()
	arrivals, err := schedule.New("uniform", perSecond, schedule.Share{Count: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range perSecond - unsent {
		arrivals.Next()
	}
	return &feed{span: sp, arrivals: arrivals, records: 1, sending: newTally(sp)}
}

// TestTheLastPartIsSentLate: what a sender has not sent at the end of the window is no
// lack where it is less than a thousandth of it, and is sent; more is a target that fell
// behind, and is counted.
func TestTheLastPartIsSentLate(t *testing.T) {
	for _, c := range []struct{ unsent, sent, dropped int64 }{
		{0, 0, 0}, {3, 3, 0}, {9, 9, 0}, {200, 10, 190}, {10_000, 10, 9_990},
	} {
		f := late(t, c.unsent)
		var sent int64
		for {
			due, ok := f.Due()
			if !ok {
				break
			}
			if due >= f.span.end.Load() {
				t.Fatalf("a send is due %d ns after the window", due-f.span.end.Load())
			}
			sent++
		}
		// The last part begins at a due time, give or take the rounding of one.
		if sent < c.sent-1 || sent > c.sent+1 || sent+f.dropped != c.unsent || (f.dropped == 0) != (c.dropped == 0) {
			t.Errorf("%d unsent of 10000 at the end: %d sent late and %d dropped, want %d and %d", c.unsent, sent, f.dropped, c.sent, c.dropped)
		}
	}
}

// slow is a target that takes a time for each send and answers none before it did.
type slow struct {
	driver.Session
	each time.Duration
}

func (s slow) Produce(_ context.Context, _ int, f driver.Feed) (int64, error) {
	for {
		due, ok := f.Next()
		if !ok {
			return 0, nil
		}
		sent := schedule.Now()
		f.Sent(due, sent, driver.Send{Records: 1, Wire: 1})
		time.Sleep(s.each)
		f.Acked(driver.Ack{Due: due, Sent: sent, Now: schedule.Now(), Records: 1, Wire: 1})
	}
}

// TestATargetThatFallsBehindIsToldSo: at twice the rate that it can take, half of the
// records are dropped, and of the others each has its response time.
func TestATargetThatFallsBehindIsToldSo(t *testing.T) {
	l := cellOf(t, "    workload: {driver: \"null\", target: none, producers: 1, rate: 1000/s, window: 300ms, warmup: 0s, interval: 100ms, fetch: 0s}\n    client: {batch.records: 1}\n")
	o, err := Produce(t.Context(), slow{open(t, l, ""), 2 * time.Millisecond}, Options{Load: l, PerSecond: l.Rate.PerSecond, Probe: still{}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	sent := o.Ledger.Accepted
	if o.Window.Dropped < 100 || sent+o.Window.Dropped < 299 || sent+o.Window.Dropped > 301 {
		t.Errorf("%d sent and %d dropped, want 300 together and at least a third dropped", sent, o.Window.Dropped)
	}
	if r := o.Window.ResponseNs; r == nil || r.N != sent {
		t.Errorf("response times of %+v, want one of each of %d sent records", r, sent)
	}
}
