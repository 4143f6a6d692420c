package hist

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestQuantilesAgreeWithASortedList compares with the obvious twin within the
// three digits that a histogram keeps.
func TestQuantilesAgreeWithASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(1, HighestNs), 1, 200).Draw(t, "values")
		a, b := New(), New()
		for i, v := range values {
			if i%2 == 0 {
				a.Record(v)
			} else {
				b.Record(v)
			}
		}
		a.Merge(b)
		sorted := append([]int64(nil), values...)
		for i := range sorted {
			for j := i + 1; j < len(sorted); j++ {
				if sorted[j] < sorted[i] {
					sorted[i], sorted[j] = sorted[j], sorted[i]
				}
			}
		}
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			want := sorted[max(1, int(q*float64(len(sorted))+0.5))-1] // HDR takes the nearest rank
			if got := a.At(q); math.Abs(float64(got-want)) > 0.001*float64(want)+1 {
				t.Fatalf("quantile %v: got %d, want %d within 0.1 %%", q, got, want)
			}
		}
		if got := a.Count(); got != int64(len(values)) {
			t.Fatalf("count %d, want %d: a value was lost", got, len(values))
		}
	})
}

func TestNothingIsDroppedOrClamped(t *testing.T) {
	h := New()
	h.Record(-5)
	h.Record(0)
	h.RecordN(HighestNs*2, 3)
	h.Record(1000)
	s := h.Summary()
	if s.N != 6 || s.NonPositive != 2 || s.Overflow != 3 {
		t.Errorf("n=%d non-positive=%d overflow=%d, want 6, 2 and 3: every value counts", s.N, s.NonPositive, s.Overflow)
	}
	if s.P99 != HighestNs || s.Max != HighestNs {
		t.Errorf("p99 %d, max %d, want %d: half of the values overflowed", s.P99, s.Max, int64(HighestNs))
	}
	h.Reset()
	if diff := cmp.Diff(Summary{}, h.Summary()); diff != "" {
		t.Errorf("after Reset (-want +got):\n%s", diff)
	}
}

func TestHgrmKeepsEveryPoint(t *testing.T) {
	h := New()
	for v := int64(1); v < 200_000; v += 7 {
		h.Record(v)
	}
	var text bytes.Buffer
	if err := WriteHgrm(&text, h); err != nil {
		t.Fatal(err)
	}
	got, err := ReadHgrm(&text)
	if err != nil {
		t.Fatal(err)
	}
	want := h.Spectrum()
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("points read back differ (-want +got):\n%s", diff)
	}
}

func TestLogKeepsIntervals(t *testing.T) {
	var in []Interval
	for i := range 4 {
		h := New()
		h.Record(int64(i+1) * 1_000_000)
		in = append(in, Interval{Metric: []string{"response", "service"}[i%2], Start: time.Duration(i/2) * time.Second, Length: time.Second, Hist: h})
	}
	var text bytes.Buffer
	if err := WriteLog(&text, time.UnixMilli(1_700_000_000_250), in); err != nil {
		t.Fatal(err)
	}
	out, err := ReadLog(&text)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != len(in) {
		t.Fatalf("%d intervals read, want %d", len(out), len(in))
	}
	for i := range in {
		if out[i].Metric != in[i].Metric || (out[i].Start-in[i].Start).Abs() > time.Millisecond || (out[i].Length-in[i].Length).Abs() > time.Millisecond {
			t.Errorf("interval %d is %s %s+%s, want %s %s+%s", i, out[i].Metric, out[i].Start, out[i].Length, in[i].Metric, in[i].Start, in[i].Length)
		}
		if diff := cmp.Diff(in[i].Hist.Summary(), out[i].Hist.Summary()); diff != "" {
			t.Errorf("interval %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	h := New()
	if got := testing.AllocsPerRun(100, func() { h.Record(12345) }); got != 0 {
		t.Errorf("%v allocations per Record, want 0", got)
	}
}

func FuzzReadHgrm(f *testing.F) {
	h := New()
	h.Record(1234567)
	var text bytes.Buffer
	if err := WriteHgrm(&text, h); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte("1.0 0.5 3\nNaN 1 2 inf\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := ReadHgrm(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, p := range points {
			if p.Value < 0 || p.Count < 0 || !(p.Quantile >= 0 && p.Quantile <= 1) {
				t.Fatalf("accepted the point %+v", p)
			}
		}
	})
}

func FuzzReadLog(f *testing.F) {
	h := New()
	h.Record(1234567)
	var text bytes.Buffer
	if err := WriteLog(&text, time.UnixMilli(1_700_000_000_000), []Interval{{Metric: "response", Length: time.Second, Hist: h}}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte("Tag=a,1,1,1,HISTFAAAA\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		intervals, err := ReadLog(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, i := range intervals {
			if i.Hist.Count() < 0 {
				t.Fatalf("accepted a histogram with %d values", i.Hist.Count())
			}
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	h := New()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Record(int64(i & 0xfffff))
	}
}
