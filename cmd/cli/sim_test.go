package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/trace"
	"tidemark/replication"
	"tidemark/replication/isr"
)

func runSimCommand(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), Options{}, append([]string{"sim"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestSimTable(t *testing.T) {
	code, out, errs := runSimCommand(t, "--strategy", "isr", "--seeds", "20")
	if code != ExitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"seeds", "events a seed", "violations", "follower truncated", "session expired"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

func TestSimJSON(t *testing.T) {
	code, out, errs := runSimCommand(t, "--seeds", "5", "--json")
	var reports []simReport
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != ExitOK {
		t.Fatalf("exit %d, %v: %s", code, err, errs)
	}
	if len(reports) != 4 {
		t.Fatalf("%d strategies, want 4", len(reports))
	}
	for _, r := range reports {
		if r.Seeds != 5 || r.Events < 10000 || len(r.Reached) == 0 {
			t.Errorf("%s: %d seeds, %d events, %d states", r.Strategy, r.Seeds, r.Events, len(r.Reached))
		}
	}
}

// TestSimViolation: what is found is printed with the line that replays it, and
// that line finds it again.
func TestSimViolation(t *testing.T) {
	code, out, errs := runSimCommand(t, "--strategy", "isr", "--seeds", "40", "--truncate-to-hw")
	if code != ExitFailed {
		t.Fatalf("exit %d, want %d: %s", code, ExitFailed, errs)
	}
	for _, want := range []string{"shrunk to", "settings: isr", "its last events:", " verdict "} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	_, line, ok := strings.Cut(out, "tidemark sim replay ")
	if !ok {
		t.Fatalf("no line to replay:\n%s", out)
	}
	line, _, _ = strings.Cut(line, "\n")
	if code, _, errs := runSimCommand(t, append([]string{"replay"}, strings.Fields(line)...)...); code != ExitFailed || !strings.Contains(errs, "violated") {
		t.Errorf("replay %s: exit %d: %s", line, code, errs)
	}
}

func TestSimReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	code, out, errs := runSimCommand(t, "replay", "quorum:3", "--jsonl", file, "--only", "leader,isr")
	if code != ExitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, " leader ") || strings.Contains(out, " fetch ") {
		t.Errorf("want leaders and no fetches:\n%.2000s", out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := trace.Read(bytes.NewReader(data), func(trace.Event) error { n++; return nil }); err != nil || n < 500 {
		t.Errorf("%d events in the file, %v", n, err)
	}
}

func TestSimUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--strategy", "raft"}, {"--acks", "2"}, {"--seeds", "0"}, {"--row", "R99"}, {"--min-isr", "9"},
		{"replay", "isr"}, {"replay", "isr:x"}, {"replay", "raft:1"},
	} {
		if code, _, errs := runSimCommand(t, args...); code != ExitUsage {
			t.Errorf("sim %v: exit %d, want %d: %s", args, code, ExitUsage, errs)
		}
	}
}

// TestSimOwnStrategy: a program that brings a strategy along plays it.
func TestSimOwnStrategy(t *testing.T) {
	own := isr.Spec()
	own.Name = "mine"
	var stdout, stderr bytes.Buffer
	o := Options{Strategies: replication.Catalog{}.With(own)}
	if code := Run(context.Background(), o, []string{"sim", "--seeds", "3"}, &stdout, &stderr); code != ExitOK || !strings.Contains(stdout.String(), "MINE") {
		t.Errorf("exit %d: %s%s", code, stdout.String(), stderr.String())
	}
}

// TestSimInterrupted: an interrupted run prints its table and is marked.
func TestSimInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var stdout, stderr bytes.Buffer
	if code := Run(ctx, Options{}, []string{"sim", "--seeds", "100000"}, &stdout, &stderr); code != ExitInvalid || !strings.Contains(stdout.String(), "violations") {
		t.Errorf("exit %d, want %d and a table: %s%s", code, ExitInvalid, stdout.String(), stderr.String())
	}
}

func TestReplayKeys(t *testing.T) {
	lines := []string{"one", "two", "three", "four"}
	for key, want := range map[string]int{"": 2, "n": 2, "p": 0, "4": 3, "99": 3, "0": 0, "/four": 3, "/none": 1} {
		if got := target(key, 1, lines); got != want {
			t.Errorf("%q at event 2 leads to event %d, want %d", key, got+1, want+1)
		}
	}
	var out bytes.Buffer
	step(strings.NewReader("n\n/four\np\nq\n"), &out, lines)
	for _, want := range []string{"1/4 one", "2/4 two", "4/4 four", "3/4 three"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("stepping does not show %q:\n%s", want, out.String())
		}
	}
}
