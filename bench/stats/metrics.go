package stats

import "tidemark/bench/result"

// metric is one figure of a run.
type metric struct {
	name string
	// words are what a sentence calls it; empty where another figure stands for it.
	words string
	// moreIsFaster: records per second, as against nanoseconds.
	moreIsFaster bool
	// value is the figure, ok false where the run has none.
	value func(r *result.Run) (v float64, ok bool)
}

var metrics = []metric{
	{result.MetricProduce, "records/s produced", true, func(r *result.Run) (float64, bool) { return positive(r.Produce, acked) }},
	{result.MetricFetch, "records/s fetched", true, func(r *result.Run) (float64, bool) { return positive(r.Fetch, acked) }},
	{result.MetricProduceWire, "", true, func(r *result.Run) (float64, bool) { return positive(r.Produce, wire) }},
	{result.MetricFetchWire, "", true, func(r *result.Run) (float64, bool) { return positive(r.Fetch, wire) }},
	{result.MetricP50, "p50 response time", false, latency(func(w *result.Window) int64 { return w.ResponseNs.P50 })},
	{result.MetricP99, "p99 response time", false, latency(func(w *result.Window) int64 { return w.ResponseNs.P99 })},
	{result.MetricE2EP99, "p99 end to end", false, func(r *result.Run) (float64, bool) {
		if r.Kind != result.Paced || r.Produce == nil || r.Produce.E2ENs == nil {
			return 0, false
		}
		return float64(r.Produce.E2ENs.P99), r.Produce.E2ENs.P99 > 0
	}},
	{result.MetricProduceCost, "broker CPU per record produced", false, func(r *result.Run) (float64, bool) { return positive(r.Produce, cost) }},
	{result.MetricFetchCost, "broker CPU per record fetched", false, func(r *result.Run) (float64, bool) { return positive(r.Fetch, cost) }},
}

func acked(w *result.Window) float64 { return float64(w.AckedPerS) }
func wire(w *result.Window) float64  { return float64(w.WirePerS) }
func cost(w *result.Window) float64  { return w.CoreSecondsPerMillion() }

func positive(w *result.Window, value func(*result.Window) float64) (float64, bool) {
	if w == nil {
		return 0, false
	}
	v := value(w)
	return v, v > 0
}

// latency is a figure of paced runs only: that of a saturated run is the length
// of the harness's own queue.
func latency(value func(*result.Window) int64) func(*result.Run) (float64, bool) {
	return func(r *result.Run) (float64, bool) {
		if r.Kind != result.Paced || r.Produce == nil || r.Produce.ResponseNs == nil {
			return 0, false
		}
		v := value(r.Produce)
		return float64(v), v > 0
	}
}
