package page

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

var nan = math.NaN()

// throughput shows records per second of every cell with its interval, its single
// runs, the base's interval as a band and the calibrated ceilings.
func throughput(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.Produce) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation produced records"}
	}
	p := Panel{
		Title: seen(exps, dataset.Produce, "records per second produced"),
		Lead:  burstLead(exps),
	}
	var cells []*dataset.Cell
	for _, e := range exps {
		kinds := []*ceiling{loopbackCeiling, storeCeiling, writeCeiling}
		if e.Kind == result.Sustained {
			kinds = append(kinds, diskCeiling)
		}
		lines, beyond := v.ceilings(e, dataset.Produce, kinds...)
		p.Figures = append(p.Figures, cellsChart(e, dataset.Produce, "records per second acknowledged", chart.Count, lines))
		if beyond != "" {
			p.Notes = append(p.Notes, heading(e)+": beyond the axis lie "+beyond+".")
		}
		p.Notes = noted(p.Notes, outliers(e, dataset.Produce, chart.Count))
		p.Tables = append(p.Tables, cellsTable(e, dataset.Produce, "records/s", chart.Count))
		cells = append(cells, e.Cells...)
	}
	p.Notes = append(p.Notes, v.noCeilings(exps, loopbackCeiling, storeCeiling, writeCeiling)...)
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Caption = caption(cells, dataset.Produce) + " Dashed lines are what this machine reaches without a broker, converted to records of the base cell."
	return p, nil
}

// fetch shows how fast records were read back, by read engine where the
// experiment varies it.
func fetch(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.Fetch) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation fetched records"}
	}
	p := Panel{Lead: "A consumer reads back from the start of the log, as fast as it can, what the produce phase wrote."}
	var cells []*dataset.Cell
	var pictured []*dataset.Experiment
	for _, e := range exps {
		shown := *e
		if axis := axisOf(e, "read.engine"); axis != "" {
			shown.Cells = along(e, axis)
		}
		lines, _ := v.ceilings(e, dataset.Fetch, copyCeiling, mappedCeiling, sendfileCeiling)
		p.Figures = append(p.Figures, cellsChart(&shown, dataset.Fetch, "records per second read", chart.Count, lines))
		p.Notes = noted(p.Notes, outliers(e, dataset.Fetch, chart.Count))
		p.Tables = append(p.Tables, cellsTable(e, dataset.Fetch, "records/s", chart.Count))
		cells, pictured = append(cells, shown.Cells...), append(pictured, &shown)
	}
	p.Title = seen(pictured, dataset.Fetch, "records per second read")
	p.Notes = append(p.Notes, v.noCeilings(exps, copyCeiling, mappedCeiling, sendfileCeiling)...)
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Caption = caption(cells, dataset.Fetch) + " The table holds every cell, the picture those that differ in the read engine, where the experiment varies it."
	return p, nil
}

// cellsChart draws one metric of an experiment's cells.
func cellsChart(e *dataset.Experiment, m dataset.Metric, label string, f chart.Format, lines []chart.Line) Figure {
	c := cellRows(e, m, label, f, lines)
	return draw(heading(e), legend(ordered(e), m, c.Band.Bounded), c)
}

// halfChart is the same on half of the page and without notes, where the names of the
// cells leave room for the data.
func halfChart(e *dataset.Experiment, m dataset.Metric, label string, f chart.Format) Figure {
	c := cellRows(e, m, label, f, nil)
	bare := c
	bare.Rows, bare.Width = slices.Clone(c.Rows), chart.Half.Width
	for i := range bare.Rows {
		bare.Rows[i].Note = ""
	}
	half := bare.Fits(bare.Width)
	if half {
		c = bare
	}
	fig := draw(e.Name+", "+label, legend(ordered(e), m, c.Band.Bounded), c)
	fig.Half = half
	return fig
}

func cellRows(e *dataset.Experiment, m dataset.Metric, label string, f chart.Format, lines []chart.Line) chart.Rows {
	c := chart.Rows{
		Title: heading(e) + ": " + label,
		X:     chart.AxisSpec{Label: label, Format: f},
		Lines: lines,
	}
	c.Describe = fmt.Sprintf("One row per cell: a mark at the median, a line for the interval, dots for single runs. %s.", howOf(e.Cells, m))
	for _, cell := range ordered(e) {
		if cell.Interval(m).N > 0 || len(cell.Usable) == 0 {
			c.Rows = append(c.Rows, row(e, cell, m, f))
		}
	}
	if e.Base != nil {
		c.Band = estimate(e.Base.Interval(m))
	}
	return c
}

