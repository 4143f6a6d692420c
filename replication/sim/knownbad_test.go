//go:build !planted

package sim

import (
	"os"
	"os/exec"
	"testing"
)

// TestPlanted builds this package with the known-bad flaws and has each found.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another test binary")
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "planted", "-count=1", "-run", "TestPlantedFound", "-v", ".")
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("a known-bad build is not found: %v", err)
	}
}
