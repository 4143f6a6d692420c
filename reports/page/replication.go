package page

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// The axes of replication.
const (
	replicasAxis = "replication.factor"
	strategyAxis = "replication.strategy"
	followerAxis = "follower.rate"
)

// varies reports whether an experiment has the axis with several values.
func varies(e *dataset.Experiment, axis string) bool {
	for _, a := range e.Axes {
		if a.Name == axis && len(a.Values) > 1 {
			return true
		}
	}
	return false
}

// strategic are the experiments that set strategies against a slow follower.
func strategic(v *view) []*dataset.Experiment {
	return v.experiments(func(e *dataset.Experiment) bool {
		return varies(e, strategyAxis) && varies(e, followerAxis) && measured(e, dataset.Produce)
	})
}

// copying are the saturating experiments that differ in the number of replicas.
func copying(v *view) []*dataset.Experiment {
	return v.experiments(func(e *dataset.Experiment) bool {
		return saturating(e) && varies(e, replicasAxis) && e.Base != nil && measured(e, dataset.ProduceCost)
	})
}

// replicated shows what copies cost, and what each strategy makes of one slow
// follower.
func replicated(v *view) (Panel, error) {
	exps := strategic(v)
	if len(exps)+len(copying(v)) == 0 {
		return Panel{}, &MissingError{"no experiment varied the number of replicas, or the strategy with a slow follower"}
	}
	p := Panel{
		Title: replicationTitle(v),
		Lead: "A slow follower gets a fixed number of bytes a second of what its leader sends; the other follower and the leader are as they were. " +
			"Per cents are of the same strategy with both followers well, paired by block. Where all brokers share a machine, a follower that gets less leaves more of it to the others, so a strategy that does not wait may gain.",
	}
	for _, e := range exps {
		switch {
		case saturating(e):
			p.Figures = append(p.Figures, strategyChart(e))
			p.Tables = append(p.Tables, strategyTable(e))
			fig, err := v.slowCourse(e)
			if err != nil {
				return p, err
			}
			p.Figures = append(p.Figures, fig)
		default:
			fig, err := v.strategySpectra(e)
			if err != nil {
				return p, err
			}
			p.Figures = append(p.Figures, fig)
			p.Tables = append(p.Tables, strategyLatencies(e))
		}
		if e.About != "" {
			p.Notes = append(p.Notes, e.Name+": "+e.About)
		}
	}
	for _, e := range copying(v) {
		p.Tables = append(p.Tables, copiesTable(e))
		p.Notes = noted(p.Notes, copiesNote(e))
	}
	p.Caption = replicationCaption(exps)
	return p, nil
}

func replicationCaption(exps []*dataset.Experiment) string {
	var cells []*dataset.Cell
	for _, e := range exps {
		cells = append(cells, e.Cells...)
	}
	if len(cells) == 0 {
		return ""
	}
	return fmt.Sprintf("%s; %s. Dots are single runs, each with fresh processes and data directories.", capital(howOf(cells, dataset.Produce)), samples(counts(cells, dataset.Produce)))
}

// twin is the cell of the same strategy whose follower is well; nil for such a cell
// itself.
func twin(e *dataset.Experiment, c *dataset.Cell) *dataset.Cell {
	if !slowed(e, c) {
		return nil
	}
	for _, o := range e.Cells {
		if !slowed(e, o) && valueOf(e, o, strategyAxis) == valueOf(e, c, strategyAxis) && !o.AA {
			return o
		}
	}
	return nil
}

func slowed(e *dataset.Experiment, c *dataset.Cell) bool { return valueOf(e, c, followerAxis) != "max" }

// followers says how the followers of a cell are.
func followers(e *dataset.Experiment, c *dataset.Cell) string {
	if slowed(e, c) {
		return "one slow"
	}
	return "both well"
}

