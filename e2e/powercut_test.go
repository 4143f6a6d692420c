package e2e

import (
	"strings"
	"testing"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/bench/trial"
)

// cutAll does the trials of some cells and sums them up. claimed are the settings
// that the gates take a cell to have.
func cutAll(t *testing.T, cells []trial.Cell, claimed []map[string]string, count int, seed uint64) ([]*trial.Outcome, *result.Durability) {
	t.Helper()
	e := result.PlanExperiment{Name: "cells"}
	for i, c := range cells {
		e.Cells = append(e.Cells, result.PlanCell{ID: c.ID, Label: c.Label, Config: claimed[i]})
	}
	p := result.PlanTrials{Of: e.Name, Count: count, Fault: result.PowerCut}
	var outcomes []*trial.Outcome
	var trials []result.Trial
	for i := range count {
		o := trial.Options{Executable: binary, Dir: t.TempDir(), Cells: cells, Fault: p.Fault, Seed: seed + uint64(i), RecordBytes: 300, PerSecond: 3000,
			LeastLoad: 100 * time.Millisecond, MostLoad: 900 * time.Millisecond}
		out, err := trial.Run(t.Context(), i, o)
		if err != nil {
			t.Fatalf("trial %d, seed %d: %v", i, o.Seed, err)
		}
		outcomes, trials = append(outcomes, out), append(trials, out.Trials...)
	}
	return outcomes, stats.Durability(e, p, trials, nil)
}

// TestChaosPowerCutGateIsNotBlind takes a topic for one that waits for the disk which
// does not: as a broker would look that acknowledges before its sync. The gate must
// fail, and only for that.
func TestChaosPowerCutGateIsNotBlind(t *testing.T) {
	cells := storageCells()[:2]
	claimed := []map[string]string{{"storage.flush": "batch"}, cells[1].Topic}
	_, d := cutAll(t, cells, claimed, 3, 500)
	for _, g := range d.Gates {
		if g.Holds == strings.Contains(g.Name, "lose nothing") {
			t.Errorf("%q holds: %v (%s)", g.Name, g.Holds, g.Why)
		}
	}
}

// TestChaosPowerCut cuts the power of a broker under load, with a topic for every
// flush policy and append engine: those that wait for the disk lose nothing that
// was acknowledged, the others lose something and never more than the broker
// counted as not yet durable. What is read is sound in every case.
func TestChaosPowerCut(t *testing.T) {
	cells := storageCells()
	var claimed []map[string]string
	for _, c := range cells {
		claimed = append(claimed, c.Topic)
	}
	outcomes, d := cutAll(t, cells, claimed, often(5, 60), 1000)
	for _, out := range outcomes {
		for k, r := range out.Reports {
			if r.Wrong() > 0 || r.Lost > 0 && stats.Keeps(cells[k].Topic) {
				t.Errorf("trial %d, seed %d, %s: %v", out.Trials[k].Number, out.Trials[k].Seed, cells[k].Label, r)
			}
		}
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		t.Logf("%s: lost in %s of %d acknowledged; debt ÷ loss %.2f", c.Label, c.Counted(), c.Acked, c.DebtPerLoss)
	}
	for _, g := range d.Gates {
		if !g.Holds {
			t.Errorf("%s: %s", g.Name, g.Why)
		}
	}
}
