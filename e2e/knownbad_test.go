package e2e

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestIgnoredSyncErrorsAreCaught builds a log that goes on after a failed sync as
// if nothing had been, and wants the test of what it promises to fail: a check that
// cannot fail is none.
func TestIgnoredSyncErrorsAreCaught(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "test", "-tags", "tidemark_bad_fsync", "-run", "^TestFailedSyncsPromiseNothing$", "tidemark/commitlog").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "was promised and a power cut leaves") {
		t.Errorf("a build that ignores failed syncs passes: %v\n%s", err, out)
	}
}
