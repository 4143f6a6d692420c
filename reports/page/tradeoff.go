package page

import (
	"fmt"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// looks gives the values of an experiment's first axis a colour each, and those of
// its second a shape.
type looks struct {
	e      *dataset.Experiment
	colour map[string]chart.Ink
	shape  map[string]chart.Shape
}

func inks(e *dataset.Experiment) looks {
	l := looks{e, map[string]chart.Ink{}, map[string]chart.Shape{}}
	shapes := []chart.Shape{chart.Circle, chart.Square, chart.Diamond, chart.Triangle, chart.Down}
	if len(e.Axes) > 0 {
		for i, value := range e.Axes[0].Values {
			l.colour[value] = chart.Series(i)
		}
	}
	if len(e.Axes) > 1 {
		for i, value := range e.Axes[1].Values {
			l.shape[value] = shapes[i%len(shapes)]
		}
	}
	return l
}

func (l looks) of(cell string) (chart.Ink, chart.Shape) {
	c := l.e.Cell(cell)
	if c == nil || len(l.e.Axes) == 0 {
		return chart.Series(0), chart.Circle
	}
	ink, shape := l.colour[c.Config[l.e.Axes[0].Name]], chart.Circle
	if len(l.e.Axes) > 1 {
		shape = l.shape[c.Config[l.e.Axes[1].Name]]
	}
	return ink, shape
}

func (l looks) legend() (keys []chart.Key) {
	if len(l.e.Axes) > 0 {
		for _, value := range l.e.Axes[0].Values {
			keys = append(keys, chart.Key{Label: l.e.Axes[0].Name + "=" + value, Ink: l.colour[value], Patch: true, Shape: chart.None})
		}
	}
	if len(l.e.Axes) > 1 {
		for _, value := range l.e.Axes[1].Values {
			keys = append(keys, chart.Key{Label: l.e.Axes[1].Name + "=" + value, Ink: chart.Grey, Shape: l.shape[value]})
		}
	}
	return keys
}

// tradeoff is the picture: throughput without a fault against the chance of a loss.
func tradeoff(v *view, e *dataset.Experiment, d *result.Durability, keys looks) chart.Scatter {
	s := chart.Scatter{
		Title:    "Throughput against the chance of a loss",
		Describe: lossTitle(d) + ".",
		X:        chart.AxisSpec{Label: "records per second acknowledged without a fault", Format: chart.Count},
		Y: chart.AxisSpec{Label: fmt.Sprintf("chance that a %s loses an acknowledged record", result.FaultWords(d.Fault)), Log: true, Format: chart.Percent,
			Min: 0.01, Max: topOfChance, Ticks: percents(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)},
	}
	least := 1.0
	for i := range d.Cells {
		l := &d.Cells[i]
		c := e.Cell(l.Cell)
		if c == nil || l.Trials == 0 || c.Interval(dataset.Produce).N == 0 {
			continue
		}
		x := c.Interval(dataset.Produce)
		ink, shape := keys.of(l.Cell)
		spot := chart.Spot{Name: l.Label, X: estimate(x), Below: l.Lossy == 0, Ink: ink, Shape: shape,
			Y:   chart.Interval{Value: l.Loss.Estimate, Low: l.Loss.Low, High: l.Loss.High, Bounded: true},
			Tip: fmt.Sprintf("%s: %s records/s %s; lost in %s", l.Label, chart.Count(x.Median), bracket(x, chart.Count), l.Counted())}
		if spot.Below {
			least = min(least, l.Loss.High)
		} else {
			least = min(least, l.Loss.Low)
		}
		s.Spots = append(s.Spots, spot)
	}
	for s.Y.Min*3 > least { // room for the arrows, and for a bound of many trials
		s.Y.Min /= 10
		s.Y.Ticks = append(percents(s.Y.Min, 2*s.Y.Min, 5*s.Y.Min), s.Y.Ticks...)
	}
	return s
}

// topOfChance leaves room above 100 % for names and intervals that are set apart.
const topOfChance = 4.5

func percents(values ...float64) (out []chart.Tick) {
	for _, v := range values {
		out = append(out, chart.Tick{Value: v, Label: chart.Percent(v)})
	}
	return out
}

// debtChart sets the debt at each fault against what it lost; ok is false where the
// broker did not count it.
func debtChart(v *view, d *result.Durability, keys looks) (chart.Lines, bool) {
	l := chart.Lines{
		Title:    "Debt at the fault against records lost",
		Describe: "One mark for each trial and cell. The dashed line is where both are equal.",
		X:        chart.AxisSpec{Label: "acknowledged records that the broker counted as not yet durable", Format: chart.Count},
		Y:        chart.AxisSpec{Label: "acknowledged records lost", Format: chart.Count},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 320},
	}
	most := 0.0
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Known == 0 || c.Debt.Max == 0 {
			continue
		}
		ink, shape := keys.of(c.Cell)
		s := chart.LineSeries{Name: c.Label, MarksOnly: true, Ink: ink, Shape: shape, Hollow: true}
		for _, t := range v.Trials {
			if t.Cell == c.Cell && t.Debt >= 0 {
				s.Points = append(s.Points, chart.At(float64(t.Debt), float64(t.Lost)))
				most = max(most, float64(t.Debt))
			}
		}
		l.Series = append(l.Series, s)
	}
	if most == 0 {
		return l, false
	}
	l.Series = append(l.Series, chart.LineSeries{Name: "loss = debt", Points: []chart.Point{chart.At(0, 0), chart.At(most, most)},
		Ink: chart.Ceiling, Shape: chart.None, Dashes: []float64{5, 3}, Thin: true, Label: true})
	return l, true
}
