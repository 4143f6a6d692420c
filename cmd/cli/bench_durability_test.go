package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/stats"
)

// TestDurabilityTable: counts with their intervals, and a failed gate with what was
// seen.
func TestDurabilityTable(t *testing.T) {
	e := result.PlanExperiment{Name: "storage", Axes: []result.Axis{{Name: "storage.flush"}}, Cells: []result.PlanCell{
		{ID: "a", Config: map[string]string{"storage.flush": "os"}}, {ID: "b", Config: map[string]string{"storage.flush": "group"}}}}
	var trials []result.Trial
	for i := range 60 {
		trials = append(trials, result.Trial{Number: i, Cell: "a", Acked: 9000, Lost: 1500, Debt: 1800, LossWindowMs: 640}, result.Trial{Number: i, Cell: "b", Acked: 9000})
	}
	p := result.PlanTrials{Of: "storage", Count: 60, Fault: result.PowerCut}
	var out bytes.Buffer
	printDurability(&out, stats.Durability(e, p, trials, nil))
	for _, want := range []string{"60 of 60 trials: a power cut", "60 of 60 (≥ 95.1 %)", "0 of 60 (≤ 4.9 %)", "640 ms", "1.20", "holds  cells that wait for the disk lose nothing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	trials[1].Lost = 1
	out.Reset()
	printDurability(&out, stats.Durability(e, p, trials, nil))
	if !strings.Contains(out.String(), "FAILS  cells that wait for the disk lose nothing: group: lost in 1 of 60 trials") {
		t.Errorf("the failed gate is not named:\n%s", out.String())
	}
}

// TestTrialLines: every trial leaves a line, one without an outcome its reason.
func TestTrialLines(t *testing.T) {
	var out bytes.Buffer
	p := &lineProgress{w: &out}
	p.TrialStarted(0, 60, time.Minute)
	p.TrialFinished([]result.Trial{{Acked: 1500, Lost: 20}, {Acked: 500}}, nil)
	p.TrialStarted(1, 60, 0)
	p.TrialFinished([]result.Trial{{Acked: 10, Corrupt: 2}}, nil)
	p.TrialStarted(2, 60, 0)
	p.TrialFinished(nil, errors.New("it did not start"))
	for _, want := range []string{"1/60  trial 0  (1m0s left)  2.0 k acknowledged, 20 of them lost, in 1 of 2 cells", "2 records WRONG", "3/60  trial 2  FAILED: it did not start"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the lines lack %q:\n%s", want, out.String())
		}
	}
}
