//go:build planted

package commitlog

import (
	"testing"

	"tidemark/internal/planted"
)

// caught plants a flaw and fails unless a seed finds it.
func caught(t *testing.T, flaw planted.Flaw) {
	planted.Caught(t, flaw, 200, func(t *testing.T, seed uint64) { newFailovers(t, seed).play() })
}
