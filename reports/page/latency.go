package page

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// chosen are the cells of a paced experiment whose spectra are drawn: all where
// they are few, else the lowest, the middle and the highest rate that kept up.
func chosen(e *dataset.Experiment) []*dataset.Cell {
	var out []*dataset.Cell
	for _, k := range curves(e) {
		var kept []*dataset.Cell
		for _, c := range k.cells {
			if keepsUp(c) {
				kept = append(kept, c)
			}
		}
		if len(kept) > 3 {
			kept = []*dataset.Cell{kept[0], kept[len(kept)/2], kept[len(kept)-1]}
		}
		out = append(out, kept...)
	}
	return out
}

// spectra shows the whole distribution of response and service time: where they
// part, requests waited before they were sent.
func spectra(v *view) (Panel, error) {
	p := Panel{
		Lead:    "Response time (solid) counts from the intended send, service time (dashed) from the actual one. Where they part, a tool that measures only service time would have hidden the wait.",
		Caption: "At each percentile the median over runs; the axis stretches towards 100 %. A percentile is drawn while every run holds ten values beyond it, from p99.9 on a hundred.",
	}
	for _, e := range paced(v) {
		c := spectrumChart(heading(e)+": percentile spectrum", "response and service time")
		t := spectrumTable(heading(e))
		for n, cell := range chosen(e) {
			for dash, metric := range []string{result.HistResponse, result.HistService} {
				points, err := v.Spectrum(cell, metric)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return p, err
				}
				s := spectrumSeries(pacedName(e, cell), points, n)
				if dash == 1 {
					s.Dashes, s.Label, s.Name = []float64{5, 4}, false, s.Name+", service"
				}
				c.Series = append(c.Series, s)
				spectrumRow(&t, pacedName(e, cell), metric, points)
			}
		}
		p.Figures = append(p.Figures, draw(heading(e), responseKeys, c))
		p.Tables = append(p.Tables, t)
		p.Title = gapTitle(v, e, p.Title)
	}
	if len(p.Figures) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation ran at a fixed rate; a saturating run's latency describes the harness's own queue and is not drawn"}
	}
	return p, v.addEndToEnd(&p)
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
		for n, cell := range chosen(e) {
			points, err := v.Spectrum(cell, result.HistE2E)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			c.Series = append(c.Series, spectrumSeries(pacedName(e, cell), points, n))
			spectrumRow(&t, pacedName(e, cell), "end to end", points)
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

// tabled are the quantiles that a spectrum's table holds.
var tabled = []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999}

func spectrumTable(name string) Table {
	t := Table{Name: name, Columns: []Column{text("cell"), text("time")}}
	for _, q := range tabled {
		t.Columns = append(t.Columns, num("p"+chart.Precise(q*100), "ms"))
	}
	t.Columns = append(t.Columns, num("n", "runs"))
	return t
}

func spectrumRow(t *Table, cell, metric string, points []dataset.Percentile) {
	cells := []Cell{word(cell), word(metric)}
	runs := 0
	for _, q := range tabled {
		found := number(nan, "")
		for _, p := range points {
			if math.Abs(p.Quantile-q) < (1-q)*0.13 {
				found, runs = ms(p.Median), max(runs, p.Runs)
				break
			}
		}
		cells = append(cells, found)
	}
	t.add("", append(cells, number(float64(runs), fmt.Sprint(runs)))...)
}

// gapTitle says how far response and service time are apart at p99 in the busiest
// cell drawn.
func gapTitle(v *view, e *dataset.Experiment, have string) string {
	cells := chosen(e)
	if have != "" || len(cells) == 0 {
		return have
	}
	c := cells[len(cells)-1]
	response := c.Interval(dataset.P99).Median
	service := median(c, func(r result.Run) float64 {
		if r.Produce == nil || r.Produce.ServiceNs == nil {
			return 0
		}
		return float64(r.Produce.ServiceNs.P99)
	})
	if service <= 0 {
		return fmt.Sprintf("At %s, p99 response time is %s", pacedName(e, c), chart.Nanoseconds(response))
	}
	return fmt.Sprintf("At %s, p99 response time is %s and p99 service time %s", pacedName(e, c), chart.Nanoseconds(response), chart.Nanoseconds(service))
}

// lateness shows how far from its intended instant the harness sent: its own
// error, which is inside every response time.
func lateness(v *view) (Panel, error) {
	p := Panel{
		Lead:    "How late the generator sent, against its own schedule. It is part of every response time above, and a run in which it is more than a tenth of p99 is marked degraded.",
		Caption: "At each percentile the median over runs; the title is of the cell in which the harness was latest.",
	}
	worst := 0.0
	for _, e := range paced(v) {
		c := spectrumChart(heading(e)+": schedule lateness", "intended send to actual send")
		c.Size.Height = 300
		t := spectrumTable(heading(e))
		for n, cell := range chosen(e) {
			points, err := v.Spectrum(cell, result.HistLateness)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return p, err
			}
			c.Series = append(c.Series, spectrumSeries(pacedName(e, cell), points, n))
			spectrumRow(&t, pacedName(e, cell), "lateness", points)
			if late := p99Lateness(cell); late > worst {
				worst = late
				p.Title = fmt.Sprintf("At %s, the harness sent 99%s%% within %s of the intended instant", pacedName(e, cell), nbsp, chart.Nanoseconds(late))
			}
		}
		if len(c.Series) > 0 {
			p.Figures, p.Tables = append(p.Figures, draw(heading(e), nil, c)), append(p.Tables, t)
		}
	}
	if len(p.Figures) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation ran on a schedule"}
	}
	return p, nil
}

func p99Lateness(c *dataset.Cell) float64 {
	return median(c, func(r result.Run) float64 {
		if r.Produce == nil || r.Produce.LatenessNs == nil {
			return 0
		}
		return float64(r.Produce.LatenessNs.P99)
	})
}
