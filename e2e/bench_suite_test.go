package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark/bench/result"
)

// runSuite has the binary run a suite of that text, which makes so many runs, and
// returns the folder of its results.
func runSuite(t *testing.T, text string, runs int) *result.Folder {
	t.Helper()
	dir := t.TempDir()
	suite := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), binary, "bench", "run", suite, "--results", dir, "--no-calibration")
	run.Env = append(os.Environ(), "TMPDIR="+dir) // another invocation of the machine's is none of ours
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder, err := result.Load(filepath.Join(dir, "latest"))
	if err != nil || len(folder.Runs) != runs {
		t.Fatalf("%v: %d runs, want %d", err, len(folder.Runs), runs)
	}
	return folder
}
