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
			"A trial counts once for each cell, however many records it lost: records within one are not independent.", faultWords(d.Fault)),
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
	trials := fmt.Sprintf("%d %ss", d.Done, faultWords(d.Fault))
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

// faultWords is a fault in words.
func faultWords(fault string) string { return strings.ReplaceAll(fault, "_", " ") }

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

// looks gives the values of an experiment's first axis a colour each, and those of
// its second a shape.
type looks struct {
	e      *dataset.Experiment
	colour map[string]chart.Ink
	shape  map[string]chart.Shape
}

func inks(e *dataset.Experiment) looks {
	l := looks{e, map[string]chart.Ink{}, map[string]chart.Shape{}}
	shapes := []chart.Shape{chart.Circle, chart.Square, chart.Diamond, chart.Triangle, chart.Down}
	if len(e.Axes) > 0 {
		for i, value := range e.Axes[0].Values {
			l.colour[value] = chart.Series(i)
		}
	}
	if len(e.Axes) > 1 {
		for i, value := range e.Axes[1].Values {
			l.shape[value] = shapes[i%len(shapes)]
		}
	}
	return l
}

func (l looks) of(cell string) (chart.Ink, chart.Shape) {
	c := l.e.Cell(cell)
	if c == nil || len(l.e.Axes) == 0 {
		return chart.Series(0), chart.Circle
	}
	ink, shape := l.colour[c.Config[l.e.Axes[0].Name]], chart.Circle
	if len(l.e.Axes) > 1 {
		shape = l.shape[c.Config[l.e.Axes[1].Name]]
	}
	return ink, shape
}

func (l looks) legend() (keys []chart.Key) {
	if len(l.e.Axes) > 0 {
		for _, value := range l.e.Axes[0].Values {
			keys = append(keys, chart.Key{Label: l.e.Axes[0].Name + "=" + value, Ink: l.colour[value], Patch: true, Shape: chart.None})
		}
	}
	if len(l.e.Axes) > 1 {
		for _, value := range l.e.Axes[1].Values {
			keys = append(keys, chart.Key{Label: l.e.Axes[1].Name + "=" + value, Ink: chart.Grey, Shape: l.shape[value]})
		}
	}
	return keys
}

// tradeoff is the picture: throughput without a fault against the chance of a loss.
func tradeoff(v *view, e *dataset.Experiment, d *result.Durability, keys looks) chart.Scatter {
	s := chart.Scatter{
		Title:    "Throughput against the chance of a loss",
		Describe: lossTitle(d) + ".",
		X:        chart.AxisSpec{Label: "records per second acknowledged without a fault", Format: chart.Count},
		Y: chart.AxisSpec{Label: fmt.Sprintf("chance that a %s loses an acknowledged record", faultWords(d.Fault)), Log: true, Format: chart.Percent,
			Min: 0.01, Max: topOfChance, Ticks: percents(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)},
	}
	least := 1.0
	for i := range d.Cells {
		l := &d.Cells[i]
		c := e.Cell(l.Cell)
		if c == nil || l.Trials == 0 || c.Interval(dataset.Produce).N == 0 {
			continue
		}
		x := c.Interval(dataset.Produce)
		ink, shape := keys.of(l.Cell)
		spot := chart.Spot{Name: l.Label, X: estimate(x), Below: l.Lossy == 0, Ink: ink, Shape: shape,
			Y:   chart.Interval{Value: l.Loss.Estimate, Low: l.Loss.Low, High: l.Loss.High, Bounded: true},
			Tip: fmt.Sprintf("%s: %s records/s %s; lost in %s", l.Label, chart.Count(x.Median), bracket(x, chart.Count), l.Counted())}
		if spot.Below {
			least = min(least, l.Loss.High)
		} else {
			least = min(least, l.Loss.Low)
		}
		s.Spots = append(s.Spots, spot)
	}
	for s.Y.Min*3 > least { // room for the arrows, and for a bound of many trials
		s.Y.Min /= 10
		s.Y.Ticks = append(percents(s.Y.Min, 2*s.Y.Min, 5*s.Y.Min), s.Y.Ticks...)
	}
	return s
}

// topOfChance leaves room above 100 % for names and intervals that are set apart.
const topOfChance = 4.5

func percents(values ...float64) (out []chart.Tick) {
	for _, v := range values {
		out = append(out, chart.Tick{Value: v, Label: chart.Percent(v)})
	}
	return out
}

// debtChart sets the debt at each fault against what it lost; ok is false where the
// broker did not count it.
func debtChart(v *view, d *result.Durability, keys looks) (chart.Lines, bool) {
	l := chart.Lines{
		Title:    "Debt at the fault against records lost",
		Describe: "One mark for each trial and cell. The dashed line is where both are equal.",
		X:        chart.AxisSpec{Label: "acknowledged records that the broker counted as not yet durable", Format: chart.Count},
		Y:        chart.AxisSpec{Label: "acknowledged records lost", Format: chart.Count},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 320},
	}
	most := 0.0
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Known == 0 || c.Debt.Max == 0 {
			continue
		}
		ink, shape := keys.of(c.Cell)
		s := chart.LineSeries{Name: c.Label, MarksOnly: true, Ink: ink, Shape: shape, Hollow: true}
		for _, t := range v.Trials {
			if t.Cell == c.Cell && t.Debt >= 0 {
				s.Points = append(s.Points, chart.At(float64(t.Debt), float64(t.Lost)))
				most = max(most, float64(t.Debt))
			}
		}
		l.Series = append(l.Series, s)
	}
	if most == 0 {
		return l, false
	}
	l.Series = append(l.Series, chart.LineSeries{Name: "loss = debt", Points: []chart.Point{chart.At(0, 0), chart.At(most, most)},
		Ink: chart.Ceiling, Shape: chart.None, Dashes: []float64{5, 3}, Thin: true, Label: true})
	return l, true
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
		t.add("", word(strings.ReplaceAll(l.Label, " ", nbsp)), rate, word(l.Counted()), whole(l.Records.Median), whole(l.Records.P95), whole(l.LossWindowMs.Median), whole(l.LossWindowMs.P95),
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
	t := Tile{Name: faultWords(d.Fault) + "s", Value: fmt.Sprintf("%d of %d", d.Done, d.Planned), Small: fmt.Sprintf("all %d gates hold", len(d.Gates))}
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
	subject := "acknowledged records after a " + faultWords(d.Fault)
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
