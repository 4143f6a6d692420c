// Package replicationtest holds a replication strategy, shipped or a stranger's,
// against the contract of replication.Spec. The contract is a list of clauses,
// each with its reason. The first ones look at the machine and the election
// alone; the others are the simulator's invariants, looked at after every event
// of whole clusters under faults, as far as the strategy's Promise goes.
//
// Check returns an error instead of failing a test, so that a command can run it,
// too. That it can fail is shown by a broken strategy for every clause.
package replicationtest

import (
	"context"
	"fmt"
	"slices"

	"tidemark/replication"
	"tidemark/replication/sim"
)

// Clause is a part of the contract.
type Clause struct {
	// Name is what failures are filed under.
	Name string
	// Why says what goes wrong where it does not hold.
	Why string
	// Invariants are the simulator's that show it; none where the clause is looked
	// at without a cluster.
	Invariants []string

	look func(spec replication.Spec) error
}

// Clauses are the contract, in the order in which Check looks at them.
func Clauses() []Clause { return append([]Clause(nil), clauses...) }

var clauses = []Clause{
	{Name: "whole", look: whole,
		Why: "a topic names its strategy, and a table shows what it is"},
	{Name: "append style", look: appendStyle,
		Why: "the caller owns the buffer of effects; what it already holds is still to be carried out"},
	{Name: "pure machine", look: pureMachine,
		Why: "a seed, a trace or a bug report can only be played again if the same events give the same effects"},
	{Name: "told state", look: toldState,
		Why: "shells act on effects and people look at the status: both must tell the same story"},
	{Name: "pure election", look: pureElection,
		Why: "two controllers that know the same must decide the same, or a failover moves leaders for nothing"},
	{Name: "electable leader", look: electable,
		Why: "a leader that is not live, not assigned or not in its own set serves nobody"},

	{Name: "log shape", Invariants: []string{"I1"},
		Why: "a high watermark over the log end shows consumers what is not there"},
	{Name: "same logs", Invariants: []string{"I2", "I3"},
		Why: "equal offset and leader epoch must mean equal records, and so must lying below two high watermarks, or replicas differ for ever unseen"},
	{Name: "complete candidates", Invariants: []string{"I4", "I5", "I6", "I12"},
		Why: "whoever leads, or may be elected at any moment, must have what was committed: what consumers have read must not become unread"},
	{Name: "counted set", Invariants: []string{"I7"},
		Why: "a member that ZooKeeper has and the leader does not count can lead without the record"},
	{Name: "durable", Invariants: []string{"I9", "I10"},
		Why: "an acknowledged record must survive what the settings promise to bear; a deposed leader promises what its successor never had"},
	{Name: "honest", Invariants: []string{"I11"},
		Why: "an acknowledgement from fewer replicas than asked for is a promise nobody can keep"},
	{Name: "live", Invariants: []string{"I20"},
		Why: "once everything is healed, the partition must come to serve again in bounded time"},
}

// Broken says which clause a strategy does not keep.
type Broken struct {
	Strategy string
	Clause   Clause
	// Seed plays the run again; 0 where the clause needs none.
	Seed uint64
	// Found says what was seen.
	Found string
}

// Error names the clause, what was found, why it matters and how to see it again.
func (b *Broken) Error() string {
	text := fmt.Sprintf("strategy %s breaks %q: %s (%s)", b.Strategy, b.Clause.Name, b.Found, b.Clause.Why)
	if b.Seed != 0 {
		text += fmt.Sprintf("; again: tidemark sim replay %s:%d", b.Strategy, b.Seed)
	}
	return text
}

// Check holds the strategy against every clause, the simulator's over seeds 1 to
// seeds. The first clause that does not hold is returned as a *Broken; another
// error says that the simulator found something that is not the strategy's.
func Check(spec replication.Spec, seeds int) error {
	for _, c := range clauses {
		if c.look == nil {
			continue
		}
		if err := c.look(spec); err != nil {
			return &Broken{Strategy: spec.Name, Clause: c, Found: err.Error()}
		}
	}
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		r := sim.Run(context.Background(), seed, sim.Scenario{Spec: spec})
		if r.Violation != nil {
			return broken(spec.Name, seed, r.Violation)
		}
	}
	return nil
}

func broken(strategy string, seed uint64, v *sim.Violation) error {
	for _, c := range clauses {
		if slices.Contains(c.Invariants, v.Invariant) {
			return &Broken{Strategy: strategy, Clause: c, Seed: seed, Found: v.Error()}
		}
	}
	return fmt.Errorf("strategy %s, seed %d: %w", strategy, seed, v)
}
