//go:build planted

package planted

import (
	"runtime"
	"testing"
)

// Caught plants a flaw and fails unless one of the seeds 0 to n−1 finds it: play, a
// test of that seed, fails.
func Caught(t *testing.T, flaw Flaw, seeds uint64, play func(t *testing.T, seed uint64)) {
	t.Helper()
	Plant(flaw)
	t.Cleanup(func() { Plant("") })
	for seed := range seeds {
		if fails(seed, play) {
			t.Logf("found by seed %d", seed)
			return
		}
	}
	t.Errorf("%s is planted and %d seeds hold", flaw, seeds)
}

// fails plays a seed apart from the test, whose failure is what is wanted.
func fails(seed uint64, play func(*testing.T, uint64)) bool {
	apart := &testing.T{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer runtime.Goexit()
		play(apart, seed)
	}()
	<-done
	return apart.Failed()
}
