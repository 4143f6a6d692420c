//go:build race

package sim

// scaled is a number of seeds under the race detector, which makes a run ten
// times as long and has one goroutine a world to look at.
func scaled(seeds int) int { return max(1, seeds/10) }
