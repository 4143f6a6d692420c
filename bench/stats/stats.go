// Package stats says what repeated runs allow to say. The unit is a run with
// fresh processes, never a second of one: values inside a run are not
// independent. Ratios are compared as logarithms, paired by block, because cells
// of one block ran close together in time.
package stats

import (
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence of every interval.
const Confidence = 0.95

// LeastN is the number of runs below which no verdict is given: with fewer, not even
// differences that all point the same way would be rarer than 5 % (2 in 2⁵).
const LeastN = 6

// Interval is an estimate with its bounds.
type Interval struct{ Center, Low, High float64 }

// Median is the middle of values, or the mean of the two in the middle; NaN of
// none. values stay as they are.
func Median(values []float64) float64 {
	s := sorted(values)
	if len(s) == 0 {
		return math.NaN()
	}
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

func sorted(values []float64) []float64 {
	s := append([]float64(nil), values...)
	sort.Float64s(s)
	return s
}

// MedianInterval is the order-statistic interval of the median; ok is false for
// fewer than LeastN values, and the bounds are then the extremes.
func MedianInterval(values []float64) (i Interval, ok bool) {
	s := sorted(values)
	if len(s) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}, false
	}
	i = Interval{Median(s), s[0], s[len(s)-1]}
	if len(s) < LeastN {
		return i, false
	}
	// The k-th smallest and k-th largest bound the median unless fewer than k
	// values fell on one side, each a fair coin.
	b := distuv.Binomial{N: float64(len(s)), P: 0.5}
	k := 1
	for 2*b.CDF(float64(k)) <= 1-Confidence {
		k++
	}
	i.Low, i.High = s[k-1], s[len(s)-k]
	return i, true
}

// PairedT is the mean of differences with its t interval, and the two-sided p
// of a mean of zero. Fewer than two differences, or none that differ, give an
// interval without width and p 1.
func PairedT(differences []float64) (i Interval, p float64) {
	n := float64(len(differences))
	if n == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}, 1
	}
	mean, sd := stat.MeanStdDev(differences, nil)
	if n < 2 {
		return Interval{mean, mean, mean}, 1
	}
	se := sd / math.Sqrt(n)
	return tInterval(mean, se, n-1)
}

func tInterval(mean, se, df float64) (Interval, float64) {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	half := t.Quantile(1-(1-Confidence)/2) * se
	p := 1.0
	switch {
	case se > 0:
		p = 2 * t.Survival(math.Abs(mean)/se)
	case mean != 0:
		p = 0
	}
	return Interval{mean, mean - half, mean + half}, p
}

// Welch is the difference of the means of b and a with its interval, for samples
// that are not paired, and the two-sided p of no difference.
func Welch(a, b []float64) (Interval, float64) {
	if len(a) < 2 || len(b) < 2 {
		d := stat.Mean(b, nil) - stat.Mean(a, nil)
		return Interval{d, d, d}, 1
	}
	ma, sa := stat.MeanStdDev(a, nil)
	mb, sb := stat.MeanStdDev(b, nil)
	va, vb := sa*sa/float64(len(a)), sb*sb/float64(len(b))
	if va+vb == 0 {
		return tInterval(mb-ma, 0, 1)
	}
	df := (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	return tInterval(mb-ma, math.Sqrt(va+vb), df)
}

// resamples of a bootstrap.
const resamples = 10_000

// Bootstrap is the median of differences with its percentile interval, and the
// two-sided p of a median of zero, from seeded resamples.
func Bootstrap(differences []float64, seed uint64) (i Interval, p float64) {
	n := len(differences)
	if n == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}, 1
	}
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	medians := make([]float64, resamples)
	draw := make([]float64, n)
	var below, above int
	for r := range medians {
		for k := range draw {
			draw[k] = differences[random.IntN(n)]
		}
		medians[r] = Median(draw)
		if medians[r] <= 0 {
			below++
		}
		if medians[r] >= 0 {
			above++
		}
	}
	sort.Float64s(medians)
	tail := (1 - Confidence) / 2
	i = Interval{Median(differences), stat.Quantile(tail, stat.Empirical, medians, nil), stat.Quantile(1-tail, stat.Empirical, medians, nil)}
	return i, min(1, 2*float64(1+min(below, above))/float64(1+resamples))
}

// Holm corrects p values for their number, in their own order.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return p[order[a]] < p[order[b]] })
	out := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order {
		largest = max(largest, min(1, p[i]*float64(len(p)-rank)))
		out[i] = largest
	}
	return out
}
