//go:build planted

package txn

import (
	"testing"

	"tidemark/internal/planted"
)

// caught plants a flaw and fails unless a seed finds it.
func caught(t *testing.T, flaw planted.Flaw) {
	planted.Caught(t, flaw, 500, func(t *testing.T, seed uint64) { newSim(t, seed+1).play() })
}
