package dataset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/hist"
	"tidemark/bench/result"
)

// folder is a run folder under construction.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T, cells ...result.PlanCell) folder {
	f := folder{t, filepath.Join(t.TempDir(), "run")}
	f.json("resolved.json", result.Plan{Schema: result.PlanSchema, Suite: "s", Experiments: []result.PlanExperiment{{Name: "e", Kind: result.Burst, Cells: cells}}})
	return f
}

func (f folder) json(name string, v any) {
	f.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) run(cell, experiment string, block int, rate int64, status result.Status) result.Run {
	r := result.Run{Schema: result.RunSchema, Experiment: experiment, Kind: result.Burst, Cell: cell, Label: cell, Block: block, Order: block, Status: status, Produce: &result.Window{AckedPerS: rate}}
	f.json(filepath.Join("cells", cell, string(rune('0'+block)), "run.json"), r)
	return r
}

func (f folder) load() *Invocation {
	f.t.Helper()
	s, err := Load(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return s.Groups[0].Invocations[0]
}

// TestWithoutComparison: an interrupted folder gives what its usable runs allow: with
// three of them median and extremes, and no verdict on what never ran.
func TestWithoutComparison(t *testing.T) {
	f := newFolder(t, result.PlanCell{ID: "a", Base: true}, result.PlanCell{ID: "b"})
	for i, rate := range []int64{100, 300, 200, 999} {
		status := result.Valid
		if rate == 999 {
			status = result.Invalid
		}
		f.run("a", "e", i, rate, status)
	}
	inv := f.load()
	e := inv.Experiment("e")
	want := result.Interval{N: 3, Median: 200, Center: result.CenterMedian, Low: 100, High: 300, How: "min_max"}
	if d := cmp.Diff(want, e.Base.Interval(Produce)); d != "" {
		t.Errorf("interval (-want +got):\n%s", d)
	}
	if !inv.Computed {
		t.Error("the folder holds no comparison, but Computed is false")
	}
	if _, ok := e.Cell("b").Pair(Produce); ok {
		t.Error("a verdict out of nothing")
	}
	if got := e.Cell("b").Interval(Produce); got.N != 0 || got.How != "none" {
		t.Errorf("a cell that did not run has interval %+v", got)
	}
	if len(e.Base.Runs) != 4 || len(e.Base.Usable) != 3 {
		t.Errorf("%d runs, %d usable; want 4 and 3", len(e.Base.Runs), len(e.Base.Usable))
	}
}

// TestComparison: the folder's own statistics win over ours, and a cell at another
// offered rate is not judged.
func TestComparison(t *testing.T) {
	f := newFolder(t, result.PlanCell{ID: "a", Base: true}, result.PlanCell{ID: "b", Axes: map[string]string{"acks": "all"}}, result.PlanCell{ID: "c", Axes: map[string]string{RateAxis: "10"}})
	f.run("a", "e", 0, 100, result.Valid)
	own := result.Interval{N: 7, Median: 42, Low: 40, High: 44, How: "order_statistic"}
	f.json("compare.json", result.Compare{
		Schema: result.CompareSchema, NoiseRatio: 0.02, Noise: []result.Noise{{Experiment: "e", Metric: result.MetricProduce, Floor: 1.02}},
		Cells: []result.CellStats{{Experiment: "e", Cell: "a", Metric: result.MetricProduce, Interval: own}, {Experiment: "gone", Cell: "a"}},
		Pairs: []result.Pair{{Experiment: "e", Cell: "b", Metric: result.MetricProduce, Verdict: result.Faster}, {Experiment: "e", Cell: "c", Metric: result.MetricProduce, Verdict: result.Slower}},
	})
	inv := f.load()
	e := inv.Experiment("e")
	if d := cmp.Diff(own, e.Base.Interval(Produce)); d != "" {
		t.Errorf("interval (-want +got):\n%s", d)
	}
	if p, ok := e.Cell("b").Pair(Produce); !ok || p.Verdict != result.Faster {
		t.Errorf("pair of b: %v %v", p.Verdict, ok)
	}
	if _, ok := e.Cell("c").Pair(Produce); ok {
		t.Error("a cell at another rate is judged against the base")
	}
	if n := inv.Noise(Produce); len(n) != 1 || n[0].Floor != 1.02 || len(inv.Noise(Fetch)) != 0 {
		t.Errorf("noise of producing %v, of fetching %v; want a floor of 1.02 and none", n, inv.Noise(Fetch))
	}
	if inv.Computed {
		t.Error("the folder's own comparison was not used")
	}
}

// TestUnplanned: a finished run that the plan does not know is kept in view.
func TestUnplanned(t *testing.T) {
	f := newFolder(t)
	f.run("x", "other", 0, 5, result.Valid)
	e := f.load().Experiment("other")
	if e == nil || e.Cell("x") == nil || len(e.Cell("x").Usable) != 1 {
		t.Fatalf("the run is lost: %+v", e)
	}
}

// TestGroups: equal keys are one group; unknown machines are comparable with
// nothing, not even with each other.
func TestGroups(t *testing.T) {
	var dirs []string
	for _, key := range []string{"sha256:a", "", "sha256:a", "sha256:b", ""} {
		f := newFolder(t)
		if key != "" {
			f.json("env.json", result.Env{Schema: result.EnvSchema, Comparable: key})
		}
		dirs = append(dirs, f.dir)
	}
	s, err := Load(append(dirs, filepath.Join(t.TempDir(), "nowhere"))...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range s.Groups {
		got = append(got, g.Key)
	}
	if d := cmp.Diff([]string{"sha256:a", UnknownKey, "sha256:b", UnknownKey}, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	if len(s.Groups[0].Invocations) != 2 || len(s.Problems) != 1 {
		t.Errorf("%d invocations in the first group, %d problems; want 2 and 1", len(s.Groups[0].Invocations), len(s.Problems))
	}
	if _, err := Load(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing to read: error %v, want ErrNothing", err)
	}
}

// TestSpectrum: the joined spectrum is the median over runs, lies between the
// points of the files, and stops where a run holds too few values.
func TestSpectrum(t *testing.T) {
	f := newFolder(t, result.PlanCell{ID: "a", Base: true})
	for block, scale := range []int64{1, 2, 3} {
		r := f.run("a", "e", block, 1, result.Valid)
		h := hist.New()
		for v := range int64(20_000) {
			h.Record((v + 1) * 1000 * scale)
		}
		path := filepath.Join(result.RunDir(f.dir, r.Cell, r.Block), "hist", result.HistResponse+".hgrm")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(hist.WriteHgrm(file, h), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	inv := f.load()
	cell := inv.Experiment("e").Base
	points, err := inv.Spectrum(cell, result.HistResponse)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		want := p.Quantile * 40e6 // the middle run: values up to 40 ms, evenly spread
		if math.Abs(p.Median-want) > want*0.02+2e5 {
			t.Errorf("quantile %.5f: median %.0f ns, want about %.0f", p.Quantile, p.Median, want)
		}
	}
	last := points[len(points)-1].Quantile
	if last >= 0.999 || last < 0.995 {
		t.Errorf("the spectrum ends at %.5f; 20,000 values leave fewer than a hundred beyond p99.9", last)
	}
	if _, err := inv.Spectrum(cell, result.HistE2E); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such histogram: error %v, want fs.ErrNotExist", err)
	}
}

func TestMedian(t *testing.T) {
	for want, in := range map[float64][]float64{0: nil, 3: {3}, 2.5: {2, 3}, 4: {1, 4, 9}} {
		if got := Median(in); got != want {
			t.Errorf("median of %v is %v, want %v", in, got, want)
		}
	}
}
