//go:build race

package network

// raceEnabled: pools drop at random under the race detector, so that allocations
// cannot be counted.
const raceEnabled = true
