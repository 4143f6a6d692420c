//go:build !race

package sim

// scaled is a number of seeds; the race detector gets fewer.
func scaled(seeds int) int { return seeds }
