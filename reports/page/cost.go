package page

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// cost shows the broker's processor time per million records and per 10⁹ bytes.
func cost(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.ProduceCost) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation has the broker's processor time"}
	}
	p := Panel{
		Title: seen(exps, dataset.ProduceCost, "broker processor time per record produced"),
		Lead:  "User and system time of the broker process within the measured window. Less is better. The client's own time is in the table.",
	}
	var cells []*dataset.Cell
	for _, e := range exps {
		for _, f := range []struct {
			m     dataset.Metric
			label string
		}{
			{dataset.ProduceCost, "produce: core-seconds per million records"},
			{dataset.ProduceCostGB, "produce: core-seconds per GB on the wire"},
			{dataset.FetchCost, "fetch: core-seconds per million records"},
			{dataset.FetchCostGB, "fetch: core-seconds per GB on the wire"},
		} {
			if measured(e, f.m) {
				p.Figures = append(p.Figures, cellsChart(e, f.m, f.label, chart.Plain, chart.Half.Width, nil))
			}
		}
		p.Notes = noted(p.Notes, outliers(e, dataset.ProduceCost, chart.Plain))
		p.Tables = append(p.Tables, costTable(e))
		cells = append(cells, e.Cells...)
	}
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Caption = caption(cells, dataset.ProduceCost) + " Marks show the verdict against the base; costs per GB are shown without a verdict. 1 GB is 10⁹ bytes of batches."
	return p, nil
}

func costTable(e *dataset.Experiment) Table {
	t := Table{Name: heading(e), Columns: []Column{
		text("cell"),
		num("produce", "core-s per M records"), num("low", ""), num("high", ""), num("produce", "core-s per GB"),
		num("fetch", "core-s per M records"), num("fetch", "core-s per GB"),
		num("client, produce", "core-s per M records"), num("n", "runs"), paired("verdict, produce"),
	}}
	for _, c := range ordered(e) {
		i := c.Interval(dataset.ProduceCost)
		if i.N == 0 {
			continue
		}
		client := median(c, func(r result.Run) float64 {
			if r.Produce == nil || r.Produce.Acked == 0 {
				return 0
			}
			return float64(r.Produce.CPU.ClientNs()) / 1e3 / float64(r.Produce.Acked)
		})
		said := word("not compared")
		if p, ok := c.Pair(dataset.ProduceCost); ok {
			said = word(verdict(dataset.ProduceCost.Name, p)).class(string(p.Verdict))
		} else if c.Base {
			said = word("base")
		}
		t.add(baseClass(c), nameCell(e, c), plain(i.Median), plain(i.Low), plain(i.High),
			plain(c.Interval(dataset.ProduceCostGB).Median), plain(c.Interval(dataset.FetchCost).Median), plain(c.Interval(dataset.FetchCostGB).Median),
			plain(client), number(float64(i.N), fmt.Sprint(i.N)), said)
	}
	return t
}

func plain(v float64) Cell {
	if v <= 0 {
		return number(nan, "")
	}
	return number(v, chart.Plain(v))
}

// batches shows throughput over the size of a batch.
func batches(v *view) (Panel, error) {
	p := Panel{Lead: "The same records in larger batches: fewer requests, system calls and wake-ups for each of them."}
	c := chart.Lines{
		Title:    "records per second over batch size",
		Describe: "Median acknowledged records per second with its interval over the bytes of a batch, logarithmic.",
		X:        chart.AxisSpec{Label: "bytes of a batch", Log: true, Format: chart.Bytes, Ticks: batchTicks()},
		Y:        chart.AxisSpec{Label: "records per second", Format: chart.Count, Min: 0, Max: nan},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 340},
	}
	var all []*dataset.Cell
	for _, e := range v.experiments(saturating) {
		axis := axisOf(e, "batch")
		if axis == "" || !measured(e, dataset.Produce) {
			continue
		}
		s := chart.LineSeries{Name: strings.TrimSuffix(heading(e), " · "+kindWord(e)), Ink: chart.Series(len(c.Series)), Shape: chart.Shape(len(c.Series)), Label: true}
		t := Table{Name: heading(e), Columns: []Column{num("batch", "bytes"), num("median", "records/s"), num("low", "records/s"), num("high", "records/s"), num("n", "runs")}}
		cells := along(e, axis)
		sort.SliceStable(cells, func(a, b int) bool { return batchBytes(e, cells[a], axis) < batchBytes(e, cells[b], axis) })
		for _, cell := range cells {
			size, i := batchBytes(e, cell, axis), cell.Interval(dataset.Produce)
			if size <= 0 || i.N == 0 {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: chart.Interval{Value: size}, Y: estimate(i),
				Tip: fmt.Sprintf("batches of %s: %s records/s %s", chart.Bytes(size), chart.Count(i.Median), bracket(i, chart.Count))})
			t.add(baseClass(cell), number(size, chart.Bytes(size)), number(i.Median, chart.Count(i.Median)), number(i.Low, chart.Count(i.Low)), number(i.High, chart.Count(i.High)), number(float64(i.N), fmt.Sprint(i.N)))
		}
		if len(s.Points) < 2 {
			continue
		}
		if p.Title == "" {
			p.Title = seenAlong(e, axis, "records per second by batch size")
		}
		c.Series, p.Tables, all = append(c.Series, s), append(p.Tables, t), append(all, cells...)
	}
	if len(c.Series) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation varies the batch size"}
	}
	p.Figures = []Figure{draw("", nil, c)}
	p.Caption = fmt.Sprintf("%s; %s.", capital(howOf(all, dataset.Produce)), samples(counts(all, dataset.Produce)))
	return p, nil
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

// seenAlong is the heading for one axis: the largest effect shown along it.
func seenAlong(e *dataset.Experiment, axis, quantity string) string {
	part := *e
	part.Cells = along(e, axis)
	return seen([]*dataset.Experiment{&part}, dataset.Produce, quantity)
}
