//go:build planted

package txn

import (
	"runtime"
	"testing"

	"tidemark/internal/planted"
)

// caught plants a flaw and fails unless a seed finds it.
func caught(t *testing.T, flaw planted.Flaw) {
	planted.Plant(flaw)
	t.Cleanup(func() { planted.Plant("") })
	for seed := range uint64(500) {
		if fails(seed + 1) {
			t.Logf("found by seed %d", seed+1)
			return
		}
	}
	t.Errorf("%s is planted and 500 seeds hold", flaw)
}

// fails plays a seed apart from the test, whose failure is what is wanted.
func fails(seed uint64) bool {
	apart := &testing.T{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer runtime.Goexit()
		newSim(apart, seed).play()
	}()
	<-done
	return apart.Failed()
}
