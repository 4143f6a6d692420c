package sim

import (
	"context"
	"time"
)

// Shrink looks for a smaller run that still violates the same invariant: with
// fewer faults, producers and brokers, and ending sooner. It returns the
// scenario that a run of the same seed takes, and its result. What cannot be made
// smaller is returned as it is.
func Shrink(ctx context.Context, seed uint64, s Scenario, found Result) (Scenario, Result) {
	sh := shrinking{ctx: ctx, seed: seed, scenario: s, best: found}
	all := make([]int, len(found.Options.Faults))
	for i := range all {
		all[i] = found.Options.Faults[i].Number
	}
	sh.scenario.Keep = all
	for producers := 1; producers < found.Options.Producers; producers++ {
		if sh.try(func(s *Scenario) { s.Producers = producers }) {
			break
		}
	}
	sh.try(func(s *Scenario) { s.Brokers = replicationFactor })
	sh.faults()
	for _, part := range [...]time.Duration{4, 2} {
		sh.try(func(s *Scenario) { s.Safety = sh.best.Options.safety - sh.best.Options.safety/part })
	}
	sh.faults()
	return sh.scenario, sh.best
}

type shrinking struct {
	ctx      context.Context
	seed     uint64
	scenario Scenario
	best     Result
}

// try plays a changed scenario and keeps it where the invariant is violated
// still.
func (sh *shrinking) try(change func(*Scenario)) bool {
	s := sh.scenario
	change(&s)
	r := Run(sh.ctx, sh.seed, s)
	if r.Violation == nil || r.Violation.Invariant != sh.best.Violation.Invariant {
		return false
	}
	sh.scenario, sh.best = s, r
	return true
}

// faults drops halves of the faults, then quarters, down to single ones.
func (sh *shrinking) faults() {
	for size := (len(sh.scenario.Keep) + 1) / 2; size >= 1; size /= 2 {
		for from := 0; from < len(sh.scenario.Keep); {
			kept := sh.scenario.Keep
			to := min(from+size, len(kept))
			fewer := append(append(make([]int, 0, len(kept)), kept[:from]...), kept[to:]...)
			if !sh.try(func(s *Scenario) { s.Keep = fewer }) {
				from = to
			}
		}
	}
}
