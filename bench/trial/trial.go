// Package trial does one trial of reliability: a broker under load, a fault at a
// random moment, a restart, and a full read that is checked against what was
// acknowledged.
//
// One broker holds a topic for each cell, so that all cells meet the same fault. A
// Rig does the steps one by one; Run is the trial as the experiments do it. The
// broker is another process, started as bench/target starts it; the metadata store
// is the one it embeds.
package trial

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"time"

	"tidemark/bench/check"
	"tidemark/bench/result"
)

// Cell is one configuration under test: a topic of the broker.
type Cell struct {
	// ID and Label are what the trial's lines carry.
	ID, Label string
	// Topic holds the topic's properties.
	Topic map[string]string
}

// Options is a trial, or what a Rig works with.
type Options struct {
	// Executable is started as `EXECUTABLE broker …` and, for a power cut,
	// `EXECUTABLE log cut …`; the running program if empty.
	Executable string
	// Dir is a fresh directory; what is in it afterwards is the caller's to delete.
	Dir   string
	Cells []Cell
	// Broker holds the broker's properties.
	Broker map[string]string
	// Seed makes the trial's choices: the phase, the acks, what a power cut leaves.
	Seed uint64
	// Fault is result.PowerCut or result.ProcessKill.
	Fault string
	// RecordBytes is the size of a value, at least ledger.HeaderBytes.
	RecordBytes int
	// PerSecond is the rate of each cell in records per second; a cell that
	// cannot keep up sends what it can.
	PerSecond float64
	// LeastLoad and MostLoad bound how long the load runs before the fault, from
	// the moment at which every cell has an acknowledgement.
	LeastLoad, MostLoad time.Duration
}

// choices are what the seed decides.
type choices struct {
	phase time.Duration
	acks  string
	torn  string
}

func choose(o Options) choices {
	random := rand.New(rand.NewPCG(o.Seed, 0x747269616c))
	c := choices{phase: o.LeastLoad, acks: "1", torn: "sector"}
	if spread := int64(o.MostLoad - o.LeastLoad); spread > 0 {
		c.phase += time.Duration(random.Int64N(spread))
	}
	if random.IntN(2) == 1 {
		c.acks = "all"
	}
	if random.IntN(2) == 1 {
		c.torn = "page"
	}
	return c
}

// Outcome is what a trial showed.
type Outcome struct {
	// Trials has a line for each cell in the order of Options.Cells.
	Trials []result.Trial
	// Reports are the checks behind them.
	Reports []check.Report
}

// Within bounds a trial from start to end.
const Within = 3 * time.Minute

// Run does one trial. An error means that there is no outcome: the broker did not
// start or restart, refused records before the fault, or could not be read.
func Run(ctx context.Context, number int, o Options) (out *Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	c := choose(o)
	r, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	fault, err := r.LoadAndKill(ctx, c.phase, c.acks)
	if err != nil {
		return nil, err
	}
	debt := Debts{}
	if o.Fault == result.PowerCut {
		if debt, err = r.Cut(ctx, o.Seed, c.torn); err != nil {
			return nil, err
		}
	} else {
		c.torn = ""
	}
	if err := r.Restart(ctx); err != nil {
		return nil, err
	}
	reports, err := r.Verify(ctx)
	if err != nil {
		return nil, err
	}
	out = &Outcome{Reports: reports}
	for i, cell := range o.Cells {
		t := r.line(i, reports[i], fault)
		t.Number, t.Seed, t.Fault, t.Torn, t.Acks = number, o.Seed, o.Fault, c.torn, c.acks
		t.Cell, t.Label, t.PhaseMs = cell.ID, cell.Label, fault.After.Milliseconds()
		t.Debt = debt.of(r.topic(i))
		out.Trials = append(out.Trials, t)
	}
	return out, nil
}

// line is a cell's figures.
func (r *Rig) line(i int, report check.Report, f Fault) result.Trial {
	v := r.account(i).View()
	t := result.Trial{Sent: int64(v.Sent), Acked: int64(v.AckedCount()), Failed: int64(v.Failed.Count()), Unknown: int64(v.UnknownCount()),
		Read: report.Read, Lost: report.Lost, Duplicate: report.Duplicate, Reordered: report.Reordered,
		Corrupt: report.Corrupt, Phantom: report.Phantom, Inconsistent: report.Inconsistent,
		UnavailableMs: r.unavailable[i].Milliseconds()}
	if len(report.LostSpans) > 0 {
		if at, ok := v.AckedBefore(report.LostSpans[0].First); ok {
			t.LossWindowMs = max(0, (f.AtNs-at)/int64(time.Millisecond))
		}
	}
	return t
}

// recordDir is where the broker keeps the record of what is durable.
func (o Options) recordDir() string { return filepath.Join(o.Dir, "powercut") }
