package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/result"
)

// storage is every flush policy with every append engine, and power cuts that lose
// something in each trial of flush=os, in some of one of its engines, and never
// where acknowledgements wait for the disk.
func (s *sample) storage(name string, trials int) {
	axes := []result.Axis{{Name: "storage.flush", Values: []string{"os", "group", "batch"}}, {Name: "storage.append.engine", Values: []string{"buffered", "mapped", "direct"}}}
	e := s.experiment(name, result.Burst, axes)
	e.Design = "full"
	for i, flush := range axes[0].Values {
		for k, engine := range axes[1].Values {
			cell := result.PlanCell{ID: "stor0" + string(rune('0'+3*i+k)), Label: "base", Base: i+k == 0, Driver: "raw", Target: "process", Axes: map[string]string{},
				Config: map[string]string{"storage.flush": flush, "storage.append.engine": engine}}
			if i > 0 {
				cell.Axes["storage.flush"], cell.Label = flush, "storage.flush="+flush
			}
			if k > 0 {
				cell.Axes["storage.append.engine"], cell.Label = engine, "storage.append.engine="+engine
			}
			e.Cells = append(e.Cells, cell)
			for b := range s.blocks {
				r := s.run(e, cell, b, 1024)
				r.Produce = s.window([]float64{1e6, 0.4e6, 0.25e6}[i]*[]float64{1, 1.07, 0.8}[k], 1034, 0.5, 2e9)
				s.runs = append(s.runs, sampleRun{Run: r})
			}
			for n := range trials {
				t := result.Trial{Number: n, Seed: uint64(n), Fault: result.PowerCut, Torn: "page", Acks: "1", PhaseMs: 500, Cell: cell.ID, Label: e.NameOf(cell),
					Sent: 2100, Acked: 2000, Unknown: 100, Read: 2050, UnavailableMs: 110}
				if flush == "os" {
					t.Debt = int64(900 + 10*n)
					if t.Lost, t.LossWindowMs = t.Debt-int64(100*k), 480; k == 2 && n%2 == 0 {
						t.Lost, t.LossWindowMs = 0, 0
					}
				}
				s.trials = append(s.trials, t)
			}
		}
	}
	s.plan.Trials = &result.PlanTrials{Of: name, Count: trials, Fault: result.PowerCut, RecordsPerS: 2000, RecordBytes: 500}
}

// TestLossPanel: counts with their intervals, zero as a bound, every cell named in
// the picture, and what must hold.
func TestLossPanel(t *testing.T) {
	r := load(t, wholeFolder(t))
	p := panel(t, r, "durability")
	if want := "lost nothing in 60 power cuts (at most 4.87\u00a0% each)"; !strings.Contains(p.Title, want) || !strings.HasPrefix(r.Sections[0].Headline, p.Title+". ") {
		t.Errorf("title %q, headline %q; want %q", p.Title, r.Sections[0].Headline, want)
	}
	counted := map[string]string{}
	for _, row := range p.Tables[0].Rows {
		counted[strings.ReplaceAll(row.Cells[0].Text, "\u00a0", " ")] = row.Cells[2].Text
	}
	for cell, want := range map[string]string{"os · buffered": "60 of 60 (≥ 95.1 %)", "os · direct": "30 of 60 (36.8 to 63.2 %)", "group · mapped": "0 of 60 (≤ 4.9 %)", "batch · direct": "0 of 60 (≤ 4.9 %)"} {
		if counted[cell] != want {
			t.Errorf("%s: %q, want %q", cell, counted[cell], want)
		}
		if !strings.Contains(string(p.Figures[0].SVG), cell) {
			t.Errorf("the picture does not name %s", cell)
		}
	}
	for _, row := range p.Tables[1].Rows {
		if row.Cells[1].Text != "yes" {
			t.Errorf("%s: %s, %s", row.Cells[0].Text, row.Cells[1].Text, row.Cells[2].Text)
		}
	}
	if len(p.Figures) != 2 {
		t.Errorf("%d pictures, want loss against throughput and loss against debt", len(p.Figures))
	}
}

// TestLossOfAnInterruptedInvocation: trials.csv alone makes the panel; a failed gate
// is in the conclusion.
func TestLossOfAnInterruptedInvocation(t *testing.T) {
	s := newSample(t, 1, "cccccc", 6)
	s.storage("storage", 20)
	for i := range s.trials {
		if s.trials[i].Number == 7 && s.trials[i].Cell == "stor04" {
			s.trials[i].Lost = 3 // a group cell
		}
	}
	dir := s.write()
	if err := os.Remove(filepath.Join(dir, "durability.json")); err != nil {
		t.Fatal(err)
	}
	r := load(t, dir)
	p := panel(t, r, "durability")
	if p.Error != "" || p.Missing != "" || !strings.Contains(p.Title, "lost acknowledged records in 0 to 1 of 20 power cuts") {
		t.Errorf("panel %q, error %q, missing %q", p.Title, p.Error, p.Missing)
	}
	said := ""
	for _, c := range r.Sections[0].Conclusion {
		said += c.Text + "\n"
	}
	if !strings.Contains(said, "What must hold does not: cells that wait for the disk lose nothing (group · mapped: lost in 1 of 20 trials)") {
		t.Errorf("the conclusion does not say that a gate fails:\n%s", said)
	}
}

// TestNoTrials: a suite without trials has no such panel, and that is no fault.
func TestNoTrials(t *testing.T) {
	s := newSample(t, 1, "dddddd", 6)
	s.paced("latency", []float64{1e4}, 100)
	r := load(t, s.write())
	if p := panel(t, r, "durability"); p.Missing == "" || p.Error != "" {
		t.Errorf("%+v", p)
	}
}
