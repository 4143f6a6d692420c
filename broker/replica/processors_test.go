package replica

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
)

// TestSyncsGetProcessors: syncs do not take the processors of everybody else, also
// not twice, where appends wait for them; elsewhere, and where the environment has
// decided, there are as many as before. Each case is a process of its own, as a
// process has one number.
func TestSyncsGetProcessors(t *testing.T) {
	if policy := os.Getenv("TEST_FLUSH"); policy != "" {
		appendUnder(t, map[string]FlushPolicy{"os": FlushOS, "batch": FlushBatch, "group": FlushGroup}[policy])
		return
	}
	for name, c := range map[string]struct {
		policy, processors string
		added              int
	}{
		"os":          {"os", "", 0},
		"batch":       {"batch", "", spareProcessors},
		"group":       {"group", "", spareProcessors},
		"environment": {"group", "3", 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSyncsGetProcessors$", "-test.v")
			// An empty value is none: to the runtime as to the broker.
			cmd.Env = append(os.Environ(), "TEST_FLUSH="+c.policy, "GOMAXPROCS="+c.processors)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if want := fmt.Sprintf("added %d\n", c.added); !strings.Contains(string(out), want) {
				t.Errorf("got\n%s\nwant a line that ends with %q", out, want)
			}
		})
	}
}

func appendUnder(t *testing.T, policy FlushPolicy) {
	before := runtime.GOMAXPROCS(0)
	h := newHost(t, vfs.NewMem(), "/a")
	h.set("t", func(c *TopicConfig) { c.Flush = policy })
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	for range 2 {
		if _, _, err := h.Partition("t", 0).Append(testBatch("a"), 1, commitlog.Client); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("added %d\n", runtime.GOMAXPROCS(0)-before)
}
