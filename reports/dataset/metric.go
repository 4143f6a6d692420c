package dataset

import (
	"sort"

	"tidemark/bench/hist"
	"tidemark/bench/result"
	"tidemark/bench/stats"
)

// summary is what a run keeps of a histogram.
type summary = hist.Summary

// Metric is a figure of a run: its name in compare.json where it has one, and how
// to take it from a single run.
type Metric struct {
	Name string
	// Of returns the figure; ok is false where the run has none.
	Of func(result.Run) (v float64, ok bool)
}

// The metrics of a report. The first ones are in compare.json; those from
// ProduceCostGB on are only shown, never judged.
var (
	Produce       = Metric{result.MetricProduce, window(producing, func(w *result.Window) float64 { return float64(w.AckedPerS) })}
	Fetch         = Metric{result.MetricFetch, window(fetching, func(w *result.Window) float64 { return float64(w.AckedPerS) })}
	P50           = Metric{result.MetricP50, response(func(h summary) int64 { return h.P50 })}
	P99           = Metric{result.MetricP99, response(func(h summary) int64 { return h.P99 })}
	P999          = Metric{"response_p999_ns", response(func(h summary) int64 { return h.P999 })}
	E2EP99        = Metric{result.MetricE2EP99, endToEnd}
	ProduceCost   = Metric{result.MetricProduceCost, window(producing, (*result.Window).CoreSecondsPerMillion)}
	FetchCost     = Metric{result.MetricFetchCost, window(fetching, (*result.Window).CoreSecondsPerMillion)}
	ProduceCostGB = Metric{"produce_broker_core_s_per_gb", window(producing, perGB)}
	FetchCostGB   = Metric{"fetch_broker_core_s_per_gb", window(fetching, perGB)}
	Compression   = Metric{"compression_ratio", compression}
)

func producing(r result.Run) *result.Window { return r.Produce }
func fetching(r result.Run) *result.Window  { return r.Fetch }

// window takes a figure of a measured window; zero is no figure.
func window(of func(result.Run) *result.Window, take func(*result.Window) float64) func(result.Run) (float64, bool) {
	return func(r result.Run) (float64, bool) {
		w := of(r)
		if w == nil {
			return 0, false
		}
		v := take(w)
		return v, v > 0
	}
}

// response takes a percentile of the response time of paced runs; in a saturating
// run that time describes the harness's own queue.
func response(take func(summary) int64) func(result.Run) (float64, bool) {
	return func(r result.Run) (float64, bool) {
		if r.Kind != result.Paced || r.Produce == nil || r.Produce.ResponseNs == nil || r.Produce.ResponseNs.N == 0 {
			return 0, false
		}
		return float64(take(*r.Produce.ResponseNs)), true
	}
}

func endToEnd(r result.Run) (float64, bool) {
	for _, w := range []*result.Window{r.Produce, r.Fetch} {
		if r.Kind == result.Paced && w != nil && w.E2ENs != nil && w.E2ENs.N > 0 {
			return float64(w.E2ENs.P99), true
		}
	}
	return 0, false
}

// perGB is the target's cost of 10⁹ bytes of batches on the wire.
func perGB(w *result.Window) float64 {
	if w.WireBytes == 0 {
		return 0
	}
	return float64(w.CPU.TargetNs()) / float64(w.WireBytes)
}

// compression is uncompressed batch bytes ÷ bytes on the wire.
func compression(r result.Run) (float64, bool) {
	if r.Records.CompressRate <= 0 {
		return 0, false
	}
	return 1000 / float64(r.Records.CompressRate), true
}

// Values are the figures of the usable runs, in block order.
func (c *Cell) Values(m Metric) []float64 {
	var out []float64
	for _, r := range c.Usable {
		if v, ok := m.Of(r); ok {
			out = append(out, v)
		}
	}
	return out
}

// Interval is the cell's estimate: the folder's own where it has one, else median
// and extremes of the usable runs. N is zero when there is no usable run.
func (c *Cell) Interval(m Metric) result.Interval {
	if s, ok := c.stats[m.Name]; ok && s.Interval.N > 0 {
		return s.Interval
	}
	values := c.Values(m)
	if len(values) == 0 {
		return result.Interval{How: "none"}
	}
	sort.Float64s(values)
	return result.Interval{
		N: len(values), Median: Median(values), Center: result.CenterMedian, Low: values[0], High: values[len(values)-1], How: "min_max",
	}
}

// Valid is the estimate of the valid runs alone; ok is false where all are valid, and
// where too few are.
func (c *Cell) Valid(m Metric) (i result.Interval, ok bool) {
	if s := c.stats[m.Name]; s.Valid != nil {
		return *s.Valid, true
	}
	return i, false
}

// RateAxis is the axis along which an experiment offers different loads.
const RateAxis = "rate"

// Pair is the cell against its base; ok is false for the base itself, where nothing
// was compared, and for a cell at another offered rate: that is another question,
// not a better or a worse answer.
func (c *Cell) Pair(m Metric) (p result.Pair, ok bool) {
	if _, other := c.Axes[RateAxis]; other {
		return p, false
	}
	p, ok = c.pairs[m.Name]
	return p, ok
}

// Median of sorted values; 0 of none.
func Median(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Ratio is a cell's figure against another's, paired by block.
func Ratio(over, under *Cell, m Metric) result.Interval {
	return stats.Ratio(over.byBlock(m), under.byBlock(m))
}

func (c *Cell) byBlock(m Metric) map[int]float64 {
	out := map[int]float64{}
	for _, r := range c.Usable {
		if v, ok := m.Of(r); ok {
			out[r.Block] = v
		}
	}
	return out
}
