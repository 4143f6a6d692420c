package e2e

import (
	"testing"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/bench/trial"
)

// TestChaosPowerCut cuts the power of a broker under load, with a topic for every
// flush policy and append engine: those that wait for the disk lose nothing that
// was acknowledged, the others lose something and never more than the broker
// counted as not yet durable. What is read is sound in every case.
func TestChaosPowerCut(t *testing.T) {
	cells := storageCells()
	e := result.PlanExperiment{Name: "cells"}
	for _, c := range cells {
		e.Cells = append(e.Cells, result.PlanCell{ID: c.ID, Label: c.Label, Config: c.Topic})
	}
	p := result.PlanTrials{Of: e.Name, Count: often(5, 60), Fault: result.PowerCut}
	var trials []result.Trial
	for i := range p.Count {
		seed := uint64(1000 + i)
		o := trial.Options{Executable: binary, Dir: t.TempDir(), Cells: cells, Fault: p.Fault, Seed: seed, RecordBytes: 300, PerSecond: 3000,
			LeastLoad: 100 * time.Millisecond, MostLoad: 900 * time.Millisecond}
		out, err := trial.Run(t.Context(), i, o)
		if err != nil {
			t.Fatalf("trial %d, seed %d: %v", i, seed, err)
		}
		trials = append(trials, out.Trials...)
		for k, r := range out.Reports {
			if r.Wrong() > 0 || r.Lost > 0 && stats.Keeps(cells[k].Topic) {
				t.Errorf("trial %d, seed %d, %s: %v", i, seed, cells[k].Label, r)
			}
		}
	}
	d := stats.Durability(e, p, trials, nil)
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
