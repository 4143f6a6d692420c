package result

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"
)

func TestSeriesRoundTrip(t *testing.T) {
	in := []Row{{TMs: 250, Phase: "warmup", LengthMs: 250, Offered: 1, Accepted: 2, Acked: 3, Failed: 4, Consumed: 5, WireBytes: 6,
		P50Ns: 7, P99Ns: 8, MaxNs: 9, BrokerCPUNs: 10, ClientCPUNs: 11, BrokerRSS: 12, Debt: 13}, {Phase: "fetch", Debt: -1}}
	var text bytes.Buffer
	if err := WriteSeries(&text, in); err != nil {
		t.Fatal(err)
	}
	out, err := ReadSeries(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
	later := strings.Replace(text.String(), "\n", ",added_later\n", 1)
	later = strings.Replace(later, ",13\n", ",13,99\n", 1)
	later = strings.TrimSuffix(later, "\n") + ",99\n"
	if out, err = ReadSeries(strings.NewReader(later)); err != nil || len(out) != 2 {
		t.Errorf("a later column: %v, %v", out, err)
	}
	earlier := strings.NewReplacer(",durability_debt_records\n", "\n", ",13\n", "\n", ",-1\n", "\n").Replace(text.String())
	if out, err = ReadSeries(strings.NewReader(earlier)); err != nil || len(out) != 2 || out[0].Debt != -1 || out[0].BrokerRSS != 12 {
		t.Errorf("a series from before the debt: %+v, %v", out, err)
	}
	if _, err := ReadSeries(strings.NewReader(strings.Replace(text.String(), "acked", "acks", 1))); err == nil {
		t.Error("a renamed column was read")
	}
}

func FuzzReadSeries(f *testing.F) {
	var text bytes.Buffer
	if err := WriteSeries(&text, []Row{{TMs: 1, Phase: "window"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte("t_ms,phase\n1,x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadSeries(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteSeries(&again, rows); err != nil {
			t.Fatal(err)
		}
		back, err := ReadSeries(&again)
		if err != nil || len(back) != len(rows) {
			t.Fatalf("rows that were read do not survive: %v", err)
		}
	})
}

func sampleTrials() []Trial {
	return []Trial{
		{Number: 0, Seed: 1 << 63, Fault: PowerCut, Torn: "sector", Acks: "all", PhaseMs: 1, Cell: "c", Label: "a, \"b\"", Sent: 2, Acked: 3, Failed: 4,
			Unknown: 5, Read: 6, Lost: 7, Duplicate: 8, Reordered: 9, Corrupt: 10, Phantom: 11, Inconsistent: 12, LossWindowMs: 13, UnavailableMs: 14, Debt: -1},
		{Number: 1, Fault: ProcessKill},
	}
}

func TestTrialsRoundTrip(t *testing.T) {
	var text bytes.Buffer
	if err := WriteTrials(&text, sampleTrials()); err != nil {
		t.Fatal(err)
	}
	out, err := ReadTrials(bytes.NewReader(text.Bytes()))
	if diff := cmp.Diff(sampleTrials(), out); diff != "" || err != nil {
		t.Errorf("trials differ, %v (-want +got):\n%s", err, diff)
	}
	later := strings.Replace(text.String(), "trial,seed", "added_later,trial,seed", 1)
	later = strings.Replace(later, "\n0,", "\n99,0,", 1)
	later = strings.Replace(later, "\n1,", "\n99,1,", 1)
	if out, err = ReadTrials(strings.NewReader(later)); err != nil || len(out) != 2 || out[0].Lost != 7 {
		t.Errorf("a later column: %v, %v", out, err)
	}
	if _, err := ReadTrials(strings.NewReader(strings.Replace(text.String(), ",lost", ",gone", 1))); err == nil {
		t.Error("a renamed column was read")
	}
}

func FuzzReadTrials(f *testing.F) {
	var text bytes.Buffer
	if err := WriteTrials(&text, sampleTrials()); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte("trial,seed\n1,x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		trials, err := ReadTrials(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteTrials(&again, trials); err != nil {
			t.Fatal(err)
		}
		back, err := ReadTrials(&again)
		if err != nil || len(back) != len(trials) {
			t.Fatalf("trials that were read do not survive: %v", err)
		}
	})
}

