package page

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// family is what an experiment measured at several sizes of batch with all else equal.
type family struct {
	// name is in what it differs from the base, empty where in nothing.
	name  string
	cells []*dataset.Cell // in the order of their sizes
}

// families are the cells of an experiment by all that they have beside the size of a
// batch, the base's first. An experiment without a base is one family.
func families(e *dataset.Experiment, axis string) []family {
	out := []family{{}}
	for _, c := range ordered(e) {
		if c.AA || e.Base == nil && c.Axes[axis] == "" {
			continue
		}
		name := beside(e, c, axis)
		at := slices.IndexFunc(out, func(f family) bool { return f.name == name })
		if at < 0 {
			at, out = len(out), append(out, family{name: name})
		}
		out[at].cells = append(out[at].cells, c)
	}
	for _, f := range out {
		sort.SliceStable(f.cells, func(a, b int) bool { return batchBytes(e, f.cells[a], axis) < batchBytes(e, f.cells[b], axis) })
	}
	return slices.DeleteFunc(out, func(f family) bool { return len(f.cells) < 2 })
}

// beside is in what a cell differs from the base, one axis left out.
func beside(e *dataset.Experiment, c *dataset.Cell, axis string) string {
	if e.Base == nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Axes)) {
		if name != axis && c.Axes[name] != valueOf(e, e.Base, name) {
			parts = append(parts, name+"="+c.Axes[name])
		}
	}
	return strings.Join(parts, " ")
}

// batches shows throughput over the size of a batch, and at each size what another
// engine or setting makes of it.
func batches(v *view) (Panel, error) {
	p := Panel{Lead: "The same records in larger batches: fewer requests, system calls and wake-ups for each of them. Where an experiment has the sizes with another setting too, the ratios tell at which size that pays."}
	c := chart.Lines{
		Title:    "records per second over batch size",
		Describe: "Median acknowledged records per second with its interval over the bytes of a batch, logarithmic.",
		X:        chart.AxisSpec{Label: "bytes of a batch", Log: true, Format: chart.Bytes, Ticks: batchTicks()},
		Y:        chart.AxisSpec{Label: "records per second", Format: chart.Count, Min: 0, Max: nan},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 340},
	}
	var all []*dataset.Cell
	var ratios []Figure
	for _, e := range v.experiments(saturating) {
		axis := axisOf(e, "batch")
		if axis == "" || !measured(e, dataset.Produce) {
			continue
		}
		found := families(e, axis)
		for _, f := range found {
			s, t := f.over(e, axis, len(c.Series))
			if len(s.Points) < 2 {
				continue
			}
			if p.Title == "" {
				p.Title = seenAlong(e, axis, "records per second by batch size")
			}
			c.Series, p.Tables, all = append(c.Series, s), append(p.Tables, t), append(all, f.cells...)
		}
		if fig, t, ok := againstBase(e, axis, found); ok {
			ratios, p.Tables = append(ratios, fig), append(p.Tables, t)
		}
	}
	if len(c.Series) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation varies the batch size"}
	}
	p.Figures = append([]Figure{draw("", nil, c)}, ratios...)
	p.Caption = fmt.Sprintf("%s; %s.", capital(howOf(all, dataset.Produce)), samples(counts(all, dataset.Produce)))
	if len(ratios) > 0 {
		p.Caption += " Ratios are those of runs in the same block: their geometric mean and its 95" + nbsp + "% interval, which the median rates need not share."
	}
	return p, nil
}

// over is the family's line, and its table.
func (f family) over(e *dataset.Experiment, axis string, n int) (chart.LineSeries, Table) {
	name := heading(e)
	line := strings.TrimSuffix(name, " · "+kindWord(e))
	if f.name != "" {
		name, line = name+" · "+f.name, e.Name+" · "+f.name
	}
	s := chart.LineSeries{Name: line, Ink: chart.Series(n), Shape: chart.Shape(n), Label: true}
	t := Table{Name: name, Columns: []Column{num("batch", "bytes"), num("median", "records/s"), num("low", "records/s"), num("high", "records/s"), num("n", "runs")}}
	for _, cell := range f.cells {
		size, i := batchBytes(e, cell, axis), cell.Interval(dataset.Produce)
		if size <= 0 || i.N == 0 {
			continue
		}
		s.Points = append(s.Points, chart.Point{X: chart.Interval{Value: size}, Y: estimate(i),
			Tip: fmt.Sprintf("%s, batches of %s: %s records/s %s", line, chart.Bytes(size), chart.Count(i.Median), bracket(i, chart.Count))})
		t.add(baseClass(cell), number(size, chart.Bytes(size)), number(i.Median, chart.Count(i.Median)), number(i.Low, chart.Count(i.Low)), number(i.High, chart.Count(i.High)), number(float64(i.N), fmt.Sprint(i.N)))
	}
	return s, t
}

