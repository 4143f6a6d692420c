package page

import (
	"fmt"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// view is one invocation as the panels see it.
type view struct {
	*dataset.Invocation
}

// experiments are those with at least one cell that satisfies keep.
func (v *view) experiments(keep func(*dataset.Experiment) bool) []*dataset.Experiment {
	var out []*dataset.Experiment
	for _, e := range v.Experiments {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// measured reports whether any cell of an experiment has the metric.
func measured(e *dataset.Experiment, m dataset.Metric) bool {
	for _, c := range e.Cells {
		if c.Interval(m).N > 0 {
			return true
		}
	}
	return false
}

// saturating experiments are judged by throughput; paced ones by latency.
func saturating(e *dataset.Experiment) bool { return e.Kind != result.Paced }

// axisOf returns the name of the experiment's axis whose name holds one of the
// words and that has several values; empty where there is none.
func axisOf(e *dataset.Experiment, words ...string) string {
	for _, a := range e.Axes {
		for _, w := range words {
			if strings.Contains(a.Name, w) && len(a.Values) > 1 {
				return a.Name
			}
		}
	}
	return ""
}

// along are the cells that differ from the base in this axis alone, and the base
// first. In an experiment without a base they are the cells that have the axis.
func along(e *dataset.Experiment, axis string) []*dataset.Cell {
	var out []*dataset.Cell
	if e.Base != nil {
		out = append(out, e.Base)
	}
	for _, c := range e.Cells {
		if _, ok := c.Axes[axis]; ok && !c.Base && (len(c.Axes) == 1 || e.Base == nil) {
			out = append(out, c)
		}
	}
	return out
}

// valueOf is a cell's value on an axis: its own, or the base's, which is the
// axis' first.
func valueOf(e *dataset.Experiment, c *dataset.Cell, axis string) string {
	if v, ok := c.Axes[axis]; ok {
		return v
	}
	for _, a := range e.Axes {
		if a.Name == axis && len(a.Values) > 0 {
			return a.Values[0]
		}
	}
	return c.Config[axis]
}

// rowName splits a cell's name into the heading it stands under and its own: the
// axis and its value where it differs in one, else its label.
func rowName(c *dataset.Cell) (group, label string) {
	if c.Base {
		return "", "base"
	}
	if len(c.Axes) == 1 {
		for name, value := range c.Axes {
			return name, value
		}
	}
	if len(c.Axes) > 1 {
		return "several at once", c.Label
	}
	return "", c.Label
}

// rowGroup is the heading of a row: its axis, and that batches were compressed
// beforehand.
func rowGroup(c *dataset.Cell) string {
	group, _ := rowName(c)
	if precompressed(c) && strings.Contains(group, "compression") {
		group += ", beforehand"
	}
	return group
}

// nameCell is a cell's name in a table.
func nameCell(e *dataset.Experiment, c *dataset.Cell) Cell {
	name := word(axes(c, e.Axes))
	switch {
	case brokerless(e, c):
		return name.small(limitOnly)
	case precompressed(c):
		return name.small(beforehand)
	}
	return name
}

// ordered are the cells with the base first and the cells of one axis together,
// in the order of the plan.
func ordered(e *dataset.Experiment) []*dataset.Cell {
	rank := map[string]int{"": -1}
	for i, a := range e.Axes {
		rank[a.Name] = i
	}
	cells := append([]*dataset.Cell(nil), e.Cells...)
	place := func(c *dataset.Cell) int {
		group, _ := rowName(c)
		if c.Base {
			return -2
		}
		if r, ok := rank[group]; ok {
			return r
		}
		return len(rank)
	}
	sort.SliceStable(cells, func(a, b int) bool { return place(cells[a]) < place(cells[b]) })
	return cells
}

// heading names an experiment over a picture: its name, record size and kind.
func heading(e *dataset.Experiment) string {
	parts := []string{e.Name}
	if size := recordSize(e); size > 0 {
		parts = append(parts, chart.Bytes(float64(size))+" records")
	}
	if k := kindWord(e); k != "" && !strings.Contains(e.Name, string(e.Kind)) {
		parts = append(parts, k)
	}
	return strings.Join(parts, " · ")
}

func kindWord(e *dataset.Experiment) string {
	switch e.Kind {
	case result.Burst:
		return "burst cells"
	case result.Sustained:
		return "sustained"
	case result.Paced:
		return "fixed rate"
	}
	return ""
}

// recordSize is the size in bytes of the values of an experiment, 0 where cells
// differ.
func recordSize(e *dataset.Experiment) int64 {
	size := int64(0)
	for _, c := range e.Cells {
		for _, r := range c.Runs {
			if size != 0 && r.Records.SizeBytes != size {
				return 0
			}
			size = r.Records.SizeBytes
		}
	}
	return size
}

// baseConfig describes the base in the words of the axes.
func baseConfig(e *dataset.Experiment) string {
	var parts []string
	for _, a := range e.Axes {
		if len(a.Values) > 0 {
			parts = append(parts, a.Name+"="+a.Values[0])
		}
	}
	if len(parts) == 0 && e.Base != nil {
		return e.Base.Label
	}
	return strings.Join(parts, ", ")
}

// estimate turns an interval into what a chart draws.
func estimate(i result.Interval) chart.Interval {
	return chart.Interval{Value: i.Median, Low: i.Low, High: i.High, Bounded: i.N > 1 && i.How != "none"}
}

// row is a cell's line in a chart of cells. Cells without a usable run stay in
// view, grey, with the reason.
func row(e *dataset.Experiment, c *dataset.Cell, m dataset.Metric, f chart.Format) chart.Row {
	_, label := rowName(c)
	if brokerless(e, c) {
		label += " (" + limitOnly + ")"
	}
	i := c.Interval(m)
	a := look(c, m)
	r := chart.Row{
		Group: rowGroup(c), Label: label, Value: estimate(i), Runs: c.Values(m),
		Ink: a.ink, Shape: a.shape, Hollow: a.hollow, Bold: c.Base,
	}
	for _, o := range c.Outliers(m) {
		r.Outliers = append(r.Outliers, o.Value)
	}
	if i.N == 0 {
		r.Ink, r.Value.Value = chart.Grey, nan
		r.Tip = label + ": no usable run: " + reason(c)
		r.Note = shortened("no usable run: " + reason(c))
		return r
	}
	if p, ok := c.Pair(m); ok {
		r.Note = verdictOf(c, m.Name, p)
		r.Tip = fmt.Sprintf("%s: %s %s, n = %d; against base, paired by block, %s (%s)", axes(c, e.Axes), f(i.Median), bracket(i, f), i.N, r.Note, changes(p.Ratio))
	} else {
		r.Tip = fmt.Sprintf("%s: %s %s, n = %d", axes(c, e.Axes), f(i.Median), bracket(i, f), i.N)
	}
	if d := degraded(c); d > 0 {
		r.Note = strings.TrimPrefix(fmt.Sprintf("%s · %d degraded", r.Note, d), " · ")
	}
	return r
}

// shortened cuts a note to what a picture has room for; the table holds it whole.
func shortened(s string) string {
	const most = 44
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func degraded(c *dataset.Cell) int {
	n := 0
	for _, r := range c.Usable {
		if r.Status == result.Degraded {
			n++
		}
	}
	return n
}

// reason is why a cell has no usable run.
func reason(c *dataset.Cell) string {
	if len(c.Runs)+len(c.Failures) == 0 {
		return "it did not run"
	}
	seen := map[string]bool{}
	var out []string
	add := func(why string) {
		if why != "" && !seen[why] {
			seen[why] = true
			out = append(out, why)
		}
	}
	for _, r := range c.Runs {
		for _, why := range r.Reasons {
			add(why)
		}
	}
	for _, why := range c.Failures {
		add(why)
	}
	if len(out) == 0 {
		return "no such figure was taken"
	}
	return strings.Join(out, "; ")
}

// counts are the sample sizes of the cells that have the metric.
func counts(cells []*dataset.Cell, m dataset.Metric) []int {
	var out []int
	for _, c := range cells {
		if n := c.Interval(m).N; n > 0 {
			out = append(out, n)
		}
	}
	return out
}

// howOf explains the intervals of the cells that have the metric, each kind once.
func howOf(cells []*dataset.Cell, m dataset.Metric) string {
	var kinds []string
	seen := map[string]bool{}
	for _, c := range cells {
		if i := c.Interval(m); i.N > 0 && !seen[i.How] {
			seen[i.How] = true
			kinds = append(kinds, how(i))
		}
	}
	if len(kinds) == 0 {
		return "no interval"
	}
	return strings.Join(kinds, ", or ")
}
