package stats

import (
	"maps"
	"math"
	"slices"

	"tidemark/bench/result"
)

// Ratio is over ÷ under, values by block, in the blocks that have both: the geometric
// mean with the interval of the mean logarithm, the extremes below LeastN blocks. N
// is 0 where no block has both.
func Ratio(over, under map[int]float64) result.Interval {
	var logs []float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, block := range slices.Sorted(maps.Keys(over)) {
		if over[block] > 0 && under[block] > 0 {
			l := math.Log(over[block] / under[block])
			logs, low, high = append(logs, l), min(low, l), max(high, l)
		}
	}
	if len(logs) == 0 {
		return result.Interval{How: "none"}
	}
	i, _ := PairedT(logs)
	how := "paired_t"
	if len(logs) < LeastN {
		i.Low, i.High, how = low, high, "min_max"
	}
	return result.Interval{N: len(logs), Median: math.Exp(i.Center), Center: result.CenterMean, Low: math.Exp(i.Low), High: math.Exp(i.High), How: how}
}
