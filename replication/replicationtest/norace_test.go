//go:build !race

package replicationtest_test

// soundSeeds are how many a sound strategy goes through here; the simulator's own
// suite has more.
const soundSeeds = 150
