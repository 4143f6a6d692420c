//go:build race

package replicationtest_test

// soundSeeds are fewer under the race detector, which has nothing to find in what
// runs on one goroutine.
const soundSeeds = 20
