package page

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// saturatedBelow is the share of the offered rate under which a run counts as
// saturated: its latency then describes a growing queue.
const saturatedBelow = 0.95

// curve is the cells of a paced experiment that differ in nothing but the rate,
// from the lowest to the highest.
type curve struct {
	name  string
	cells []*dataset.Cell
}

// curves splits a paced experiment by everything but its rate.
func curves(e *dataset.Experiment) []curve {
	var out []curve
	for _, c := range e.Cells {
		if offered(c) <= 0 {
			continue
		}
		name := without(c, dataset.RateAxis)
		i := 0
		for i < len(out) && out[i].name != name {
			i++
		}
		if i == len(out) {
			out = append(out, curve{name: name})
		}
		out[i].cells = append(out[i].cells, c)
	}
	for _, k := range out {
		sort.SliceStable(k.cells, func(a, b int) bool { return offered(k.cells[a]) < offered(k.cells[b]) })
	}
	return out
}

// without names a cell by its axes except one.
func without(c *dataset.Cell, axis string) string {
	var parts []string
	for name, value := range c.Axes {
		if name != axis {
			parts = append(parts, name+"="+value)
		}
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// offered is a paced cell's median offered rate in records per second.
func offered(c *dataset.Cell) float64 {
	return median(c, func(r result.Run) float64 {
		if r.Produce == nil {
			return 0
		}
		return float64(r.Produce.OfferedPerS)
	})
}

// achieved is the share of the offered rate that was acknowledged.
func achieved(c *dataset.Cell) float64 {
	return median(c, func(r result.Run) float64 {
		if r.Produce == nil || r.Produce.OfferedPerS == 0 {
			return 0
		}
		return float64(r.Produce.AckedPerS) / float64(r.Produce.OfferedPerS)
	})
}

func paced(v *view) []*dataset.Experiment {
	return v.experiments(func(e *dataset.Experiment) bool { return e.Kind == result.Paced && measured(e, dataset.P50) })
}

// load shows response time over offered rate, up to where the system falls behind.
func load(v *view) (Panel, error) {
	p := Panel{
		Lead:    "Response time counts from the instant at which a record was due, so time spent waiting behind a stall is in it.",
		Caption: "",
	}
	var titles []string
	for _, e := range paced(v) {
		for _, k := range curves(e) {
			if len(k.cells) < 3 {
				continue
			}
			fig, table, title := loadCurve(e, k)
			p.Figures, p.Tables = append(p.Figures, fig), append(p.Tables, table)
			titles = append(titles, title)
			p.Caption = fmt.Sprintf("Medians over runs; bars are the intervals (%s); %s. p99.9 is shown only where every run holds a hundred values beyond it.",
				howOf(k.cells, dataset.P99), samples(counts(k.cells, dataset.P99)))
		}
	}
	if len(titles) == 0 {
		return Panel{}, &MissingError{"no experiment of this invocation offers three or more rates"}
	}
	p.Title = titles[0]
	return p, nil
}

func loadCurve(e *dataset.Experiment, k curve) (Figure, Table, string) {
	name := heading(e)
	if k.name != "" {
		name += " · " + k.name
	}
	c := chart.Lines{
		Title:    name + ": response time over offered load",
		Describe: "Percentiles of response time, logarithmic, over the offered rate. The shaded part is saturated.",
		X:        chart.AxisSpec{Label: "offered load, records per second", Format: chart.Count},
		Y:        chart.AxisSpec{Label: "response time", Format: chart.Nanoseconds, Log: true},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 380},
	}
	t := Table{Name: name, Columns: []Column{
		num("offered", "records/s"), num("acknowledged", "% of offered"), num("p50", "ms"), num("p99", "ms"), num("p99 low", "ms"), num("p99 high", "ms"), num("p99.9", "ms"), num("n", "runs"), text("state"),
	}}
	for n, m := range []dataset.Metric{dataset.P50, dataset.P99, dataset.P999} {
		s := chart.LineSeries{Name: []string{"p50", "p99", "p99.9"}[n], Ink: chart.Series(n), Shape: chart.Shape(n), Label: true}
		for _, cell := range k.cells {
			if m.Name == dataset.P999.Name && !holds(cell, 0.999) {
				continue
			}
			i := cell.Interval(m)
			s.Points = append(s.Points, chart.Point{
				X: chart.Interval{Value: offered(cell)}, Y: estimate(i),
				Tip: fmt.Sprintf("%s at %s records/s: %s %s", s.Name, chart.Count(offered(cell)), chart.Nanoseconds(i.Median), bracket(i, chart.Nanoseconds)),
			})
		}
		c.Series = append(c.Series, s)
	}
	from := saturation(k)
	last := offered(k.cells[len(k.cells)-1])
	c.X.Min, c.X.Max = 0, last*1.04
	if from < last {
		c.Bands = []chart.Band{{From: from, To: last * 1.04, Label: "saturated"}}
	}
	for _, cell := range k.cells {
		i50, i99, i999 := cell.Interval(dataset.P50), cell.Interval(dataset.P99), cell.Interval(dataset.P999)
		tail := number(nan, "")
		if holds(cell, 0.999) {
			tail = ms(i999.Median)
		}
		state, class := "keeps up", ""
		if achieved(cell) < saturatedBelow {
			state, class = "saturated", "grey"
		}
		t.add(class, number(offered(cell), chart.Count(offered(cell))), number(achieved(cell)*100, fmt.Sprintf("%.1f", achieved(cell)*100)),
			ms(i50.Median), ms(i99.Median), ms(i99.Low), ms(i99.High), tail, number(float64(i99.N), fmt.Sprint(i99.N)), word(state))
	}
	return draw(name, c.Keys(), c), t, loadTitle(k)
}

// holds reports whether every usable run has a hundred values beyond a quantile.
func holds(c *dataset.Cell, q float64) bool {
	for _, r := range c.Usable {
		if r.Produce == nil || r.Produce.ResponseNs == nil || float64(r.Produce.ResponseNs.N)*(1-q) < 99.5 {
			return false
		}
	}
	return len(c.Usable) > 0
}

// saturation is the rate half way between the last that kept up and the first
// that did not; infinite when all kept up.
func saturation(k curve) float64 {
	for i, c := range k.cells {
		if achieved(c) >= saturatedBelow {
			continue
		}
		if i == 0 {
			return 0
		}
		return (offered(k.cells[i-1]) + offered(c)) / 2
	}
	return math.Inf(1)
}

func loadTitle(k curve) string {
	highest, most := 0.0, result.Interval{}
	for _, c := range k.cells {
		if achieved(c) < saturatedBelow {
			break
		}
		highest = offered(c)
		if i := c.Interval(dataset.P99); i.Median > most.Median {
			most = i
		}
	}
	if highest == 0 {
		return "No offered rate could be kept up with"
	}
	return fmt.Sprintf("Up to %s records/s offered, p99 response time stays within %s %s", chart.Shorten(chart.Count(highest)), chart.Nanoseconds(most.Median), bracket(most, chart.Nanoseconds))
}

func ms(ns float64) Cell {
	if ns <= 0 {
		return number(nan, "")
	}
	return number(ns/1e6, chart.Plain(ns/1e6))
}

// chosen are the cells of a paced experiment whose spectra are drawn: all where
// they are few, else the lowest, the middle and the highest rate that kept up.
func chosen(e *dataset.Experiment) []*dataset.Cell {
	var out []*dataset.Cell
	for _, k := range curves(e) {
		var kept []*dataset.Cell
		for _, c := range k.cells {
			if achieved(c) >= saturatedBelow {
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
