package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// strategyCell is a cell of a strategy with a run in each block.
func strategyCell(strategy, follower string, rates ...int64) *dataset.Cell {
	c := &dataset.Cell{Kind: result.Burst, PlanCell: result.PlanCell{Axes: map[string]string{strategyAxis: strategy, followerAxis: follower}}}
	for block, rate := range rates {
		c.Usable = append(c.Usable, result.Run{Kind: result.Burst, Block: block, Produce: &result.Window{Acked: rate, AckedPerS: rate}})
	}
	return c
}

// TestSlowWords: a ratio whose interval includes 1 is no finding, and every figure has
// its interval.
func TestSlowWords(t *testing.T) {
	e := &dataset.Experiment{Cells: []*dataset.Cell{
		strategyCell("sync", "max", 100, 101, 102, 99, 100, 98), strategyCell("sync", "1%", 20, 21, 19, 20, 22, 20),
		strategyCell("quorum", "max", 100, 101, 102, 99, 100, 98), strategyCell("quorum", "1%", 90, 220, 95, 190, 92, 180),
	}}
	e.Kind, e.Axes = result.Burst, []result.Axis{{Name: strategyAxis, Values: []string{"sync", "quorum"}}, {Name: followerAxis, Values: []string{"max", "1%"}}}
	said := slowWords(e)
	finding, rest, ok := strings.Cut(said, "; no difference is shown")
	if !ok || !strings.Contains(finding, "sync 20") || strings.Contains(finding, "quorum") || !strings.Contains(rest, "quorum 1") {
		t.Errorf("got %q, want sync as a finding and quorum not", said)
	}
	if strings.Count(said, "[") != 2 {
		t.Errorf("not every figure has its interval: %q", said)
	}
	if differs(result.Interval{N: 5, Low: 2, High: 3}) {
		t.Error("five blocks show no difference")
	}
}

// TestUnusedWords: failed and invalid runs are counted by their reasons.
func TestUnusedWords(t *testing.T) {
	f := &result.Folder{Runs: []result.Run{{Status: result.Invalid, Reasons: []string{"nothing was read back"}}}}
	f.State.Runs = []result.StateLine{{State: result.Failed, Error: "no port"}, {State: result.Failed, Error: "no port"}}
	v := &view{&dataset.Invocation{Folder: f}}
	if said, want := unusedWords(v, v.tally()), "3 runs are invalid or failed and in no figure: 1 invalid, nothing was read back | 2 failed, no port."; said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}