// byStrategy are the cells of the strategies in the order of the axis, of each the
// one with both followers well first.
func byStrategy(e *dataset.Experiment) (out []*dataset.Cell) {
	for _, strategy := range strategies(e) {
		for _, slow := range []bool{false, true} {
			for _, c := range e.Cells {
				if valueOf(e, c, strategyAxis) == strategy && slowed(e, c) == slow && !c.AA {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

func strategies(e *dataset.Experiment) []string {
	for _, a := range e.Axes {
		if a.Name == strategyAxis {
			return a.Values
		}
	}
	return nil
}

// strategyInk is a strategy's colour, the same in every picture.
func strategyInk(e *dataset.Experiment, c *dataset.Cell) chart.Ink {
	for i, s := range strategies(e) {
		if s == valueOf(e, c, strategyAxis) {
			return chart.Series(i)
		}
	}
	return chart.Grey
}

// strategyChart is throughput with both followers well and with a slow one.
func strategyChart(e *dataset.Experiment) Figure {
	c := chart.Rows{
		Title:    heading(e) + ": throughput of every strategy with a slow follower and without",
		Describe: "Two rows per strategy: both followers well, and one slow. " + capital(howOf(e.Cells, dataset.Produce)) + ".",
		X:        chart.AxisSpec{Label: "records per second acknowledged", Format: chart.Count, Min: 0, Max: nan},
	}
	for _, cell := range byStrategy(e) {
		r := row(e, cell, dataset.Produce, chart.Count)
		r.Group, r.Label, r.Note, r.Bold = valueOf(e, cell, strategyAxis), followers(e, cell), "", false
		r.Ink, r.Shape, r.Hollow = strategyInk(e, cell), chart.Circle, slowed(e, cell)
		if t := twin(e, cell); t != nil {
			r.Note = shareWords(dataset.Ratio(cell, t, dataset.Produce))
		}
		c.Rows = append(c.Rows, r)
	}
	keys := []chart.Key{{Label: "both followers well", Ink: chart.Text, Shape: chart.Circle}, {Label: "one follower slow", Ink: chart.Text, Shape: chart.Circle, Hollow: true}}
	return draw(heading(e), keys, c)
}

// shareWords is a ratio as a share of what it was.
func shareWords(i result.Interval) string {
	switch i.N {
	case 0:
		return ""
	case 1:
		return chart.Percent(i.Median)
	}
	return fmt.Sprintf("%s [%s, %s]", chart.Percent(i.Median), chart.Plain(100*i.Low), chart.Plain(100*i.High))
}

// slowCourse is the throughput over time of the cells with a slow follower: the
// median over runs of each interval.
func (v *view) slowCourse(e *dataset.Experiment) (Figure, error) {
	c := chart.Lines{
		Title:    heading(e) + ": throughput over time with a slow follower",
		Describe: "At each interval the median over runs of the records acknowledged per second.",
		X:        chart.AxisSpec{Label: "seconds since the load began"},
		Y:        chart.AxisSpec{Label: "records per second", Format: chart.Count, Min: 0, Max: nan},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 300},
	}
	for _, cell := range byStrategy(e) {
		if !slowed(e, cell) {
			continue
		}
		points, err := v.medianCourse(cell)
		if err != nil {
			return Figure{}, err
		}
		c.Series = append(c.Series, chart.LineSeries{Name: valueOf(e, cell, strategyAxis), Points: points, Ink: strategyInk(e, cell), Shape: chart.None, Label: true})
	}
	return draw("One follower slow: over time", nil, c), nil
}

// medianCourse is the median over a cell's runs of each interval that all have.
func (v *view) medianCourse(cell *dataset.Cell) (points []chart.Point, err error) {
	var at []float64
	var rates [][]float64
	for _, r := range cell.Usable {
		rows, err := v.Series(r)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for n, row := range underLoad(rows) {
			if n == len(rates) {
				at, rates = append(at, middle(row)), append(rates, nil)
			}
			rates[n] = append(rates[n], perSecond(row.Acked, row))
		}
	}
	for i, values := range rates {
		if len(values) == len(rates[0]) {
			points = append(points, chart.At(at[i], middleOf(values)))
		}
	}
	return points, nil
}

// replicationTitle says what a slow follower leaves of each strategy's throughput,
// and what copies cost.
func replicationTitle(v *view) string {
	var parts []string
	for _, e := range strategic(v) {
		if !saturating(e) {
			continue
		}
		if said := slowWords(e); said != "" {
			parts = append(parts, said)
		}
	}
	for _, e := range copying(v) {
		if said := copiesWords(e); said != "" {
			parts = append(parts, said)
		}
	}
	return strings.Join(parts, "; ")
}

// slowWords say what a slow follower leaves of each strategy's throughput, those first
// whose interval shows a difference.
func slowWords(e *dataset.Experiment) string {
	var shown, open []string
	for _, c := range byStrategy(e) {
		t := twin(e, c)
		if t == nil {
			continue
		}
		i := dataset.Ratio(c, t, dataset.Produce)
		said := valueOf(e, c, strategyAxis) + " " + shareWords(i)
		switch {
		case i.N == 0:
		case differs(i):
			shown = append(shown, said)
		default:
			open = append(open, said)
		}
	}
	var parts []string
	if len(shown) > 0 {
		parts = append(parts, "One slow follower leaves "+list(shown)+" of the throughput")
	}
	if len(open) > 0 {
		parts = append(parts, "no difference is shown by one slow follower for "+list(open))
	}
	return capital(strings.Join(parts, "; "))
}

// differs reports whether an interval of enough blocks excludes "no difference".
func differs(i result.Interval) bool {
	return i.N >= dataset.LeastBlocks && (i.Low > 1 || i.High < 1)
}
