package page

import (
	"math"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// TestGroupCeiling: a cell with small batches under flush=group is held against the
// group commit of as many writers as it has requests in flight; no other cell is.
func TestGroupCeiling(t *testing.T) {
	v := &view{&dataset.Invocation{Folder: &result.Folder{Calib: &result.Calib{Limits: []result.Limit{
		{ID: result.LimitGroup5, Unit: result.UnitPerS, Value: 10_000, Low: 9_000, High: 11_000, Samples: 5},
		{ID: result.LimitGroup40, Unit: result.UnitPerS, Value: 30_000, Low: 9_000, High: 31_000, Samples: 5},
	}}}}}
	for name, c := range map[string]struct {
		flush, producers string
		batch            int64
		answered         int64 // requests a second
		used             float64
	}{
		"one connection":     {"group", "1", 170, 8_500, 0.85},
		"eight":              {"group", "8", 170, 21_000, 0.7},
		"large batches":      {"group", "1", 64 << 10, 8_500, 0},
		"a sync for each":    {"batch", "1", 170, 8_500, 0},
		"as many as nowhere": {"group", "2", 170, 8_500, 0}, // Nearest to 8, which was not taken.
	} {
		run := result.Run{Records: result.Records{BatchBytes: c.batch, PerBatch: 3},
			Produce: &result.Window{Acked: 3 * c.answered, WireBytes: c.batch * c.answered, WirePerS: c.batch * c.answered}}
		cell := &dataset.Cell{Usable: []result.Run{run}, PlanCell: result.PlanCell{Driver: "raw", Config: map[string]string{
			"storage.flush": c.flush, "producers": c.producers, "max.in.flight.requests.per.connection": "5"}}}
		if got := groupCeiling.used(v, cell, run); math.Abs(got-c.used) > 0.001 {
			t.Errorf("%s: %.3f of the limit, want %.3f", name, got, c.used)
		}
	}
}
