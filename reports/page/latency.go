package page

import (
	"errors"
	"fmt"
	"io/fs"

	"tidemark/bench/hist"
	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// spectra shows the whole distribution of response and service time: where they
// part, requests waited before they were sent.
func spectra(v *view) (Panel, error) {
	p := Panel{
		Lead:    "Response time (solid) counts from the intended send, service time (dashed) from the actual one. Where they part, a tool that measures only service time would have hidden the wait.",
		Caption: "At each percentile the median over runs; the axis stretches towards 100 %. A percentile is drawn while every run holds ten values beyond it, from p99.9 on a hundred. The table holds the exact percentiles of each run's summary: their medians, and the largest value of all runs.",
	}
	some := 0
	for _, e := range paced(v) {
		c := spectrumChart(heading(e)+": percentile spectrum", "response and service time")
		t := spectrumTable(heading(e))
		pair := spectrumPair{&c, &t, result.HistResponse, result.HistService, "service"}
		drawn, left := chosen(e)
		some += len(drawn)
		for n, d := range drawn {
			if _, err := pair.add(v, d.Cell, d.name, n); err != nil {
				return p, err
			}
		}
		p.Notes = append(p.Notes, left...)
		if len(drawn) == 0 {
			continue
		}
		p.Figures = append(p.Figures, draw(heading(e), responseKeys, c))
		p.Tables = append(p.Tables, t)
		p.Title = gapTitle(e, drawn, p.Title)
	}
	switch {
	case some == 0 && len(p.Notes) > 0:
		p.Title = "No offered rate was kept up with"
	case len(p.Figures) == 0:
		return Panel{}, &MissingError{"no experiment of this invocation ran at a fixed rate; a saturating run's latency describes the harness's own queue and is not drawn"}
	}
	return p, v.addEndToEnd(&p)
}

// spectrumPair are two histograms of one chart and table: one is drawn solid, the
// other dashed, its name ending in suffix.
type spectrumPair struct {
	chart         *chart.Lines
	table         *Table
	solid, dashed string
	suffix        string
}

// add adds a cell's two spectra in the n-th colour. A histogram that was not
// taken is left out; both reports whether the dashed one is there.
func (p spectrumPair) add(v *view, cell *dataset.Cell, name string, n int) (both bool, err error) {
	for _, metric := range []string{p.solid, p.dashed} {
		points, err := v.Spectrum(cell, metric)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return both, err
		}
		s := spectrumSeries(name, points, n)
		if metric == p.dashed {
			s.Dashes, s.Label, s.Name = []float64{5, 4}, false, s.Name+", "+p.suffix
			both = true
		}
		p.chart.Series = append(p.chart.Series, s)
		summaryRow(p.table, name, metric, cell)
	}
	return both, nil
}

// responseKeys explain the dashes; the lines carry their own names.
var responseKeys = []chart.Key{
	{Label: "response time: from the intended send", Ink: chart.Text, Shape: chart.None, Line: true},
	{Label: "service time: from the actual send", Ink: chart.Text, Shape: chart.None, Line: true, Dashes: []float64{5, 4}},
}

// addEndToEnd adds the spectra from intended send to consumer, where consumers
// followed.
func (v *view) addEndToEnd(p *Panel) error {
	for _, e := range paced(v) {
		c := spectrumChart(heading(e)+": end to end", "intended send to consumer")
		t := spectrumTable(heading(e) + " · end to end")
		drawn, _ := chosen(e)
		for n, d := range drawn {
			points, err := v.Spectrum(d.Cell, result.HistE2E)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			c.Series = append(c.Series, spectrumSeries(d.name, points, n))
			summaryRow(&t, d.name, result.HistE2E, d.Cell)
		}
		if len(c.Series) > 0 {
			p.Figures = append(p.Figures, draw(heading(e)+" · end to end: intended send to consumer, one clock", nil, c))
			p.Tables = append(p.Tables, t)
		}
	}
	return nil
}

