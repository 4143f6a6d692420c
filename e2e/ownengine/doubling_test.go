package main

import (
	"testing"

	"tidemark/engines/catalog"
	"tidemark/engines/enginetest"
)

func TestDoublingHoldsTheContract(t *testing.T) {
	if err := enginetest.CheckAppend(doubling(), t.TempDir()); err != nil {
		t.Error(err)
	}
	for _, read := range catalog.Builtin().Reads() {
		if err := enginetest.CheckPair(doubling(), read, t.TempDir()); err != nil {
			t.Errorf("with %s: %v", read.Name, err)
		}
	}
}
