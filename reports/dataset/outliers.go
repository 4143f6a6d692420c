package dataset

import (
	"math"
	"sort"
)

// Outlier is a run whose figure lies outside the fences of its cell. It stays in every
// statistic; naming it tells a reader where one run makes the figure.
type Outlier struct {
	Block int
	Value float64
}

// fewest is how many runs a cell needs for its quartiles to mean anything.
const fewest = 5

// farEnough is the share of the median by which an outlier differs from it at least: a
// cell of runs that are nearly alike has narrow fences.
const farEnough = 0.10

// Outliers are the usable runs outside Tukey's fences, more than one and a half times
// the distance of the quartiles beyond them, and a tenth off the median.
func (c *Cell) Outliers(m Metric) []Outlier {
	values := c.Values(m)
	if len(values) < fewest {
		return nil
	}
	sort.Float64s(values)
	lower, upper := quartile(values, 0.25), quartile(values, 0.75)
	reach, middle := 1.5*(upper-lower), Median(values)
	var out []Outlier
	for _, r := range c.Usable {
		if v, ok := m.Of(r); ok && (v < lower-reach || v > upper+reach) && math.Abs(v/middle-1) > farEnough {
			out = append(out, Outlier{r.Block, v})
		}
	}
	return out
}

// quartile interpolates between the two values around a share of sorted ones.
func quartile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
