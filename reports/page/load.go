package page

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// keepsUpFrom is the share of the offered rate that every run of a cell must have
// acknowledged for the cell to keep up: below it a queue grew, and the latency is
// that of the queue. It grew as well where records were dropped, see result.LastPart.
const keepsUpFrom = 0.98

// keptUp reports whether a run took what it was offered.
func keptUp(r result.Run) bool {
	w := r.Produce
	return w != nil && w.OfferedPerS > 0 && w.Dropped == 0 && float64(w.AckedPerS) >= keepsUpFrom*float64(w.OfferedPerS)
}

// keepsUp reports whether every usable run of a cell did.
func keepsUp(c *dataset.Cell) bool {
	for _, r := range c.Usable {
		if !keptUp(r) {
			return false
		}
	}
	return len(c.Usable) > 0
}

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

// achieved is the share of the offered rate that was acknowledged: the median over
// runs, and the lowest run.
func achieved(c *dataset.Cell) (middle, lowest float64) {
	lowest = math.Inf(1)
	middle = median(c, func(r result.Run) float64 {
		if r.Produce == nil || r.Produce.OfferedPerS == 0 {
			return 0
		}
		share := float64(r.Produce.AckedPerS) / float64(r.Produce.OfferedPerS)
		lowest = min(lowest, share)
		return share
	})
	return middle, lowest
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
			p.Caption = fmt.Sprintf("Medians over runs; bars are the intervals (%s); %s. A rate is kept up with where every run acknowledged at least %.0f %% of it and was less than %v %% of the window behind at its end; beyond that, shaded, the latency is that of a growing queue. p99.9 is shown only where every run holds a hundred values beyond it.",
				howOf(k.cells, dataset.P99), samples(counts(k.cells, dataset.P99)), keepsUpFrom*100, result.LastPart*100)
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
		Describe: "Percentiles of response time, logarithmic, over the offered rate. In the shaded part the rate was not kept up with.",
		X:        chart.AxisSpec{Label: "offered load, records per second", Format: chart.Count},
		Y:        chart.AxisSpec{Label: "response time", Format: chart.Nanoseconds, Log: true},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 380},
	}
	t := Table{Name: name, Columns: []Column{
		num("offered", "records/s"), num("acknowledged", "% of offered"), num("lowest run", "% of offered"), lasting("p50"), lasting("p99"), lasting("p99 low"), lasting("p99 high"), lasting("p99.9"), num("n", "runs"), text("state"),
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
		c.Bands = []chart.Band{{From: from, To: last * 1.04, Label: "not kept up with"}}
	}
	for _, cell := range k.cells {
		i50, i99, i999 := cell.Interval(dataset.P50), cell.Interval(dataset.P99), cell.Interval(dataset.P999)
		tail := number(nan, "")
		if holds(cell, 0.999) {
			tail = duration(i999.Median)
		}
		state, class := "keeps up", ""
		if !keepsUp(cell) {
			state, class = "falls behind", "grey"
		}
		middle, lowest := achieved(cell)
		t.add(class, number(offered(cell), chart.Count(offered(cell))), tenth(middle), tenth(lowest),
			duration(i50.Median), duration(i99.Median), duration(i99.Low), duration(i99.High), tail, number(float64(i99.N), fmt.Sprint(i99.N)), word(state))
	}
	return draw(name, c.Keys(), c), t, loadTitle(k)
}

// holds reports whether every usable run has enough values beyond a quantile.
func holds(c *dataset.Cell, q float64) bool {
	for _, r := range c.Usable {
		if r.Produce == nil || r.Produce.ResponseNs == nil || !dataset.Enough(r.Produce.ResponseNs.N, q) {
			return false
		}
	}
	return len(c.Usable) > 0
}

// saturation is the rate half way between the last that kept up and the first
// that did not; infinite when all kept up.
func saturation(k curve) float64 {
	for i, c := range k.cells {
		if keepsUp(c) {
			continue
		}
		if i == 0 {
			return 0
		}
		return (offered(k.cells[i-1]) + offered(c)) / 2
	}
	return math.Inf(1)
}

// loadTitle says up to which rate the target kept up, and under what p99 stayed there:
// the upper end of the highest interval, or the largest run where runs are few.
func loadTitle(k curve) string {
	highest, most := 0.0, result.Interval{}
	for _, c := range k.cells {
		if !keepsUp(c) {
			break
		}
		highest = offered(c)
		if i := c.Interval(dataset.P99); i.High > most.High {
			most = i
		}
	}
	if highest == 0 {
		return "No offered rate could be kept up with"
	}
	return fmt.Sprintf("Up to %s records/s offered, p99 response time stays within %s (%s)",
		chart.Shorten(chart.Count(highest)), chart.Nanoseconds(most.High), bounds(most, chart.Nanoseconds))
}
