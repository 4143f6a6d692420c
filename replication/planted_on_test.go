//go:build planted

package replication_test

import (
	"testing"

	"tidemark/internal/planted"
)

// plant makes the process bad until the test ends.
func plant(t *testing.T, flaw planted.Flaw) {
	planted.Plant(flaw)
	t.Cleanup(func() { planted.Plant("") })
}
