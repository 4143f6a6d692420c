package broker

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/vfs"
)

// TestDirectoryNamedTwice: a log directory that log.dirs names twice is not blamed on
// another process.
func TestDirectoryNamedTwice(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".lock")
	first, err := vfs.OS{}.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, err = vfs.OS{}.Lock(name)
	if err = explainLock(err); err == nil || !strings.Contains(err.Error(), "name each directory once") || strings.Contains(err.Error(), "stop that process") {
		t.Errorf("%v, want the advice to name each directory once", err)
	}
	if err := explainLock(context.Canceled); err != context.Canceled {
		t.Errorf("another error became %v", err)
	}
}
