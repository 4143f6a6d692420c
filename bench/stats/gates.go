package stats

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/result"
)

// mostDebtPerLoss is how many times what is lost the broker's debt may be on
// average: a gauge that is always far too high bounds everything and says nothing.
const mostDebtPerLoss = 10

// gates are what must hold of every set of trials.
func gates(d *result.Durability) []result.Gate {
	keeps, loses := cellsOf(d, true), cellsOf(d, false)
	out := []result.Gate{
		restarts(d),
		gate("cells that wait for the disk lose nothing", keeps, func(c result.CellLoss) (bool, string) {
			return c.Trials > 0 && c.Lossy == 0, counted(c)
		}),
		gate("what is read is what was sent, once, in order, where the answer said", d.Cells, func(c result.CellLoss) (bool, string) {
			return c.Wrong == 0, fmt.Sprintf("%d records wrong", c.Wrong)
		}),
	}
	if d.Fault != result.PowerCut {
		return out
	}
	return append(out,
		bites(loses),
		gate("no trial loses more than the debt that the broker counted", d.Cells, func(c result.CellLoss) (bool, string) {
			if c.Known < c.Trials {
				return false, fmt.Sprintf("debt is known of %d of %d trials", c.Known, c.Trials)
			}
			return c.Beyond == 0, fmt.Sprintf("beyond it in %d of %d trials", c.Beyond, c.Trials)
		}),
		gate(fmt.Sprintf("the debt is not stuck: where the system flushes, it is above zero and at most %d times the loss", mostDebtPerLoss), loses, func(c result.CellLoss) (bool, string) {
			return c.Debt.Max > 0 && c.DebtPerLoss > 0 && c.DebtPerLoss <= mostDebtPerLoss, fmt.Sprintf("mean debt is %.2f times the mean loss", c.DebtPerLoss)
		}),
	)
}

// bites holds where the cut takes something from every cell that lets it. A cut that
// takes nothing would make all others look safe, so that one such cell is needed.
func bites(loses []result.CellLoss) result.Gate {
	g := gate("the cut bites: cells that leave flushing to the system lose something", loses, func(c result.CellLoss) (bool, string) {
		return c.Lossy > 0, counted(c)
	})
	if len(loses) == 0 {
		g.Holds, g.Why = false, "no cell leaves flushing to the system, so that nothing shows that the cut takes anything"
	}
	return g
}

// restarts holds where every fault was followed by a restart and a full read.
func restarts(d *result.Durability) result.Gate {
	g := result.Gate{Name: "after every fault the broker starts again and everything can be read", Holds: d.Done > 0 && len(d.Failed) == 0,
		Why: fmt.Sprintf("%d of %d faults", d.Done, d.Done+len(d.Failed))}
	for _, f := range d.Failed {
		g.Why += fmt.Sprintf("; trial %d: %s", f.Number, f.Error)
	}
	return g
}

// gate holds where every cell is fine; what it says is of those that are not, or of
// all.
func gate(name string, cells []result.CellLoss, fine func(result.CellLoss) (ok bool, why string)) result.Gate {
	g := result.Gate{Name: name, Holds: true}
	var good, bad []seen
	for _, c := range cells {
		if ok, why := fine(c); ok {
			good = append(good, seen{c.Label, why})
		} else {
			bad = append(bad, seen{c.Label, why})
		}
	}
	switch {
	case len(bad) > 0:
		g.Holds, g.Why = false, cellByCell(bad)
	case len(good) == 0:
		g.Why = "no such cell"
	case !slices.ContainsFunc(good, func(s seen) bool { return s.what != good[0].what }):
		g.Why = fmt.Sprintf("%s, in each of %d cells", good[0].what, len(good))
	default:
		g.Why = cellByCell(good)
	}
	return g
}

// seen is what a gate saw of a cell.
type seen struct{ cell, what string }

func cellByCell(all []seen) string {
	lines := make([]string, len(all))
	for i, s := range all {
		lines[i] = s.cell + ": " + s.what
	}
	return strings.Join(lines, "; ")
}

func cellsOf(d *result.Durability, keeps bool) (out []result.CellLoss) {
	for _, c := range d.Cells {
		if c.Keeps == keeps {
			out = append(out, c)
		}
	}
	return out
}

func counted(c result.CellLoss) string {
	return fmt.Sprintf("lost in %d of %d trials", c.Lossy, c.Trials)
}

// GatesHold reports whether all hold, and says which do not.
func GatesHold(d *result.Durability) (ok bool, why string) {
	var bad []string
	for _, g := range d.Gates {
		if !g.Holds {
			bad = append(bad, fmt.Sprintf("%s (%s)", g.Name, g.Why))
		}
	}
	return len(bad) == 0, strings.Join(bad, "; ")
}
