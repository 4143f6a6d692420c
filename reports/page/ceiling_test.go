package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// TestNoCeiling: a calibrated limit that the base cell exceeded is neither drawn nor
// called one.
func TestNoCeiling(t *testing.T) {
	base := &dataset.Cell{Kind: result.Burst, PlanCell: result.PlanCell{Base: true, Driver: "raw"}}
	for range 3 {
		base.Usable = append(base.Usable, result.Run{Kind: result.Burst, Records: result.Records{BatchBytes: 64 << 10},
			Produce: &result.Window{Acked: 1e6, AckedPerS: 20e6, WireBytes: 110e6, WirePerS: 2.2e9}})
	}
	e := &dataset.Experiment{PlanExperiment: result.PlanExperiment{Name: "burst", Kind: result.Burst}, Cells: []*dataset.Cell{base}, Base: base}
	for _, c := range []struct {
		limit float64
		drawn bool
	}{{3e9, true}, {2e9, false}} {
		v := &view{&dataset.Invocation{Experiments: []*dataset.Experiment{e}, Folder: &result.Folder{Calib: &result.Calib{Limits: []result.Limit{
			{ID: result.LimitLoopback64K, Unit: result.UnitBytesPerS, Value: c.limit, Low: 1e9, High: c.limit, Samples: 5},
		}}}}}
		lines, _ := v.ceilings(e, dataset.Produce, loopbackCeiling)
		note := v.noCeiling(loopbackCeiling, base)
		if got := len(lines) == 1; got != c.drawn {
			t.Errorf("limit %v: drawn %v, want %v", c.limit, got, c.drawn)
		}
		if got := strings.Contains(note, "no ceiling here"); got == c.drawn {
			t.Errorf("limit %v: note %q", c.limit, note)
		}
	}
}

// TestBoundWords: what is known is said first, and what is not is no headline.
func TestBoundWords(t *testing.T) {
	for want, bounds := range map[string]map[string]int{
		"How much of each limit every cell used": {"unknown": 7},
		"How much of each limit every cell used; of 21 cells, 1 was bound by broker CPU and 1 by client CPU": {"unknown": 19, "broker_cpu": 1, "client_cpu": 1},
		"How much of each limit every cell used; of 5 cells, 5 were bound by waiting":                        {"waiting": 5},
	} {
		if got := boundWords(bounds); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
