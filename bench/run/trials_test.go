package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/bench/workload"
)

const withTrials = `apiVersion: bench/v1
name: trials
experiments:
  - name: cells
    workload: {target: process}
    matrix:
      aa: true # runs again; no trial needs the base twice
      design: full
      axes:
        storage.flush: [os, group]
        storage.append.engine: [buffered, mapped]
trials: {of: cells, count: 3, rate: 500/s}
`

// TestTrialsWithoutAnOutcome: the broker of these tests does not start. That is a
// finding, with its seed, and fails a gate.
func TestTrialsWithoutAnOutcome(t *testing.T) {
	s, root := runSuite(t, t.Context(), withTrials, &notes{})
	f, err := result.Load(filepath.Join(root, "latest"))
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	if d := cmp.Diff(s.Durability, f.Durability); d != "" || f.Durability == nil {
		t.Fatalf("durability.json is not what was summed up: %s", d)
	}
	if len(f.Trials) != 0 || f.State.Trials.Done != 0 || len(f.State.Trials.Failed) != 3 || f.State.Trials.Planned != 3 {
		t.Errorf("%d trials, state %+v; want none done and three failed", len(f.Trials), f.State.Trials)
	}
	seeds := map[uint64]bool{}
	for _, x := range f.State.Trials.Failed {
		seeds[x.Seed] = true
		if !strings.Contains(x.Error, "this broker does not start") {
			t.Errorf("trial %d: %q says nothing of why", x.Number, x.Error)
		}
	}
	if len(seeds) != 3 {
		t.Errorf("seeds %v, want three", seeds)
	}
	if ok, why := stats.GatesHold(f.Durability); ok || !strings.Contains(why, "starts again") {
		t.Errorf("the gates hold without a broker: %s", why)
	}
	var names []string
	for _, c := range f.Durability.Cells {
		names = append(names, c.Label)
	}
	if d := cmp.Diff([]string{"os · buffered", "os · mapped", "group · buffered", "group · mapped"}, names); d != "" {
		t.Errorf("cells (-want +got):\n%s", d)
	}
	checkSchemas(t, f.Dir, "durability.json", "durability-v1")
}

// TestTrialsStop: asked to stop, an invocation begins no further trial.
func TestTrialsStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	n := &notes{after: func(int) { stop() }}
	s, _ := runSuite(t, ctx, withTrials, n)
	if !s.Interrupted || s.Durability != nil {
		t.Errorf("%+v, want interrupted without trials", s)
	}
}

func TestPlanHoldsTrials(t *testing.T) {
	spec, err := workload.Parse([]byte(withTrials))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := Plan(spec, nil, nil)
	if p.Trials == nil || p.Trials.Of != "cells" || p.Trials.Count != 3 || p.Trials.Fault != result.PowerCut || p.Trials.RecordsPerS != 500 {
		t.Errorf("trials of the plan: %+v", p.Trials)
	}
	if cells := spec.Trials.Resolved().Cells(); len(cells) != 4 || slices.ContainsFunc(cells, func(c workload.Cell) bool { return c.AA }) {
		t.Errorf("%d cells meet the faults, want four and no double", len(cells))
	}
	spec.Trials = nil
	if without, _ := Plan(spec, nil, nil); without.Trials != nil || without.Totals.Seconds >= p.Totals.Seconds || without.Totals.BytesWritten >= p.Totals.BytesWritten {
		t.Errorf("trials cost nothing: %+v against %+v", p.Totals, without.Totals)
	}
}