// pacedName names a paced cell by its rate and what else differs.
func pacedName(e *dataset.Experiment, c *dataset.Cell) string {
	name := chart.Shorten(chart.Count(offered(c))) + "/s"
	if rest := without(c, dataset.RateAxis); rest != "" {
		name += ", " + rest
	} else if axisOf(e, dataset.RateAxis) == "" && !c.Base && c.Label != "" {
		name = c.Label
	}
	return name
}

func spectrumChart(title, label string) chart.Lines {
	return chart.Lines{
		Title:    title,
		Describe: "Latency over percentile; the horizontal axis is 1/(1−q), logarithmic, the vertical axis logarithmic.",
		X:        chart.AxisSpec{Label: "percentile", Log: true, Ticks: percentileTicks},
		Y:        chart.AxisSpec{Label: label, Format: chart.Nanoseconds, Log: true},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 380},
	}
}

// percentileTicks label the axis 1/(1−q).
var percentileTicks = []chart.Tick{
	{Value: 1, Label: "0"}, {Value: 2, Label: "50 %"}, {Value: 10, Label: "90 %"}, {Value: 100, Label: "99 %"},
	{Value: 1e3, Label: "99.9 %"}, {Value: 1e4, Label: "99.99 %"}, {Value: 1e5, Label: "99.999 %"},
	{Value: 1e6, Label: "99.9999 %"}, {Value: 1e7, Label: "99.99999 %"},
}

func spectrumSeries(name string, points []dataset.Percentile, n int) chart.LineSeries {
	s := chart.LineSeries{Name: name, Ink: chart.Series(n), Shape: chart.None, Label: true}
	for _, q := range points {
		s.Points = append(s.Points, chart.Point{
			X: chart.Interval{Value: 1 / (1 - q.Quantile)}, Y: chart.Interval{Value: q.Median},
		})
	}
	return s
}

// tabled are the quantiles of a spectrum's table: those that every run keeps exactly.
var tabled = []struct {
	q  float64
	of func(hist.Summary) int64
}{
	{0.5, func(h hist.Summary) int64 { return h.P50 }},
	{0.9, func(h hist.Summary) int64 { return h.P90 }},
	{0.99, func(h hist.Summary) int64 { return h.P99 }},
	{0.999, func(h hist.Summary) int64 { return h.P999 }},
	{0.9999, func(h hist.Summary) int64 { return h.P9999 }},
}

func spectrumTable(name string) Table {
	t := Table{Name: name, Columns: []Column{text("cell"), text("time")}}
	for _, q := range tabled {
		t.Columns = append(t.Columns, lasting("p"+chart.Precise(q.q*100)))
	}
	t.Columns = append(t.Columns, lasting("largest"), num("n", "runs"))
	return t
}

// timeNames are the times of a table in words, by the name of their histogram.
var timeNames = map[string]string{
	result.HistResponse: "response", result.HistService: "service", result.HistE2E: "end to end",
	result.HistLateness: "lateness", result.HistOwnLateness: "the harness's own",
}

// summaryOf is what a run keeps of one histogram; ok is false where it has none.
func summaryOf(r result.Run, metric string) (h hist.Summary, ok bool) {
	for _, w := range []*result.Window{r.Produce, r.Fetch} {
		if w == nil {
			continue
		}
		found := map[string]*hist.Summary{
			result.HistResponse: w.ResponseNs, result.HistService: w.ServiceNs, result.HistE2E: w.E2ENs,
			result.HistLateness: w.LatenessNs, result.HistOwnLateness: w.OwnLatenessNs,
		}[metric]
		if found != nil && found.N > 0 {
			return *found, true
		}
	}
	return h, false
}

// summaryRow adds a cell's percentiles: medians over runs of the exact figures, while
// every run holds enough values beyond them.
func summaryRow(t *Table, cell, metric string, c *dataset.Cell) {
	var all []hist.Summary
	for _, r := range c.Usable {
		if h, ok := summaryOf(r, metric); ok {
			all = append(all, h)
		}
	}
	cells, largest := []Cell{word(cell), word(timeNames[metric])}, int64(0)
	for _, q := range tabled {
		var values []float64
		for _, h := range all {
			largest = max(largest, h.Max)
			if dataset.Enough(h.N, q.q) {
				values = append(values, float64(q.of(h)))
			}
		}
		if len(values) < len(all) {
			values = nil
		}
		cells = append(cells, duration(middleOf(values)))
	}
	t.add("", append(cells, duration(float64(largest)), number(float64(len(all)), fmt.Sprint(len(all))))...)
}

