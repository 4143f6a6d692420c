//go:build !planted

package txn

import (
	"testing"

	"tidemark/internal/planted"
)

// caught has nothing to do in a sound build.
func caught(*testing.T, planted.Flaw) {}
