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

// TestNoCeilingOfOneSize: a limit of a size that no base has is none where any cell of
// that size clearly exceeds it, or where its samples lie too far apart; the limits of
// the other cells stand.
func TestNoCeilingOfOneSize(t *testing.T) {
	cell := func(name string, batch, rate int64) *dataset.Cell {
		r := result.Run{Kind: result.Burst, Records: result.Records{BatchBytes: batch}, Produce: &result.Window{Acked: 1e6, AckedPerS: 20e6, WireBytes: 110e6, WirePerS: rate}}
		return &dataset.Cell{Kind: result.Burst, Usable: []result.Run{r}, PlanCell: result.PlanCell{Driver: "raw", Label: name, Base: name == ""}}
	}
	for _, c := range []struct {
		name      string
		value     float64
		low, high float64
		rate      int64
		want      string
	}{
		{"a limit", 2e9, 1e9, 2.1e9, 1.9e9, ""},
		{"within what they scatter by", 2e9, 1e9, 2.1e9, 2.1e9, ""},
		{"exceeded", 431e6, 401e6, 500e6, 1.76e9, "reached 408"},
		{"scattered", 2e9, 101e6, 3.67e9, 1e9, "samples that lie so far apart"},
	} {
		base, large := cell("", 64<<10, 1.5e9), cell("1 MiB", 1<<20, c.rate)
		e := &dataset.Experiment{PlanExperiment: result.PlanExperiment{Name: "batches", Kind: result.Burst}, Cells: []*dataset.Cell{base, large}, Base: base}
		v := &view{&dataset.Invocation{Experiments: []*dataset.Experiment{e}, Folder: &result.Folder{Calib: &result.Calib{Limits: []result.Limit{
			{ID: result.LimitStore64K, Unit: result.UnitBytesPerS, Value: 2.1e9, Low: 2e9, High: 2.2e9, Samples: 5},
			{ID: result.LimitStore1M, Unit: result.UnitBytesPerS, Value: c.value, Low: c.low, High: c.high, Samples: 20},
		}}}}}
		if note := v.noCeiling(storeCeiling, base); note != "" {
			t.Errorf("%s: the base's own limit is none: %s", c.name, note)
		}
		note := v.noCeiling(storeCeiling, large)
		if (c.want == "") != (note == "") || !strings.Contains(spaced(note), c.want) {
			t.Errorf("%s: says %q, want %q", c.name, note, c.want)
		}
		if notes := v.noCeilings([]*dataset.Experiment{e}, storeCeiling); len(notes) != map[bool]int{true: 0, false: 1}[c.want == ""] {
			t.Errorf("%s: notes %q", c.name, notes)
		}
		_, table := v.distanceOf(e, map[string]int{})
		bracketed := strings.HasPrefix(table.Rows[1].Cells[1].Text, "(")
		if bracketed != (c.want != "") || strings.HasPrefix(table.Rows[0].Cells[1].Text, "(") {
			t.Errorf("%s: cells %q and %q", c.name, table.Rows[0].Cells[1].Text, table.Rows[1].Cells[1].Text)
		}
	}
}

// TestBoundWords: what is known is said first, and what is not is no headline.
func TestBoundWords(t *testing.T) {
	for want, bounds := range map[string]map[string]int{
		"How much of each limit every cell used": {"not told": 7},
		"How much of each limit every cell used; of 21 cells, 1 was bound by broker CPU and 1 by client CPU": {"not told": 19, "broker CPU": 1, "client CPU": 1},
		"How much of each limit every cell used; of 5 cells, 5 were bound by waiting":                        {"waiting": 5},
	} {
		if got := boundWords(bounds); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWhatBoundACell: where the harness could not tell, a calibrated limit of which nine
// tenths were used is what bound the cell, one that is none is not, and otherwise it is
// said what the cell used most of.
func TestWhatBoundACell(t *testing.T) {
	for _, c := range []struct {
		bound        string
		limit        float64
		want, beside string
	}{
		{"unknown", 1.05e9, "the limit of receiving and appending", "95 % of it"},
		{"unknown", 2e9, "not told", "all processors, 75 %"},
		{"unknown", 0.5e9, "not told", "all processors, 75 %"}, // passed, so none
		{"waiting", 1.05e9, "waiting", ""},
	} {
		cell := &dataset.Cell{Kind: result.Burst, PlanCell: result.PlanCell{ID: "a", Base: true, Driver: "raw"}}
		cell.Usable = []result.Run{{BoundBy: c.bound, Records: result.Records{BatchBytes: 64 << 10},
			Produce: &result.Window{WindowNs: 1e9, WirePerS: 1e9, CPU: result.CPU{BrokerUserNs: 1e9, ClientUserNs: 5e8}}}}
		e := &dataset.Experiment{Cells: []*dataset.Cell{cell}, Base: cell}
		v := &view{&dataset.Invocation{Experiments: []*dataset.Experiment{e}, Folder: &result.Folder{
			Env:   &result.Env{CPU: result.EnvCPU{Logical: 2}},
			Calib: &result.Calib{Limits: []result.Limit{{ID: result.LimitStore64K, Unit: result.UnitBytesPerS, Value: c.limit, Low: c.limit, High: c.limit, Samples: 5}}}}}}
		if word, beside := v.boundWord(cell); word != c.want || spaced(beside) != c.beside {
			t.Errorf("%s, at %.2f GB/s of %.2f: %q, beside %q; want %q and %q", c.bound, 1.0, c.limit/1e9, word, beside, c.want, c.beside)
		}
	}
}
