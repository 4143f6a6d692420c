package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"tidemark/bench/driver/memserver"
	"tidemark/bench/result"
	"tidemark/bench/workload"
	"tidemark/engines/catalog"
)

// TestMain lets this test program be the child that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "bench" && os.Args[2] == "memory-server" {
		os.Exit(serveMemory())
	}
	if len(os.Args) > 1 && os.Args[1] == "broker" {
		fmt.Fprintln(os.Stderr, "this broker does not start")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func serveMemory() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"listener": l.Addr().String()}); err != nil {
		return 1
	}
	if err := memserver.Run(ctx, l); err != nil {
		return 1
	}
	return 0
}

const small = `apiVersion: bench/v1
name: small
about: Every driver that needs no broker.
defaults:
  blocks: 2
  workload: {partitions: 2, producers: 2, consumers: 1, warmup: 0s, window: 10s, fetch: 100ms, bytes: 24MiB, interval: 20ms}
experiments:
  - name: raw
    workload: {target: memory}
    matrix:
      axes:
        batch.size: [16KiB, 64KiB]
  - name: franz
    workload: {driver: franz, target: memory, bytes: 48MiB, fetch: 10s}
    blocks: 1
  - name: engines
    blocks: 1
    workload: {driver: log}
    matrix:
      axes:
        storage.append.engine: [buffered, mapped]
        storage.read.engine: [pread, sendfile, mapped]
  - name: harness
    blocks: 1
    workload: {driver: null}
  - name: paced
    blocks: 1
    workload: {target: memory, rate: 1% of raw, tail: true, window: 200ms, fetch: 0s}
    client: {batch.records: 10}
`

// notes is a Progress that remembers.
type notes struct {
	started, finished int
	failed            []error
	after             func(finished int)
}

func (n *notes) Planned(result.Plan, string)                          {}
func (n *notes) Note(string)                                          {}
func (n *notes) Started(int, int, string, string, int, time.Duration) { n.started++ }
func (n *notes) TrialStarted(int, int, time.Duration)                 {}
func (n *notes) TrialFinished([]result.Trial, error)                  {}
func (n *notes) Finished(_ *result.Run, err error) {
	n.finished++
	if err != nil {
		n.failed = append(n.failed, err)
	}
	if n.after != nil {
		n.after(n.finished)
	}
}

func runSuite(t *testing.T, ctx context.Context, text string, n *notes) (*Summary, string) {
	t.Helper()
	spec, err := workload.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Setenv("TMPDIR", root) // the lock is this test's own
	s, err := Run(ctx, Options{Spec: spec, Text: []byte(text), Results: root, Engines: catalog.Builtin(), Command: []string{"test"}, Progress: n})
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(root, dataPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("data left behind: %v %v", left, err)
	}
	return s, root
}

