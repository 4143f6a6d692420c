package page

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// noise shows every run against its own cell in the order of execution: scatter is
// the machine's noise, a slope is drift, which interleaving spreads over all cells.
func noise(v *view) (Panel, error) {
	c := chart.Lines{
		Title:    "every run against its own cell, in run order",
		Describe: "One mark per run: its value divided by the median of its cell, over the position of the run.",
		X:        chart.AxisSpec{Label: "position of the run in the invocation"},
		Y:        chart.AxisSpec{Label: "run ÷ median of its cell", Format: chart.Percent, Free: true},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 300},
		Rules:    []chart.Rule{{Value: 1, Label: ""}},
	}
	t := Table{Name: "run to run", Columns: []Column{
		text("experiment"), text("cell"), text("figure"), num("n", "runs"), num("coefficient of variation", "%"), num("smallest ÷ median", "%"), num("largest ÷ median", "%"),
	}}
	var orders, ratios, spreads []float64
	for _, e := range v.Experiments {
		m := dataset.Produce
		if e.Kind == result.Paced {
			m = dataset.P50
		}
		s := chart.LineSeries{Name: e.Name, MarksOnly: true, Ink: chart.Series(len(c.Series)), Shape: chart.Shape(len(c.Series) % int(chart.None))}
		for _, cell := range e.Cells {
			values := cell.Values(m)
			if len(values) < 2 {
				continue
			}
			middle := middleOf(values)
			for _, r := range cell.Usable {
				x, ok := m.Of(r)
				if !ok {
					continue
				}
				s.Points = append(s.Points, chart.Point{X: chart.Interval{Value: float64(r.Order)}, Y: chart.Interval{Value: x / middle},
					Tip: fmt.Sprintf("run %d, %s, block %d: %s of its cell's median", r.Order, axes(cell, e.Axes), r.Block, chart.Percent(x/middle))})
				orders, ratios = append(orders, float64(r.Order)), append(ratios, x/middle)
			}
			cv := stat.StdDev(values, nil) / stat.Mean(values, nil)
			spreads = append(spreads, cv)
			t.add(baseClass(cell), word(e.Name), word(axes(cell, e.Axes)), word(map[bool]string{true: "p50 response time", false: "records/s produced"}[m.Name == result.MetricP50]),
				number(float64(len(values)), fmt.Sprint(len(values))), tenth(cv), tenth(values[0]/middle), tenth(values[len(values)-1]/middle))
		}
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	if len(ratios) == 0 {
		return Panel{}, &MissingError{"no cell ran twice, so nothing is known about the noise"}
	}
	p := Panel{Lead: "The order of cells is shuffled within every block, so that drift of the machine falls on all cells alike.", Tables: []Table{t}}
	p.Figures = []Figure{draw("", c.Keys(), c)}
	p.Title = fmt.Sprintf("Half of the cells vary by less than %s from run to run", chart.Percent(middleOf(spreads)))
	p.Caption = trend(orders, ratios)
	p.Caption += " " + v.floorRule()
	if floors := v.floorTable(); len(floors.Rows) > 0 {
		p.Tables = append(p.Tables, floors)
	}
	return p, nil
}

func tenth(v float64) Cell { return number(v*100, fmt.Sprintf("%.1f", v*100)) }

// trend tests whether run order and value go together: Kendall's τ with the normal
// approximation of its p, which is good from about ten runs.
func trend(orders, ratios []float64) string {
	n := float64(len(orders))
	if n < 10 {
		return fmt.Sprintf("%d runs: too few to test for drift.", len(orders))
	}
	tau := stat.Kendall(orders, ratios, nil)
	z := tau / math.Sqrt(2*(2*n+5)/(9*n*(n-1)))
	p := math.Erfc(math.Abs(z) / math.Sqrt2)
	said := "no drift over the invocation is shown"
	if p < 0.05 {
		said = "the machine drifted " + map[bool]string{true: "upwards", false: "downwards"}[tau > 0] + " over the invocation"
	}
	return fmt.Sprintf("%d runs; Kendall's τ of value against run order %.2f, p = %.2g: %s.", len(orders), tau, p, said)
}