// cellsTable is the data behind cellsChart.
func cellsTable(e *dataset.Experiment, m dataset.Metric, unit string, f chart.Format) Table {
	t := Table{Name: heading(e), Columns: []Column{
		text("cell"), num("median", unit), num("low", unit), num("high", unit), num("n", "runs"),
		num("ratio to base", "paired, per block"), num("ratio low", ""), num("ratio high", ""), paired("verdict"),
	}}
	for _, c := range ordered(e) {
		i := c.Interval(m)
		name := nameCell(e, c)
		if i.N == 0 {
			if len(c.Usable) == 0 {
				t.add("grey", name, number(nan, ""), number(nan, ""), number(nan, ""), number(0, "0"),
					number(nan, ""), number(nan, ""), number(nan, ""), wordf("no usable run: %s", reason(c)))
			}
			continue
		}
		cells := []Cell{name, number(i.Median, f(i.Median)), number(i.Low, f(i.Low)), number(i.High, f(i.High)), number(float64(i.N), fmt.Sprint(i.N))}
		class := ""
		switch p, ok := c.Pair(m); {
		case c.Base:
			class = "base"
			cells = append(cells, number(1, "1"), number(nan, ""), number(nan, ""), word("base"))
		case ok:
			cells = append(cells, ratio(p.Ratio.Median), ratio(p.Ratio.Low), ratio(p.Ratio.High),
				word(verdictOf(c, m.Name, p)).class(string(p.Verdict)))
		default:
			cells = append(cells, number(nan, ""), number(nan, ""), number(nan, ""), word("not compared"))
		}
		t.add(class, cells...)
	}
	return t
}

func ratio(v float64) Cell {
	if v <= 0 {
		return number(nan, "")
	}
	return number(v, fmt.Sprintf("%.3f", v))
}

// caption states the sample and the interval of a metric.
func caption(cells []*dataset.Cell, m dataset.Metric) string {
	return fmt.Sprintf("%s; %s. Dots are single runs, each with a fresh broker process and data directory, crosses those outside Tukey's fences and a tenth off the median. %s",
		capital(howOf(cells, m)), samples(counts(cells, m)), pairedWords)
}

// noted adds a note that says something.
func noted(notes []string, note string) []string {
	if note == "" {
		return notes
	}
	return append(notes, note)
}

// burstLead says what a burst is where the pictures hold bursts.
func burstLead(exps []*dataset.Experiment) string {
	bursts, sustained := 0, 0
	for _, e := range exps {
		switch e.Kind {
		case result.Burst:
			bursts++
		case result.Sustained:
			sustained++
		}
	}
	switch {
	case bursts > 0 && sustained > 0:
		return "Burst cells write a bounded amount into the page cache: they show what the code path takes, not what the disk sustains. The sustained cells stand beside them."
	case bursts > 0:
		return "Burst cells write a bounded amount into the page cache: they show what the code path takes, not what the disk sustains."
	}
	return ""
}

// seen is the heading of a panel: the largest effect that the intervals show, or
// that they show none.
func seen(exps []*dataset.Experiment, m dataset.Metric, quantity string) string {
	type effect struct {
		name, beside string
		p            result.Pair
	}
	var shown []effect
	compared, few := 0, 0
	for _, e := range exps {
		for _, c := range e.Cells {
			p, ok := c.Pair(m)
			if !ok || c.AA || brokerless(e, c) {
				continue
			}
			compared++
			switch p.Verdict {
			case result.Faster, result.Slower:
				name := axes(c, e.Axes)
				if precompressed(c) && !strings.Contains(quantity, beforehand) {
					name += " (" + beforehand + ")"
				}
				if len(exps) > 1 {
					name += " in " + e.Name
				}
				beside := ""
				if n := uneven(e, c, m); n != "" {
					beside = "; " + n
				}
				shown = append(shown, effect{name, beside, p})
			case result.TooFew:
				few++
			}
		}
	}
	name := capital(quantity)
	switch {
	case compared == 0:
		return name + ", without a comparison"
	case compared == few:
		return name + ": too few blocks to compare any cell with its base"
	case len(shown) == 0:
		return name + ": no cell differs from its base by more than the intervals leave open"
	}
	size := func(e effect) float64 { return math.Abs(math.Log(e.p.Ratio.Median)) }
	sort.SliceStable(shown, func(a, b int) bool { return size(shown[a]) > size(shown[b]) })
	best := shown[0]
	of := fmt.Sprintf("the largest of %d differences shown is", len(shown))
	if len(shown) == 1 {
		of = "the only difference shown is"
	}
	return fmt.Sprintf("%s: %s %s, %s (paired by block%s)", name, of, best.name, verdict(m.Name, best.p), best.beside)
}