// gapTitle says how far response and service time are apart at p99 in the busiest
// cell drawn, and which of how many cells that is.
func gapTitle(e *dataset.Experiment, drawn []kept, have string) string {
	if have != "" {
		return have
	}
	d := drawn[len(drawn)-1]
	which := e.Name + ", " + d.name
	if len(drawn) > 1 {
		which += fmt.Sprintf(", one of %d cells drawn", len(drawn))
	}
	response := d.Interval(dataset.P99).Median
	service := p99Of(d.Cell, result.HistService)
	if service <= 0 {
		return fmt.Sprintf("In %s: p99 response time is %s", which, chart.Nanoseconds(response))
	}
	return fmt.Sprintf("In %s: p99 response time is %s and p99 service time %s", which, chart.Nanoseconds(response), chart.Nanoseconds(service))
}

// lateness shows how far from its intended instant the harness sent, and how much of
// that was its own doing and not a wait for the target.
func lateness(v *view) (Panel, error) {
	p := Panel{
		Lead:    "From the instant at which a record was due to the one at which it was sent. All of it is part of every response time above. Part of it may be waiting for the target: a sender that has reached its limit of requests in flight sends late. The harness's own part (dashed) is counted from the end of such a wait; only a run in which its p99 is more than 100 µs and more than a tenth of the p99 response time is marked degraded for it.",
		Caption: "At each percentile the median over runs; the title is of the cell in which sending was latest.",
	}
	worst, some := 0.0, 0
	for _, e := range paced(v) {
		c := spectrumChart(heading(e)+": schedule lateness", "intended send to actual send")
		c.Size.Height = 300
		t := spectrumTable(heading(e))
		var keys []chart.Key
		pair := spectrumPair{&c, &t, result.HistLateness, result.HistOwnLateness, "own"}
		drawn, left := chosen(e)
		some += len(drawn)
		p.Notes = append(p.Notes, left...)
		for n, d := range drawn {
			both, err := pair.add(v, d.Cell, d.name, n)
			if err != nil {
				return p, err
			}
			if both {
				keys = latenessKeys
			}
			if late := p99Of(d.Cell, result.HistLateness); late > worst {
				worst, p.Title = late, latenessTitle(d.name, late, p99Of(d.Cell, result.HistOwnLateness))
			}
		}
		if len(c.Series) > 0 {
			p.Figures, p.Tables = append(p.Figures, draw(heading(e), keys, c)), append(p.Tables, t)
		}
	}
	switch {
	case some == 0 && len(p.Notes) > 0:
		p.Title = "No offered rate was kept up with"
	case len(p.Figures) == 0:
		return Panel{}, &MissingError{"no experiment of this invocation ran on a schedule"}
	}
	return p, nil
}

// latenessKeys explain the dashes.
var latenessKeys = []chart.Key{
	{Label: "lateness: from the intended send, waits for the target included", Ink: chart.Text, Shape: chart.None, Line: true},
	{Label: "the harness's own part", Ink: chart.Text, Shape: chart.None, Line: true, Dashes: []float64{5, 4}},
}

func latenessTitle(cell string, late, own float64) string {
	said := fmt.Sprintf("At %s, 99%s%% were sent within %s of the intended instant", cell, nbsp, chart.Nanoseconds(late))
	if own > 0 {
		said += fmt.Sprintf(", of which %s was the harness's own p99", chart.Nanoseconds(own))
	}
	return said
}

// p99Of is the median over runs of a histogram's p99.
func p99Of(c *dataset.Cell, metric string) float64 {
	return median(c, func(r result.Run) float64 {
		h, _ := summaryOf(r, metric)
		return float64(h.P99)
	})
}
