// Package hist holds the latency histograms of the harness: HDR histograms in
// nanoseconds with three significant digits up to 600 s, written as percentile
// text (.hgrm) and as an HdrHistogram log (.hlog) that the stock viewers open.
//
// Nothing is clamped and nothing is dropped: a value above the range is counted
// as overflow, a value of zero or less is recorded as zero and counted beside.
package hist

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Range of every histogram.
const (
	// HighestNs is the largest value that is told apart, 600 s.
	HighestNs = 600_000_000_000
	// Digits is the number of significant decimal digits kept.
	Digits = 3
)

// Histogram counts durations in nanoseconds. It is confined to one goroutine:
// every generator owns one and the owner merges them afterwards.
type Histogram struct {
	h           *hdr.Histogram
	overflow    int64
	nonPositive int64
}

// New returns an empty histogram (about 250 KiB).
func New() *Histogram { return &Histogram{h: hdr.New(1, HighestNs, Digits)} }

// Record counts one value.
func (h *Histogram) Record(ns int64) { h.RecordN(ns, 1) }

// RecordN counts n occurrences of one value.
func (h *Histogram) RecordN(ns, n int64) {
	if ns <= 0 {
		h.nonPositive += n
		ns = 0
	}
	if err := h.h.RecordValues(ns, n); err != nil {
		h.overflow += n
	}
}

// Merge adds the counts of other, which is left as it is.
func (h *Histogram) Merge(other *Histogram) {
	h.overflow += h.h.Merge(other.h) + other.overflow
	h.nonPositive += other.nonPositive
}

// Reset empties the histogram.
func (h *Histogram) Reset() {
	h.h.Reset()
	h.overflow, h.nonPositive = 0, 0
}

// Count is the number of recorded values, overflow included.
func (h *Histogram) Count() int64 { return h.h.TotalCount() + h.overflow }

// Overflow is the number of values above HighestNs.
func (h *Histogram) Overflow() int64 { return h.overflow }

// NonPositive is the number of values of zero or less.
func (h *Histogram) NonPositive() int64 { return h.nonPositive }

// At returns the value in nanoseconds at quantile q in [0,1], and HighestNs when
// the quantile lies among the overflowed values; 0 when empty.
func (h *Histogram) At(q float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	if h.overflow > 0 && q*float64(h.Count()) > float64(h.h.TotalCount()) {
		return HighestNs
	}
	if h.overflow > 0 {
		q = q * float64(h.Count()) / float64(h.h.TotalCount())
	}
	return h.h.ValueAtPercentile(q * 100)
}

// Max is the largest recorded value, HighestNs when any overflowed.
func (h *Histogram) Max() int64 {
	if h.overflow > 0 {
		return HighestNs
	}
	return h.h.Max()
}

// Summary is what run.json keeps of a histogram; all values in nanoseconds.
type Summary struct {
	N           int64 `json:"n"`
	Min         int64 `json:"min"`
	Mean        int64 `json:"mean"`
	P50         int64 `json:"p50"`
	P90         int64 `json:"p90"`
	P99         int64 `json:"p99"`
	P999        int64 `json:"p999"`
	P9999       int64 `json:"p9999"`
	Max         int64 `json:"max"`
	Overflow    int64 `json:"overflow"`
	NonPositive int64 `json:"non_positive"`
}

// Summary returns the percentiles; all zero when empty.
func (h *Histogram) Summary() Summary {
	if h.Count() == 0 {
		return Summary{}
	}
	return Summary{
		N: h.Count(), Min: h.h.Min(), Mean: int64(h.h.Mean()),
		P50: h.At(0.5), P90: h.At(0.9), P99: h.At(0.99), P999: h.At(0.999), P9999: h.At(0.9999),
		Max: h.Max(), Overflow: h.overflow, NonPositive: h.nonPositive,
	}
}

// Point is one step of a cumulative distribution.
type Point struct {
	// Quantile is in [0,1]; 1 is the maximum.
	Quantile float64
	// Value is in nanoseconds.
	Value int64
	// Count is the number of values at or below Value.
	Count int64
}

// Spectrum returns the cumulative distribution with five steps per halving of
// the distance to 1, the resolution of the .hgrm file; nil when empty.
func (h *Histogram) Spectrum() []Point {
	if h.h.TotalCount() == 0 {
		return nil
	}
	steps := h.h.CumulativeDistributionWithTicks(spectrumTicks)
	points := make([]Point, len(steps))
	for i, s := range steps {
		points[i] = Point{Quantile: s.Quantile / 100, Value: s.ValueAt, Count: s.Count}
	}
	return points
}

const spectrumTicks = 5

// Bucket is one non-empty cell of a histogram.
type Bucket struct{ FromNs, ToNs, Count int64 }

// Buckets returns the non-empty cells in order of value, for heatmaps.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			out = append(out, Bucket{FromNs: b.From, ToNs: b.To, Count: b.Count})
		}
	}
	return out
}
