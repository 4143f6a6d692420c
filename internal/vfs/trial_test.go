package vfs

import (
	"errors"
	"os"
	"testing"

	"tidemark/engines"
)

// TestTrialLeavesNothing: a process that is killed in the middle of a trial leaves no
// file, however much an engine reserved.
func TestTrialLeavesNothing(t *testing.T) {
	dir, refusal := t.TempDir(), errors.New("not here")
	err := TrialAppend(dir, func(f File, _ int64, _ engines.AppendOptions) (engines.Appender, error) {
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("%v, %v during a trial, want nothing", entries, err)
		}
		return nil, refusal
	})
	if !errors.Is(err, refusal) {
		t.Fatalf("got %v, want what the engine said", err)
	}
}
