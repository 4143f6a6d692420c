package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/reports/dataset"
)

// TestVerdictsLine: one is one, and several are several.
func TestVerdictsLine(t *testing.T) {
	f := &result.Folder{Plan: result.Plan{Experiments: []result.PlanExperiment{{Name: "e", Kind: result.Burst,
		Cells: []result.PlanCell{{ID: "base", Base: true}, {ID: "acks", Axes: map[string]string{"acks": "0"}}}}}}}
	for block := range 6 {
		for i, cell := range f.Plan.Experiments[0].Cells {
			wobble := int64(1 + i*(block%2))
			f.Runs = append(f.Runs, result.Run{Experiment: "e", Kind: result.Burst, Cell: cell.ID, Block: block, Status: result.Valid, Produce: &result.Window{AckedPerS: 1_000_000 * wobble}})
		}
	}
	f.Compare = stats.Summarise(f)
	v := &view{dataset.Of(f)}
	if got, want := verdictsLine(v), "Of 1 comparison of throughput and latency with a base, 0 show a difference, 0 show equivalence, and 1 is not decided."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var b strings.Builder
	markSection(&b, Section{Undecided: openTable(v)})
	if !strings.Contains(b.String(), "Not decided: 1 comparison<") {
		t.Errorf("the text says %s", b.String())
	}
}
