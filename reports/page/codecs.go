package page

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// precompressed reports whether a cell varies the compression of batches that were
// encoded once before its window: all drivers but the real client do that, so its
// figures hold no cost of compressing.
func precompressed(c *dataset.Cell) bool {
	if c.Driver == "franz" {
		return false
	}
	for name := range c.Axes {
		if strings.Contains(name, "compression") {
			return true
		}
	}
	return false
}

// anyPrecompressed reports whether an experiment has such a cell.
func anyPrecompressed(e *dataset.Experiment) bool {
	for _, c := range e.Cells {
		if precompressed(c) {
			return true
		}
	}
	return false
}

// beforehand is what stands beside the name of a precompressed cell.
const beforehand = "compressed beforehand"

// applications are the experiments in which the real client compresses while it is
// measured.
func applications(v *view) []*dataset.Experiment {
	return v.experiments(func(e *dataset.Experiment) bool {
		axis := axisOf(e, "compression")
		return axis != "" && !anyPrecompressed(e) && saturating(e) && measured(e, dataset.Produce)
	})
}

// beforehandNote says what the figures of precompressed cells leave out, for a panel
// that holds some; empty where it holds none.
func beforehandNote(v *view, exps []*dataset.Experiment) string {
	var held []string
	for _, e := range exps {
		if anyPrecompressed(e) {
			held = append(held, heading(e))
		}
	}
	if len(held) == 0 {
		return ""
	}
	return fmt.Sprintf("Compression in %s: the batches were encoded and compressed once, before the measured window, so neither compressing nor decompressing is in these figures. They show what the broker and the wire gain from smaller batches. %s", list(held), applicationWords(v))
}

// applicationWords point to what an application gets.
func applicationWords(v *view) string {
	var names []string
	for _, e := range applications(v) {
		names = append(names, heading(e))
	}
	if len(names) == 0 {
		return "What an application gets, which has to compress, was not measured here."
	}
	return "What an application gets, which has to compress, is in " + list(names) + "."
}

// compression shows what each codec saves and what it costs: first where the client
// compresses while it is measured, then what broker and wire gain.
func compression(v *view) (Panel, error) {
	real := applications(v)
	exps := append(append([]*dataset.Experiment(nil), real...), v.experiments(func(e *dataset.Experiment) bool {
		return saturating(e) && axisOf(e, "compression") != "" && anyPrecompressed(e) && measured(e, dataset.Produce)
	})...)
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation varies the compression"}
	}
	p := Panel{Lead: "The broker stores and serves the batches as they came. Further right is smaller on the wire, further up is more records."}
	if len(real) > 0 {
		p.Lead = "With the real client, compressing is part of what is measured. " + p.Lead
	}
	var all []*dataset.Cell
	for _, e := range exps {
		axis := axisOf(e, "compression")
		fig, table := v.codecs(e, axis)
		p.Figures, p.Tables = append(p.Figures, fig), append(p.Tables, table)
		all = append(all, along(e, axis)...)
	}
	p.Notes = noted(nil, beforehandNote(v, exps))
	for _, e := range exps {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: how far values compress depends on their make-up; here %s of a value's bytes is random.", heading(e), entropy(e)))
	}
	quantity := "records per second by codec, " + beforehand
	if len(real) > 0 {
		quantity = "records per second that an application gets, by codec"
	}
	p.Title = seenAlong(exps[0], axisOf(exps[0], "compression"), quantity)
	p.Caption = fmt.Sprintf("%s; %s. %s", capital(howOf(all, dataset.Produce)), samples(counts(all, dataset.Produce)), pairedWords)
	return p, nil
}

// codecs draws the codecs of one experiment.
func (v *view) codecs(e *dataset.Experiment, axis string) (Figure, Table) {
	name := heading(e)
	if anyPrecompressed(e) {
		name += " · " + beforehand
	}
	c := chart.Lines{
		Title:    name + ": records per second over compression ratio",
		Describe: "One mark per codec: compression ratio across, median records per second upwards, with its interval.",
		X:        chart.AxisSpec{Label: "compression ratio: uncompressed ÷ wire bytes", Min: 0.9, Max: nan},
		Y:        chart.AxisSpec{Label: "records per second", Format: chart.Count, Min: 0, Max: nan},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 320},
	}
	t := Table{Name: name, Columns: []Column{
		text("codec"), num("ratio", "uncompressed ÷ wire"), num("median", "records/s"), num("low", "records/s"), num("high", "records/s"), num("n", "runs"),
		num("codec alone", "GB/s compressing"), num("codec alone", "records/s, one core"), paired("verdict"),
	}}
	for n, cell := range along(e, axis) {
		codec, i, saved := valueOf(e, cell, axis), cell.Interval(dataset.Produce), cell.Interval(dataset.Compression)
		if i.N == 0 || codec != "none" && saved.N == 0 {
			continue
		}
		size := saved.Median
		if codec == "none" {
			size = 1
		}
		said := "base"
		if pair, ok := cell.Pair(dataset.Produce); ok {
			said = verdict(dataset.Produce.Name, pair)
		}
		c.Series = append(c.Series, chart.LineSeries{
			Name: codec, MarksOnly: true, Ink: chart.Series(n), Shape: chart.Shape(n), Above: true,
			Points: []chart.Point{{X: chart.Interval{Value: size}, Y: estimate(i),
				Tip: fmt.Sprintf("%s: ratio %s, %s records/s %s, %s", codec, chart.Plain(size), chart.Count(i.Median), bracket(i, chart.Count), said)}},
		})
		alone, _ := v.Calib.Get(codec + ".compress")
		t.add(baseClass(cell), word(codec), number(size, chart.Plain(size)), number(i.Median, chart.Count(i.Median)), number(i.Low, chart.Count(i.Low)), number(i.High, chart.Count(i.High)),
			number(float64(i.N), fmt.Sprint(i.N)), plain(alone.Value/1e9), compressing(alone.Value, cell), word(said))
	}
	return draw(name, nil, c), t
}

// compressing is how many records of a cell one core compresses in a second, by the
// calibration of its codec alone.
func compressing(bytesPerS float64, c *dataset.Cell) Cell {
	plainBytes := wirePerRecord(c, producedWindow) * c.Interval(dataset.Compression).Median
	if bytesPerS <= 0 || plainBytes <= 0 {
		return number(nan, "")
	}
	return number(bytesPerS/plainBytes, chart.Count(bytesPerS/plainBytes))
}

// entropy is the share of random bytes of an experiment's values, in words.
func entropy(e *dataset.Experiment) string {
	if c := reference(e); c != nil {
		if share, err := strconv.ParseFloat(c.Config["entropy"], 64); err == nil {
			return chart.Percent(share)
		}
	}
	return "an unrecorded share"
}
