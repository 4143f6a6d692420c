// Package golden compares what a test produced with a file that is kept in the
// tree: generated pages of documentation and golden traces. With -rewrite the
// file is written again instead. Only tests import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write golden files and generated pages again")

// Check fails the test where the file at path, relative to the test's package, is
// not exactly got. With -rewrite it makes it so.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -rewrite writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what comes out now; -rewrite accepts it (-file +now):\n%s", path, diff)
	}
}

// Play writes a story anew: run carries out its commands, the lines that begin with
// "> ", word by word, and may write what came of them to out. Commands, comments (#)
// and blank lines are kept, all else is dropped.
func Play(story string, out *strings.Builder, run func(words []string)) {
	for _, line := range strings.Split(strings.TrimSuffix(story, "\n"), "\n") {
		command, is := strings.CutPrefix(line, "> ")
		if is || line == "" || strings.HasPrefix(line, "#") {
			out.WriteString(line + "\n")
		}
		if is {
			run(strings.Fields(command))
		}
	}
}