// TestSuiteFillsTheFolder runs everything that needs no broker and checks every
// written file against its schema.
func TestSuiteFillsTheFolder(t *testing.T) {
	n := &notes{}
	s, root := runSuite(t, t.Context(), small, n)
	if len(n.failed) > 0 || s.Failed != 0 || s.Done != s.Planned || n.started != n.finished || s.Planned == 0 {
		t.Fatalf("%+v, failures %v", s, n.failed)
	}
	f, err := result.Load(filepath.Join(root, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Dir != s.Folder || len(f.Problems) > 0 || len(f.Runs) != s.Planned || f.Env == nil || f.Compare == nil || !f.State.Finished {
		t.Fatalf("folder %+v", f)
	}
	for _, r := range f.Runs {
		if r.Status == result.Invalid {
			t.Errorf("%s %s: %v", r.Experiment, r.Label, r.Reasons)
		}
		checkRun(t, f, r)
	}
	checkSchemas(t, f.Dir, "cells/*/*/run.json", "run-v1")
	checkManifest(t, f.Dir)
	text, err := os.ReadFile(filepath.Join(f.Dir, "bench.txt"))
	if err != nil || !bytes.Contains(text, []byte("BenchmarkRaw/driver=raw/batch.size=64KiB/phase=produce 1 ")) {
		t.Errorf("bench.txt: %v\n%s", err, text)
	}
}

func checkRun(t *testing.T, f *result.Folder, r result.Run) {
	t.Helper()
	rows, err := f.Series(r)
	if err != nil || len(rows) == 0 {
		t.Errorf("%s %s: series %v %v", r.Experiment, r.Label, rows, err)
	}
	if r.Produce == nil || r.Produce.AckedPerS <= 0 || (r.Fetch == nil) != (r.Kind == result.Paced) {
		t.Errorf("%s %s: produce %+v, fetch %+v", r.Experiment, r.Label, r.Produce, r.Fetch)
		return
	}
	points, err := f.Spectrum(r, result.HistResponse)
	if err != nil || len(points) == 0 || points[len(points)-1].Count != r.Produce.ResponseNs.N {
		t.Errorf("%s %s: spectrum %v %v, want %d values", r.Experiment, r.Label, points, err, r.Produce.ResponseNs.N)
	}
	intervals, err := f.Intervals(r)
	var values int64
	for _, i := range intervals {
		if i.Metric == result.HistResponse {
			values += i.Hist.Count()
		}
	}
	if err != nil || values != r.Produce.ResponseNs.N {
		t.Errorf("%s %s: intervals hold %d response times of %d (%v)", r.Experiment, r.Label, values, r.Produce.ResponseNs.N, err)
	}
	if r.Kind == result.Paced && (r.Produce.E2ENs == nil || r.Check.Read != r.Ledger.Acked) {
		t.Errorf("paced run: end to end %v, check %+v of %d", r.Produce.E2ENs, r.Check, r.Ledger.Acked)
	}
}

// checkSchemas validates every JSON file that has a schema: those of every folder,
// and one more pattern with its own.
func checkSchemas(t *testing.T, dir, pattern, schema string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	checked := map[string]int{}
	for pattern, schema := range map[string]string{"resolved.json": "plan-v1", "state.json": "state-v1", "env.json": "env-v1",
		"compare.json": "compare-v1", pattern: schema} {
		compiled, err := compiler.Compile(filepath.Join("..", "..", "schema", schema+".json"))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Errorf("no %s (%v)", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(v); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			checked[schema]++
			object, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%s is no object", file)
			}
			object["schema"] = "other/v1"
			if err := compiled.Validate(object); err == nil {
				t.Errorf("%s accepts a file of another schema: it checks nothing", schema)
			}
		}
	}
}

func checkManifest(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		sum, name, _ := strings.Cut(line, "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s differs from the manifest", name)
		}
	}
}

func TestStoppingKeepsFinishedRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := &notes{after: func(finished int) {
		if finished == 2 {
			cancel()
		}
	}}
	s, _ := runSuite(t, ctx, small, n)
	if !s.Interrupted || s.Done != 2 || s.Compare == nil {
		t.Errorf("%+v, want two runs kept and a comparison of them", s)
	}
	f, err := result.Load(s.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Runs) != 2 || !f.State.Interrupted || f.State.Finished || f.State.Runs[2].State != result.Planned {
		t.Errorf("%d runs, state %+v", len(f.Runs), f.State)
	}
}

func TestFailedRunsAreNamed(t *testing.T) {
	n := &notes{}
	s, _ := runSuite(t, t.Context(), "apiVersion: bench/v1\nname: bad\nexperiments:\n  - name: e\n    workload: {window: 50ms}\n", n)
	if s.Failed != 1 || len(n.failed) != 1 || !strings.Contains(n.failed[0].Error(), "this broker does not start") {
		t.Errorf("%+v %v: want one failure that shows what the broker said", s, n.failed)
	}
	f, err := result.Load(s.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if l := f.State.Runs[0]; l.State != result.Failed || l.Error == "" {
		t.Errorf("state %+v", l)
	}
}

// TestExternalClusterIsLeftAsItWas runs twice against one server that goes on.
func TestExternalClusterIsLeftAsItWas(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := memserver.Serve(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	n := &notes{}
	s, _ := runSuite(t, t.Context(), "apiVersion: bench/v1\nname: ext\ndefaults: {blocks: 2}\nexperiments:\n  - name: e\n    workload: {bootstrap: '"+
		server.Addr()+"', partitions: 2, warmup: 0s, window: 10s, bytes: 4MiB, fetch: 50ms}\n", n)
	if s.Failed+s.Invalid > 0 || s.Done != 2 {
		t.Fatalf("%+v %v", s, n.failed)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(server.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	left, err := kadm.NewClient(client).ListTopics(t.Context())
	if err != nil || len(left) != 0 {
		t.Errorf("topics left behind: %v %v", left.Names(), err)
	}
}

func TestOneBenchAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := lock(path); err == nil {
		again()
		t.Error("two locks at once")
	} else if !strings.Contains(err.Error(), fmt.Sprintf("process %d holds", os.Getpid())) {
		t.Errorf("the refusal does not name who holds the lock: %v", err)
	}
	unlock()
	unlock, err = lock(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestFullDiskIsRefused(t *testing.T) {
	e := &result.Env{}
	e.Disk.FreeBytes = 10
	if checkDisk(e, 5) != nil || checkDisk(e, 6) == nil {
		t.Error("want a run to be refused exactly when less than twice its peak is free")
	}
}
