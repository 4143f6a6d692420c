//go:build planted

package commitlog

import (
	"runtime"
	"testing"

	"tidemark/internal/planted"
)

// caught plants a flaw and fails unless a seed finds it.
func caught(t *testing.T, flaw planted.Flaw) {
	planted.Plant(flaw)
	t.Cleanup(func() { planted.Plant("") })
	for seed := range uint64(200) {
		if fails(seed) {
			t.Logf("found by seed %d", seed)
			return
		}
	}
	t.Errorf("%s is planted and 200 seeds hold", flaw)
}

// fails plays a seed apart from the test, whose failure is what is wanted.
func fails(seed uint64) bool {
	apart := &testing.T{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer runtime.Goexit()
		newFailovers(apart, seed).play()
	}()
	<-done
	return apart.Failed()
}