// againstBase sets each family against the base's at the same size of batch; ok is
// false where there is but one.
func againstBase(e *dataset.Experiment, axis string, found []family) (fig Figure, t Table, ok bool) {
	if len(found) < 2 || found[0].name != "" {
		return fig, t, false
	}
	c := chart.Rows{
		Title:    heading(e) + ": records per second against the base at the same size of batch",
		Describe: "One row for each setting and size of batch: the ratio of records per second to the base's at that size, with its interval. Right of 1 is faster.",
		X:        chart.AxisSpec{Label: "records per second ÷ the base's at the same size", Format: chart.Plain, Min: nan, Max: nan},
		Lines:    []chart.Line{{Value: 1, Label: "equal"}},
	}
	t = Table{Name: c.Title, Columns: []Column{text("setting"), num("batch", "bytes"), num("rate ÷ base", "paired, per block"), num("low", ""), num("high", ""),
		num("broker CPU ÷ base", "paired, per block"), num("low", ""), num("high", ""), num("n", "blocks")}}
	ratio := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	for n, f := range found[1:] {
		for _, cell := range f.cells {
			size := batchBytes(e, cell, axis)
			at := slices.IndexFunc(found[0].cells, func(b *dataset.Cell) bool { return batchBytes(e, b, axis) == size })
			if at < 0 {
				continue
			}
			base := found[0].cells[at]
			rate := dataset.Ratio(cell, base, dataset.Produce)
			if rate.N == 0 {
				continue
			}
			c.Rows = append(c.Rows, chart.Row{Group: f.name, Label: chart.Bytes(size), Value: estimate(rate), Ink: chart.Series(n + 1), Shape: chart.Circle,
				Tip: fmt.Sprintf("%s, batches of %s: %s %s", f.name, chart.Bytes(size), ratio(rate.Median), bounds(rate, ratio))})
			line := append([]Cell{word(f.name), number(size, chart.Bytes(size))}, estimateCells(rate, ratio)...)
			line = append(line, estimateCells(dataset.Ratio(cell, base, dataset.ProduceCost), ratio)...)
			t.add("", append(line, number(float64(rate.N), fmt.Sprint(rate.N)))...)
		}
	}
	if len(c.Rows) == 0 {
		return fig, t, false
	}
	return draw(c.Title, nil, c), t, true
}

func batchTicks() []chart.Tick {
	var out []chart.Tick
	for b := 256.0; b <= 64<<20; b *= 4 {
		out = append(out, chart.Tick{Value: b, Label: chart.Bytes(b)})
	}
	return out
}

// batchBytes is the uncompressed size of a cell's batches: its setting where that
// is a size, else what the runs recorded.
func batchBytes(e *dataset.Experiment, c *dataset.Cell, axis string) float64 {
	if strings.HasSuffix(axis, "size") {
		if size := parseSize(valueOf(e, c, axis)); size > 0 {
			return size
		}
	}
	return median(c, func(r result.Run) float64 { return float64(r.Records.BatchBytes) })
}

// parseSize reads 65536, 64KiB, 64k or 1MB; 0 when it is none of them.
func parseSize(s string) float64 {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0
	}
	unit, ok := map[string]float64{
		"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 1e3, "m": 1 << 20, "mib": 1 << 20, "mb": 1e6, "gib": 1 << 30, "gb": 1e9,
	}[strings.ToLower(strings.TrimSpace(s[end:]))]
	if !ok {
		return 0
	}
	return n * unit
}
