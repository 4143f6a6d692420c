//go:build race

package replica

// raceEnabled: pools drop at random under the race detector, so allocations are
// not counted.
const raceEnabled = true
