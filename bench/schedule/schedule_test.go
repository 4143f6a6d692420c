package schedule

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSharesAddUpToTheRate counts the arrivals of all shares in a minute.
func TestSharesAddUpToTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"uniform", "poisson", "burst(10s@2x/60s)"}).Draw(t, "kind")
		rate := rapid.Float64Range(20, 2000).Draw(t, "rate")
		count := rapid.IntRange(1, 5).Draw(t, "count")
		want := rate * 60
		if kind[0] == 'b' {
			want = rate * 70 // 10 s at twice the rate, 50 s at it
		}
		got := 0
		for i := range count {
			a, err := New(kind, rate, Share{i, count}, 7)
			if err != nil {
				t.Fatal(err)
			}
			var last time.Duration
			for {
				next := a.Next()
				if next < last {
					t.Fatalf("arrival %v after %v", next, last)
				}
				if last = next; next >= time.Minute {
					break
				}
				got++
			}
		}
		tolerance := float64(count) + 1
		if kind == "poisson" {
			tolerance = 6 * math.Sqrt(want)
		}
		if math.Abs(float64(got)-want) > tolerance {
			t.Fatalf("%s at %v/s in %d shares: %d arrivals a minute, want %v", kind, rate, count, got, want)
		}
	})
}

func TestBadSchedules(t *testing.T) {
	for _, kind := range []string{"", "normal", "burst(", "burst(10s@2x)", "burst(70s@2x/60s)", "burst(1s@0.5x/2s)"} {
		if a, err := New(kind, 10, Share{0, 1}, 1); err == nil {
			t.Errorf("%q gave %v, want an error", kind, a)
		}
	}
	if _, err := New("uniform", math.NaN(), Share{0, 1}, 1); err == nil {
		t.Error("rate NaN: want an error")
	}
}

// TestPacerIsNeverEarly holds on any machine; how late it is belongs to doctor.
func TestPacerIsNeverEarly(t *testing.T) {
	p := NewPacer()
	defer p.Close()
	for _, ahead := range []int64{0, 10_000, 200_000, 2_000_000} {
		due := Now() + ahead
		if now := p.Wait(due); now < due {
			t.Errorf("woke %d ns early of %d", due-now, ahead)
		}
	}
	past := Now() - 1_000_000
	if now := p.Wait(past); now < past {
		t.Error("time ran backwards")
	}
}

func BenchmarkPacer100us(b *testing.B) {
	p := NewPacer()
	defer p.Close()
	var late int64
	for b.Loop() {
		due := Now() + 100_000
		late += p.Wait(due) - due
	}
	b.ReportMetric(float64(late)/float64(b.N), "late-ns/op")
}
