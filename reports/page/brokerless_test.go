package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/reports/dataset"
)

// TestALimitIsNoChoice: a cell without a broker is told as a limit, never in one list
// with what a broker's owner may choose, nor as a panel's largest difference.
func TestALimitIsNoChoice(t *testing.T) {
	f := &result.Folder{Plan: result.Plan{Experiments: []result.PlanExperiment{{Name: "client", Kind: result.Burst, Axes: []result.Axis{
		{Name: "target", Values: []string{"process", "memory"}}, {Name: "acks", Values: []string{"1", "0"}}},
		Cells: []result.PlanCell{
			{ID: "base", Label: "base", Base: true, Target: "process"},
			{ID: "memory", Target: "memory", Axes: map[string]string{"target": "memory"}},
			{ID: "acks", Target: "process", Axes: map[string]string{"acks": "0"}},
		}}}}}
	for block := range 6 {
		for i, cell := range f.Plan.Experiments[0].Cells {
			perS := []int64{1_000_000, 3_000_000, 1_500_000}[i] + int64(1000*(block%3+i))
			f.Runs = append(f.Runs, result.Run{Experiment: "client", Kind: result.Burst, Cell: cell.ID, Block: block, Status: result.Valid, Produce: &result.Window{AckedPerS: perS}})
		}
	}
	f.Compare = stats.Summarise(f)
	v := &view{dataset.Of(f)}
	var choice, limit string
	for _, s := range conclude(v) {
		switch {
		case strings.HasPrefix(s.Text, limitFirst):
			limit += s.Text
		case s.Kind == string(result.Faster):
			choice += s.Text
		}
	}
	if !strings.Contains(limit, "faster than the base: target=memory") || strings.Contains(limit, "acks") {
		t.Errorf("the limit is told as %q", limit)
	}
	if !strings.Contains(choice, "acks=0") || strings.Contains(choice, "memory") {
		t.Errorf("the choices are told as %q", choice)
	}
	if title := seen(v.Experiments, dataset.Produce, "rate"); !strings.Contains(title, "the only difference shown is acks=0") {
		t.Errorf("the title names a limit as a difference: %s", title)
	}
}
