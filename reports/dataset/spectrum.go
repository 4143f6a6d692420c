package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sort"

	"tidemark/bench/hist"
)

// Percentile is one point of a spectrum: the median over runs of the value at a
// quantile, in nanoseconds.
type Percentile struct{ Quantile, Median float64 }

// quantiles are the points at which the spectra of several runs are joined:
// twelve steps for each tenfold approach to 1.
func quantiles() []float64 {
	out := []float64{0}
	for step := 1; step <= 12*7; step++ {
		out = append(out, 1-math.Pow(10, -float64(step)/12))
	}
	return out
}

// needed is how many values a run must hold above a quantile before the quantile
// is shown: from p99.9 on, where a handful of values says nothing, a hundred.
func needed(q float64) float64 {
	if q >= 0.999-1e-9 {
		return 100
	}
	return 10
}

// Enough reports whether n values hold enough beyond a quantile for it to be shown.
func Enough(n int64, q float64) bool { return float64(n)*(1-q) >= needed(q)-1e-6 }

// Spectrum joins the percentile distributions of a cell's usable runs. An error
// that is fs.ErrNotExist says that no run has this histogram.
func (inv *Invocation) Spectrum(c *Cell, metric string) ([]Percentile, error) {
	var runs [][]hist.Point
	var missing error
	for _, r := range c.Usable {
		points, err := inv.Folder.Spectrum(r, metric)
		if errors.Is(err, fs.ErrNotExist) {
			missing = err
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("spectrum of %s: %w", c.Label, err)
		}
		if len(points) > 0 {
			runs = append(runs, points)
		}
	}
	if len(runs) == 0 {
		if missing == nil {
			missing = fmt.Errorf("no usable run: %w", fs.ErrNotExist)
		}
		return nil, missing
	}
	var out []Percentile
	for _, q := range quantiles() {
		values := at(runs, q)
		if len(values) == 0 {
			break
		}
		sort.Float64s(values)
		out = append(out, Percentile{q, Median(values)})
	}
	return out, nil
}

// at is the value of every run at a quantile, for as long as all runs hold enough
// values beyond it.
func at(runs [][]hist.Point, q float64) []float64 {
	var out []float64
	for _, points := range runs {
		total := points[len(points)-1].Count
		if !Enough(total, q) {
			return nil
		}
		out = append(out, between(points, q))
	}
	return out
}

// between is the value at a quantile, interpolated over the logarithm of the
// distance to 1, in which the points of a distribution are evenly spaced.
func between(points []hist.Point, q float64) float64 {
	i := sort.Search(len(points), func(i int) bool { return points[i].Quantile >= q })
	if i == len(points) {
		i--
	}
	above := points[i]
	if i == 0 || above.Quantile <= q || above.Quantile >= 1 {
		return float64(above.Value)
	}
	below := points[i-1]
	far := func(q float64) float64 { return -math.Log(1 - q) }
	part := (far(q) - far(below.Quantile)) / (far(above.Quantile) - far(below.Quantile))
	return float64(below.Value) + part*float64(above.Value-below.Value)
}
