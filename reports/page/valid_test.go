package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// TestValidBesideTheClaim: where some runs behind a claim are degraded and enough are
// not, the figure of these stands beside it, and beside the cell's own.
func TestValidBesideTheClaim(t *testing.T) {
	f := &result.Folder{Plan: result.Plan{Experiments: []result.PlanExperiment{{Name: "e", Kind: result.Burst,
		Cells: []result.PlanCell{{ID: "base", Label: "base", Base: true}, {ID: "acks", Axes: map[string]string{"acks": "0"}}}}}}}
	for block := range 8 {
		base := result.Run{Experiment: "e", Kind: result.Burst, Cell: "base", Block: block, Status: result.Valid, Produce: &result.Window{AckedPerS: 1_000_000 + int64(block)}}
		acks := base
		acks.Cell, acks.Produce = "acks", &result.Window{AckedPerS: 1_500_000}
		if block < 2 {
			acks.Status, acks.Produce.AckedPerS = result.Degraded, 1_300_000
		}
		f.Runs = append(f.Runs, base, acks)
	}
	f.Compare = stats.Summarise(f)
	v := &view{dataset.Of(f)}
	said := ""
	for _, s := range conclude(v) {
		if s.Kind == string(result.Faster) {
			said += spaced(s.Text)
		}
	}
	if !strings.Contains(said, "the 6 valid blocks alone +50 %, +50 %") || !strings.Contains(said, "Degraded: 2 of the 16 runs") {
		t.Errorf("the claim does not tell what the valid runs alone show: %s", said)
	}
	cell := v.Experiments[0].Cell("acks")
	if got := spaced(validWords(cell, shownMetric{dataset.Produce, num("produce", ""), chart.Count})); got != "; the 6 valid alone 1.50 M [1.50 M, 1.50 M]" {
		t.Errorf("beside the cell's figure stands %q", got)
	}
	if got := validWords(v.Experiments[0].Base, shownMetric{dataset.Produce, num("produce", ""), chart.Count}); got != "" {
		t.Errorf("all runs of the base are valid, and beside its figure stands %q", got)
	}
}
