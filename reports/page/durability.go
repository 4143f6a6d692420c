package page

import (
	"fmt"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// durability sets what a fault loses against the throughput without one, for every
// cell of the experiment whose cells were tested.
func durability(v *view) (Panel, error) {
	d := v.Durability
	if d == nil || d.Done == 0 {
		return Panel{}, &MissingError{"the suite had no trials of what a fault loses"}
	}
	e := v.Experiment(d.Experiment)
	if e == nil {
		return Panel{}, fmt.Errorf("the trials tested cells of %s, which the folder does not hold", d.Experiment)
	}
	p := Panel{
		Title: lossTitle(d),
		Lead: fmt.Sprintf("Each trial puts one broker with a topic for every cell under load, brings the %s at a random moment, starts the broker again and reads everything. "+
			"A trial counts once for each cell, however many records it lost: records within one are not independent.", result.FaultWords(d.Fault)),
		Caption: fmt.Sprintf("n = %d trials per cell; across: %s; up: share of trials that lost an acknowledged record, Clopper–Pearson 95 %% interval. "+
			"None seen is no zero: the arrow starts at the one-sided 95 %% bound. Names and horizontal intervals stand above their mark where they would lie over each other.", d.Done, throughputWords(e)),
	}
	keys := inks(e)
	p.Figures = append(p.Figures, draw("Throughput without a fault against the chance of a loss", keys.legend(), tradeoff(v, e, d, keys)))
	if chart, ok := debtChart(v, d, keys); ok {
		p.Figures = append(p.Figures, draw("What the broker counted as not yet durable, and what was lost", nil, chart))
		p.Caption += " Below: one mark for each trial and cell; above the dashed line more would be lost than the broker knew of."
	}
	p.Notes = durabilityNotes(d)
	p.Tables = []Table{lossTable(e, d), gatesTable(d)}
	p.Open = true
	return p, nil
}

// lossTitle says what was seen, for the cells that wait for the disk and for the
// others.
func lossTitle(d *result.Durability) string {
	keeps, loses := lossWords(d, true), lossWords(d, false)
	switch {
	case keeps == "":
		return "Cells that leave flushing to the system " + loses
	case loses == "":
		return "No cell may lose a record here, and they " + keeps
	}
	return "Cells that wait for the disk " + keeps + "; those that leave it to the system " + loses
}

// lossWords tells of one half of the cells; empty where there is none.
func lossWords(d *result.Durability, keeps bool) string {
	least, most, cells := -1, 0, 0
	bound := 0.0
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Keeps != keeps || c.Trials == 0 {
			continue
		}
		cells++
		if least < 0 || c.Lossy < least {
			least = c.Lossy
		}
		most, bound = max(most, c.Lossy), max(bound, c.Loss.High)
	}
	trials := fmt.Sprintf("%d %ss", d.Done, result.FaultWords(d.Fault))
	switch {
	case cells == 0:
		return ""
	case most == 0:
		return fmt.Sprintf("lost nothing in %s (at most %s each)", trials, chart.Percent(bound))
	case least == most && most == d.Done:
		return fmt.Sprintf("lost acknowledged records in each of %s", trials)
	case least == most:
		return fmt.Sprintf("lost acknowledged records in %d of %s", most, trials)
	}
	return fmt.Sprintf("lost acknowledged records in %d to %d of %s", least, most, trials)
}

// throughputWords says what the horizontal intervals are.
func throughputWords(e *dataset.Experiment) string {
	var ns []int
	words := "no interval"
	for _, c := range e.Cells {
		if i := c.Interval(dataset.Produce); i.N > 0 {
			ns = append(ns, i.N)
			words = how(i)
		}
	}
	return words + ", " + samples(ns)
}

