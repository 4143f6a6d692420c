package vfs

import (
	"os"
	"testing"
)

// TestTrialLeavesNothing: a process that is killed in the middle of a trial leaves no
// file, however much an engine reserved.
func TestTrialLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	err := Trial(dir, func(f File) error {
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("%v, %v during a trial, want nothing", entries, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
