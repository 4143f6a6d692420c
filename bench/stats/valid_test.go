package stats

import (
	"math"
	"testing"

	"tidemark/bench/result"
)

// TestValidAlone: beside the figure of all usable runs stands that of the valid ones,
// where there are both and enough of these.
func TestValidAlone(t *testing.T) {
	for _, c := range []struct {
		name             string
		blocks, degraded int
		want             int // blocks of the valid figure, 0 for none
	}{
		{"all valid", 8, 0, 0}, {"two of eight degraded", 8, 2, 6}, {"three of eight degraded", 8, 3, 0},
	} {
		f := folder(c.blocks, func(block int) (int64, int64) { return 1_000_000, 1_200_000 + int64(block) })
		for i := range f.Runs {
			if r := &f.Runs[i]; r.Cell == "b" && r.Block < c.degraded {
				r.Status, r.Produce.AckedPerS = result.Degraded, 100_000
			}
		}
		cmp := Summarise(f)
		for _, s := range cmp.Cells {
			if s.Cell != "b" || s.Metric != result.MetricProduce {
				continue
			}
			if n, low := of(s.Valid); n != c.want || n > 0 && low < 1_200_000 {
				t.Errorf("%s: figure of %d valid runs from %.0f on, want %d", c.name, n, low, c.want)
			}
		}
		for _, p := range cmp.Pairs {
			if p.Metric != result.MetricProduce {
				continue
			}
			if n, low := of(p.Valid); n != c.want || n > 0 && math.Abs(low-1.2) > 0.01 {
				t.Errorf("%s: ratio over %d valid blocks from %.3f on, want %d", c.name, n, low, c.want)
			}
		}
	}
}

func of(i *result.Interval) (n int, low float64) {
	if i == nil {
		return 0, 0
	}
	return i.N, i.Low
}