// durabilityNotes are what bounds the figures.
func durabilityNotes(d *result.Durability) []string {
	var out []string
	if d.Done < d.Planned {
		out = append(out, fmt.Sprintf("%d of %d planned trials have an outcome.", d.Done, d.Planned))
	}
	for _, f := range d.Failed {
		out = append(out, fmt.Sprintf("Trial %d (seed %d) has no outcome: %s.", f.Number, f.Seed, f.Error))
	}
	if d.Fault == result.PowerCut {
		out = append(out, "The cut is made of the broker's own files: what it synced stays, of what it did not a random part of sectors or pages. "+
			"What the system writes back by itself within seconds is not taken as durable, so that a cell that leaves flushing to it is shown near its worst.")
	}
	return append(out, "Throughput was measured apart, with the machine to the cell alone and batches of the raw driver; the trials run all cells at once at a fixed rate.")
}

// lossTable is a cell on each line.
func lossTable(e *dataset.Experiment, d *result.Durability) Table {
	t := Table{Name: "loss and throughput", Columns: []Column{
		text("cell"), num("throughput", "records/s"), text("trials that lost a record"), num("lost, median", "records"), num("lost, p95", "records"),
		num("loss window, median", "ms"), num("p95", "ms"), num("unavailable, median", "ms"), num("debt, mean", "records"), num("debt ÷ loss", ""), num("records wrong", ""),
	}}
	whole := func(v float64) Cell { return number(v, chart.Count(v)) }
	median := func(s result.Spread) Cell {
		c := whole(s.Median)
		if s.Max > 0 {
			c = c.small("[" + chart.Count(s.Low) + ", " + chart.Count(s.High) + "]")
		}
		return c
	}
	for i := range d.Cells {
		l := &d.Cells[i]
		rate := number(nan, "")
		if c := e.Cell(l.Cell); c != nil {
			if x := c.Interval(dataset.Produce); x.N > 0 {
				rate = number(x.Median, chart.Count(x.Median)).small(bracket(x, chart.Count))
			}
		}
		debt, ratio := number(nan, ""), number(nan, "")
		if l.Known > 0 {
			debt = whole(l.Debt.Mean)
		}
		if l.DebtPerLoss > 0 {
			ratio = number(l.DebtPerLoss, chart.Plain(l.DebtPerLoss))
		}
		t.add("", word(strings.ReplaceAll(l.Label, " ", nbsp)), rate, word(l.Counted()), median(l.Records), whole(l.Records.P95), median(l.LossWindowMs), whole(l.LossWindowMs.P95),
			whole(l.UnavailableMs.Median), debt, ratio, whole(float64(l.Wrong)))
	}
	return t
}

// gatesTable is what had to hold.
func gatesTable(d *result.Durability) Table {
	t := Table{Name: "what must hold", Columns: []Column{text("statement"), text("holds"), text("seen")}}
	for _, g := range d.Gates {
		if g.Holds {
			t.add("", word(g.Name), word("yes").class("valid"), word(g.Why))
		} else {
			t.add("", word(g.Name), word("no").class("invalid"), word(g.Why))
		}
	}
	return t
}

// trialsTile counts the trials and says whether what must hold does.
func trialsTile(d *result.Durability) Tile {
	failed := 0
	for _, g := range d.Gates {
		if !g.Holds {
			failed++
		}
	}
	t := Tile{Name: result.FaultWords(d.Fault) + "s", Value: fmt.Sprintf("%d of %d", d.Done, d.Planned), Small: fmt.Sprintf("all %d gates hold", len(d.Gates))}
	if failed > 0 {
		t.Small = fmt.Sprintf("%d of %d gates do not hold", failed, len(d.Gates))
	}
	return t
}

// losses are the sentences of the conclusion on what faults lose.
func losses(v *view) []Statement {
	d := v.Durability
	if d == nil || d.Done == 0 {
		return nil
	}
	subject := "acknowledged records after a " + result.FaultWords(d.Fault)
	name := d.Experiment
	if e := v.Experiment(d.Experiment); e != nil {
		name = heading(e)
	}
	out := []Statement{{Experiment: name, Subject: subject, Kind: "measured", Text: lossTitle(d) + "."}}
	for _, g := range d.Gates {
		if !g.Holds {
			out = append(out, Statement{Experiment: name, Subject: subject, Kind: "slower", Text: "What must hold does not: " + g.Name + " (" + g.Why + ")."})
		}
	}
	return out
}
