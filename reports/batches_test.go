package reports_test

import (
	"fmt"
	"math"
	"testing"

	"tidemark/bench/result"
)

// TestBatchRatios: at each size of batch an engine stands against the base's at that
// size, also with a setting of its own, and not against the base of the experiment.
func TestBatchRatios(t *testing.T) {
	sizes := []string{"64KiB", "16KiB", "1MiB"}
	rates := map[string]float64{"64KiB": 8e6, "16KiB": 4e6, "1MiB": 14e6}
	ratios := map[string]map[string]float64{
		"":                             {"64KiB": 1, "16KiB": 1, "1MiB": 1},
		"storage.append.engine=mapped": {"64KiB": 1.05, "16KiB": 1.3, "1MiB": 0.6},
		"storage.append.engine=mapped storage.prefault=false": {"64KiB": 0.5, "16KiB": 0.55},
	}
	s := newSample(t, 5, "eeeeee", 6)
	e := s.experiment("batches", result.Burst, []result.Axis{{Name: "batch.size", Values: sizes}, {Name: "storage.append.engine", Values: []string{"buffered", "mapped"}}})
	add := func(size, family string, set map[string]string) {
		n := len(e.Cells)
		cell := result.PlanCell{ID: fmt.Sprintf("batch%02d", n), Label: size + family, Base: n == 0, Driver: "raw", Target: "process", Axes: map[string]string{}, Config: map[string]string{}}
		if size != sizes[0] || len(set) > 1 { // A cell of its own may name a value that is the base's.
			cell.Axes["batch.size"] = size
		}
		for name, value := range set {
			cell.Axes[name] = value
		}
		e.Cells = append(e.Cells, cell)
		for b := range s.blocks {
			r := s.run(e, cell, b, 100)
			r.Produce = s.window(rates[size]*ratios[family][size], 109, 0.1/ratios[family][size], 1e9)
			s.runs = append(s.runs, sampleRun{Run: r})
		}
	}
	for _, size := range sizes {
		add(size, "", nil)
		add(size, "storage.append.engine=mapped", map[string]string{"storage.append.engine": "mapped"})
	}
	for _, size := range sizes[:2] {
		add(size, "storage.append.engine=mapped storage.prefault=false", map[string]string{"storage.append.engine": "mapped", "storage.prefault": "false"})
	}
	p := panel(t, load(t, s.write()), "batch")
	if p.Error != "" || p.Missing != "" || len(p.Figures) != 2 || len(p.Tables) != 4 {
		t.Fatalf("error %q, missing %q, %d figures, %d tables; want two and four", p.Error, p.Missing, len(p.Figures), len(p.Tables))
	}
	for _, f := range p.Figures {
		if f.Error != "" || f.SVG == "" {
			t.Errorf("figure %s: %s", f.Heading, f.Error)
		}
	}
	seen := 0
	for _, row := range p.Tables[3].Rows {
		bytes := map[float64]string{16 << 10: "16KiB", 64 << 10: "64KiB", 1 << 20: "1MiB"}
		want := ratios[row.Cells[0].Text][bytes[*row.Cells[1].Value]]
		for i, truth := range map[int]float64{2: want, 5: 1 / want} {
			got, low, high := row.Cells[i].Value, row.Cells[i+1].Value, row.Cells[i+2].Value
			if got == nil || math.Abs(*got/truth-1) > 0.06 || !(*low < *got && *got < *high) || *high / *low > 1.2 {
				t.Errorf("%s at %s: column %d is %v, want about %v within bounds", row.Cells[0].Text, row.Cells[1].Text, i, *got, truth)
			}
		}
		seen++
	}
	if seen != 5 {
		t.Errorf("%d ratios, want one for each cell that is not the base's family", seen)
	}
}
