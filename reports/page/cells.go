package page

import (
	"fmt"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// verdictRule defines the verdicts, up to what the floor of an invocation is.
const verdictRule = "Brackets hold the 95 % interval of the median, or the extremes where there are fewer than six runs. Verdicts: equivalent where the interval of the ratio lies within ±5 %; faster or slower where it excludes 1, still does after Holm's correction over all comparisons of that figure, and the ratio lies beyond the noise floor; else undecided."

// cells is the table of all cells, one per experiment: the figures with their
// intervals and the verdicts against the base.
func cells(v *view) (Panel, error) {
	p := Panel{
		Lead:    "Every cell of every experiment. A verdict compares a cell with the base of its experiment, block by block; it is given from six blocks in common on. " + pairedWords,
		Caption: verdictRule + " " + v.floorRule() + " " + boundRule,
		Open:    true,
	}
	total := 0
	for _, e := range v.Experiments {
		if len(e.Cells) == 0 {
			continue
		}
		p.Tables = append(p.Tables, v.overview(e))
		total += len(e.Cells)
	}
	if total == 0 {
		return p, &MissingError{"the plan holds no cells"}
	}
	p.Notes = noted(p.Notes, beforehandNote(v, v.Experiments))
	p.Title = fmt.Sprintf("%d cells in %d %s", total, len(p.Tables), plural(len(p.Tables), "experiment"))
	return p, nil
}

// shownMetric is one pair of columns of the overview.
type shownMetric struct {
	m      dataset.Metric
	column Column
	f      chart.Format
}

// overviewMetrics are the figures by which an experiment of a kind is judged.
func overviewMetrics(e *dataset.Experiment) []shownMetric {
	all := []shownMetric{
		{dataset.Produce, num("produce", "records/s"), chart.Count},
		{dataset.Fetch, num("fetch", "records/s"), chart.Count},
		{dataset.ProduceCost, num("broker cost", "core-s per M records"), chart.Plain},
	}
	if e.Kind == result.Paced {
		all = []shownMetric{
			{dataset.P50, lasting("p50 response"), chart.Nanoseconds},
			{dataset.P99, lasting("p99 response"), chart.Nanoseconds},
			{dataset.E2EP99, lasting("p99 end to end"), chart.Nanoseconds},
		}
	}
	var out []shownMetric
	for _, s := range all {
		if measured(e, s.m) {
			out = append(out, s)
		}
	}
	return out
}

func (v *view) overview(e *dataset.Experiment) Table {
	shown := overviewMetrics(e)
	t := Table{Name: heading(e), About: e.About, Columns: []Column{text("cell")}}
	for _, s := range shown {
		t.Columns = append(t.Columns, s.column)
		if compared(e, s.m) {
			t.Columns = append(t.Columns, paired("against base"))
		}
	}
	t.Columns = append(t.Columns, text("bound by"), text("runs"))
	for _, c := range ordered(e) {
		name := nameCell(e, c)
		if c.Base {
			name = word("base")
			if config := baseConfig(e); config != "base" {
				name = name.small(config)
			}
		}
		line := []Cell{name}
		for _, s := range shown {
			i := c.Interval(s.m)
			figure, said := number(nan, ""), word("–")
			if i.N > 0 {
				figure, said = number(i.Median, s.f(i.Median)).small(bracket(i, s.f)+validWords(c, s)), against(c, s.m)
			}
			line = append(line, figure)
			if compared(e, s.m) {
				line = append(line, said)
			}
		}
		class := baseClass(c)
		if len(c.Usable) == 0 {
			class = "grey"
		}
		bound, beside := v.boundWord(c)
		t.add(class, append(line, word(bound).small(beside), runsCell(c))...)
	}
	return t
}

// validWords are the figure of a cell's valid runs alone, where some are degraded and
// enough are not.
func validWords(c *dataset.Cell, s shownMetric) string {
	i, ok := c.Valid(s.m)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; the %d valid alone %s %s", i.N, s.f(i.Median), bracket(i, s.f))
}

// compared reports whether any cell has a verdict in a metric.
func compared(e *dataset.Experiment, m dataset.Metric) bool {
	for _, c := range e.Cells {
		if _, ok := c.Pair(m); ok {
			return true
		}
	}
	return false
}

// against is the verdict on a cell in one metric.
func against(c *dataset.Cell, m dataset.Metric) Cell {
	if c.Base {
		return word("base").class("base")
	}
	p, ok := c.Pair(m)
	if !ok {
		return word("–")
	}
	said := word(verdictOf(c, m.Name, p)).class(string(p.Verdict))
	if p.Verdict != result.TooFew { // extremes of a few runs would pass for a finding
		said = said.small(changes(p.Ratio))
	}
	return said
}

// runsCell says how many runs were used and what is wrong with the others.
func runsCell(c *dataset.Cell) Cell {
	if len(c.Failures) > 0 {
		return word(fmt.Sprint(len(c.Usable))).small(fmt.Sprintf("%d failed", len(c.Failures))).class("invalid")
	}
	if len(c.Runs) == 0 {
		return word("did not run").class("invalid")
	}
	s := word(fmt.Sprint(len(c.Usable)))
	d, bad := degraded(c), len(c.Runs)-len(c.Usable)
	switch {
	case bad > 0 && d > 0:
		return s.small(fmt.Sprintf("%d degraded, %d invalid", d, bad)).class("invalid")
	case bad > 0:
		return s.small(fmt.Sprintf("%d invalid", bad)).class("invalid")
	case d > 0:
		return s.small(fmt.Sprintf("%d degraded", d)).class("degraded")
	}
	return s
}
