//go:build !planted

package replication_test

import (
	"testing"

	"tidemark/internal/planted"
)

// plant does nothing in a sound build.
func plant(*testing.T, planted.Flaw) {}
