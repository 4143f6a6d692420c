package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"tidemark/bench/result"
)

// printDurability shows what the trials say of every cell, and the gates.
func printDurability(w io.Writer, d *result.Durability) {
	fmt.Fprintf(w, "\n%s — %d of %d trials: a %s under load, a restart, a full read\n", d.Experiment, d.Done, d.Planned, result.FaultWords(d.Fault))
	t := newTable()
	t.AppendHeader(table.Row{"cell", "trials that lost", "lost, median", "p95", "loss window", "p95", "debt, mean", "÷ loss", "wrong"})
	for i := range d.Cells {
		c := &d.Cells[i]
		debt, ratio := "unknown", "–"
		if c.Known > 0 {
			debt = count(c.Debt.Mean)
		}
		if c.DebtPerLoss > 0 {
			ratio = fmt.Sprintf("%.2f", c.DebtPerLoss)
		}
		t.AppendRow(table.Row{c.Label, c.Counted(), count(c.Records.Median), count(c.Records.P95),
			fmt.Sprintf("%.0f ms", c.LossWindowMs.Median), fmt.Sprintf("%.0f ms", c.LossWindowMs.P95), debt, ratio, c.Wrong})
	}
	_ = render(w, t, 1) // what follows fails as well
	for _, g := range d.Gates {
		if g.Holds {
			fmt.Fprintf(w, "holds  %s\n", g.Name)
		} else {
			fmt.Fprintf(w, "FAILS  %s: %s\n", g.Name, g.Why)
		}
	}
	fmt.Fprintln(w)
}