// folder writes a folder with two runs.
func folder(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(t.TempDir(), "s", FolderName(time.Unix(0, 0), "0123456789", "abc"))
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Schema: PlanSchema, Suite: "s", Commit: "c"}
	if err := w.Begin([]byte("x"), p, []PlannedRun{{Order: 0, Cell: "a"}, {Order: 1, Cell: "b"}}); err != nil {
		t.Fatal(err)
	}
	for i, cell := range []string{"a", "b"} {
		r := Run{Schema: RunSchema, Experiment: "burst-1", Cell: cell, Order: i, Axes: map[string]string{"acks": cell}, Driver: "raw",
			Produce: &Window{WindowNs: 1e9, Acked: 100, AckedPerS: 100}}
		if err := w.Run(r, Files{Began: time.Unix(1_700_000_000, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestCellsAreNamedInWords: the folder of a cell is a hash, a file in it says
// which cell it is.
func TestCellsAreNamedInWords(t *testing.T) {
	w := folder(t)
	r := Run{Schema: RunSchema, Experiment: "burst", Cell: "c", Label: "acks=all"}
	if err := w.Run(r, Files{Began: time.Unix(1_700_000_000, 0)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), "cells", "c", "label.txt"))
	if err != nil || string(text) != "burst: acks=all\n" {
		t.Errorf("label.txt holds %q, %v", text, err)
	}
}

func TestDamagedFilesAreNamedAndLeftOut(t *testing.T) {
	w := folder(t)
	for name, text := range map[string]string{"cells/a/0/run.json": "{", "calib.json": `{"schema":"calib/v9"}`, "state.json": "[]",
		"trials.csv": "trial,seed\n", "durability.json": "["} {
		if err := os.WriteFile(filepath.Join(w.Dir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Load(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Runs) != 1 || f.Runs[0].Cell != "b" || f.Calib != nil || len(f.Problems) != 5 || f.Trials != nil || f.Durability != nil {
		t.Errorf("runs %v, problems %q: want the whole run and five problems", f.Runs, f.Problems)
	}
	if err := os.Remove(filepath.Join(w.Dir(), "resolved.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(w.Dir()); err == nil {
		t.Error("a folder without a plan was read")
	}
}

func TestLatestPointsAtTheNewest(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"one", "two"} {
		w, err := Create(root, "s", name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := filepath.EvalSymlinks(filepath.Join(root, "latest"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := filepath.EvalSymlinks(w.Dir())
		if err != nil || got != want {
			t.Errorf("latest is %s, want %s (%v)", got, want, err)
		}
	}
}

// TestSameSecond: invocations that began within a second have folders of their own.
func TestSameSecond(t *testing.T) {
	root := t.TempDir()
	for _, want := range []string{"one", "one-2", "one-3"} {
		w, err := Create(root, "s", "one")
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(w.Dir()); got != want {
			t.Errorf("folder %s, want %s", got, want)
		}
		if latest, err := os.Readlink(filepath.Join(root, "latest")); err != nil || latest != filepath.Join("s", want) {
			t.Errorf("latest points at %s, want %s (%v)", latest, want, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(root, "file", "one"); err == nil {
		t.Error("a folder was made inside a file")
	}
}

// TestBenchTextIsBenchstats reads bench.txt with benchstat's own parser.
func TestBenchTextIsBenchstats(t *testing.T) {
	f, err := Load(folder(t).Dir())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := WriteBenchText(&text, f.Plan, &Env{Kernel: EnvKernel{OS: "linux"}}, f.Runs); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(bytes.NewReader(text.Bytes()), "bench.txt")
	n := 0
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			n++
			if v, ok := rec.Value("records/s"); !ok || v != 100 {
				t.Errorf("%s: records/s %v", rec.Name, v)
			}
			if rec.GetConfig("suite") != "s" {
				t.Errorf("%s: suite %q", rec.Name, rec.GetConfig("suite"))
			}
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if n != 2 {
		t.Errorf("%d results, want 2:\n%s", n, text.String())
	}
}
