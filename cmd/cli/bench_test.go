package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/engines/catalog"
)

// benchRun runs a command line and returns what it printed.
func benchRun(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), Options{Engines: catalog.Builtin()}, args, &o, &e)
	return code, o.String(), e.String()
}

// TestSuitesKeepTheirPromises: the quick suite is planned to take at most 12
// minutes, the smoke suite one and a half.
func TestSuitesKeepTheirPromises(t *testing.T) {
	for name, limit := range map[string]float64{"quick": 13 * 60, "smoke": 90, "full": 6 * 3600, "replication": 14 * 60, "durability": 11 * 60} {
		code, out, errs := benchRun(t, "bench", "plan", name, "--json")
		if code != ExitOK {
			t.Fatalf("plan %s: %d %s", name, code, errs)
		}
		var p result.Plan
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err)
		}
		if p.Totals.Seconds > limit || p.Totals.Runs == 0 {
			t.Errorf("%s is planned to take %.0f s for %d runs, want at most %.0f s", name, p.Totals.Seconds, p.Totals.Runs, limit)
		}
		if name == "quick" {
			quickIsWhole(t, p)
		}
	}
	code, out, _ := benchRun(t, "bench", "plan", "quick")
	for _, want := range []string{"storage.read.engine=sendfile", "base rate=10% of burst ", "oneway design, 1 block. ", " 6 blocks. ", "runs of", "writes up to about"} {
		if code != ExitOK || !strings.Contains(out, want) {
			t.Errorf("plan as text: %d, want %q in\n%s", code, want, out)
		}
	}
	if _, out, _ := benchRun(t, "bench", "plan", "replication"); !strings.Contains(out, "\nwrites up to about 448.7 GB in all, 5.7 GB at one time") {
		t.Errorf("the plan does not say what it may write:\n%s", out)
	}
	if code, out, _ := benchRun(t, "bench", "list"); code != ExitOK || !strings.Contains(out, "smoke") {
		t.Errorf("list: %d\n%s", code, out)
	}
	if code, out, _ := benchRun(t, "bench", "settings"); code != ExitOK || !strings.Contains(out, "batch.size") {
		t.Errorf("settings: %d\n%s", code, out)
	}
}

// quickIsWhole: what makes the quick suite worth its time stays in it, however short.
func quickIsWhole(t *testing.T, p result.Plan) {
	t.Helper()
	if p.Totals.BytesWritten > 420e9 {
		t.Errorf("quick may write %.0f GB, more than README says", float64(p.Totals.BytesWritten)/1e9)
	}
	pairs, kilobyte, rates, minute := map[string]bool{}, 0, 0, false
	for _, e := range p.Experiments {
		for _, c := range e.Cells {
			if e.Kind != result.Sustained && c.Axes["rate"] == "" && e.Name != "curve" && e.Blocks < 6 {
				t.Errorf("%s has %d blocks, a verdict needs 6", e.Name, e.Blocks)
			}
			if e.Name == "engines" {
				pairs[c.Config["storage.append.engine"]+" "+c.Config["storage.read.engine"]] = true
			}
			if e.Kind == result.Burst && c.Config["record.size"] == "1KiB" {
				kilobyte++
			}
			if e.Name == "curve" {
				rates++
			}
			minute = minute || e.Kind == result.Sustained
		}
	}
	if len(pairs) != 9 || kilobyte < 4 || rates < 3 || !minute {
		t.Errorf("quick has %d engine pairs, %d cells of 1 KiB, %d rates, a sustained minute: %v; want 9, 4, 3 and one", len(pairs), kilobyte, rates, minute)
	}
}

func TestBenchRunInProcess(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	suite := filepath.Join(dir, "mine.yaml")
	text := "apiVersion: bench/v1\nname: mine\nexperiments:\n  - name: e\n    workload: {driver: log, partitions: 2, warmup: 0s, window: 10s, bytes: 8MiB, fetch: 50ms}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var kept [2]string
	for i, root := range []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")} {
		code, out, errs := benchRun(t, "bench", "run", suite, "--results", root, "--no-calibration", "--no-report")
		if code != ExitOK || !strings.Contains(out, "1 of 1 runs done") || !strings.Contains(errs, "1/1") {
			t.Fatalf("run: %d\n%s\n%s", code, out, errs)
		}
		kept[i] = filepath.Join(root, "latest")
	}
	code, out, errs := benchRun(t, "bench", "compare", kept[0], kept[1])
	if code != ExitOK || !strings.Contains(out, "too few") {
		t.Errorf("compare: %d\n%s\n%s", code, out, errs)
	}
}

func TestBenchMistakesAreUsage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("apiVersion: bench/v1\nname: t\nexperimnts: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"bench", "compare", "nodir", "b"}, {"report", "nodir"}} {
		if _, _, errs := benchRun(t, args...); !strings.Contains(errs, "nodir is no folder of results") || !strings.Contains(errs, "ls results") {
			t.Errorf("%v said %q", args, errs)
		}
	}
	for _, args := range [][]string{{"bench", "plan", "nosuch"}, {"bench", "plan", bad}, {"bench", "run"}, {"bench", "compare", "a", "b"},
		{"bench", "memory-server", "--listen", "0.0.0.0:0"}} {
		if code, _, errs := benchRun(t, args...); code != ExitUsage {
			t.Errorf("%v: exit code %d (%s), want %d", args, code, errs, ExitUsage)
		}
	}
	if _, _, errs := benchRun(t, "bench", "plan", bad); !strings.Contains(errs, `bad.yaml:3:1: unknown field "experimnts"; did you mean "experiments"?`) {
		t.Errorf("message %q has no place", errs)
	}
}

func TestDoctor(t *testing.T) {
	code, out, errs := benchRun(t, "doctor", "--json", "--data", t.TempDir())
	if code != ExitOK {
		t.Fatalf("doctor: %d %s", code, errs)
	}
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Env.CPU.Logical == 0 || d.Env.Comparable == "" {
		t.Errorf("%v: %+v", err, d.Env)
	}
	if code, out, _ := benchRun(t, "doctor"); code != ExitOK || !strings.Contains(out, "processor") {
		t.Errorf("doctor as text: %d\n%s", code, out)
	}
}
