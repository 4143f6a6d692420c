//go:build planted

package group

import (
	"testing"

	"tidemark/internal/planted"
)

// caught plants a flaw and fails unless a random sequence finds it.
func caught(t *testing.T, flaw planted.Flaw) {
	planted.Caught(t, flaw, 300, func(t *testing.T, seed uint64) {
		drive(t, sequence(seed))
		consume(t, seed)
	})
}
