package reports_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
	"tidemark/reports/page"
)

// TestEmpty: a plan of which nothing ran still gives a page that says so.
func TestEmpty(t *testing.T) {
	s := newSample(t, 1, "aaaaaa", 6)
	s.begin()
	r := load(t, s.dir)
	if got, want := r.Sections[0].Headline, "No run of this invocation finished."; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	for _, p := range r.Sections[0].Panels {
		if p.Missing == "" {
			t.Errorf("panel %s shows something although nothing ran", p.ID)
		}
	}
	checkPage(t, render(t, r))
}

// TestMissingFiles takes away one file after another: what rests on it says so, and
// nothing else changes.
func TestMissingFiles(t *testing.T) {
	dir := wholeFolder(t)
	for _, c := range []struct {
		name, remove string
		// broken are panels with an error, absent those without data.
		broken, absent []string
	}{
		{"env", "env.json", nil, nil},
		{"calibration", "calib.json", nil, nil},
		{"environment and calibration", "{env,calib}.json", nil, []string{"machine"}},
		{"comparison", "compare.json", nil, nil},
		{"state", "state.json", nil, nil},
		{"series", "cells/sust*/*/series.csv", []string{"time"}, nil},
		{"response histograms", "cells/*/*/hist/response.hgrm", nil, nil},
		{"lateness histograms", "cells/*/*/hist/lateness.hgrm", nil, []string{"lateness"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hide(t, dir, c.remove)
			r := load(t, dir)
			for _, p := range r.Sections[0].Panels {
				if got, want := p.Error != "", contains(c.broken, p.ID); got != want {
					t.Errorf("panel %s: error %q, want one: %v", p.ID, p.Error, want)
				}
				if got, want := p.Missing != "", contains(append(c.absent, "replication"), p.ID); got != want {
					t.Errorf("panel %s: missing %q, want so: %v", p.ID, p.Missing, want)
				}
			}
			checkPage(t, render(t, r))
			if c.remove == "compare.json" {
				if said := conclusion(r, "faster"); !strings.Contains(said, "batch.size=1MiB") {
					t.Errorf("an interrupted folder holds the runs, so the verdicts can be made; got:\n%s", said)
				}
			}
		})
	}
}

// hide renames files until the end of the test.
func hide(t *testing.T, dir, pattern string) {
	t.Helper()
	patterns := []string{pattern}
	if rest, ok := strings.CutPrefix(pattern, "{env,calib}"); ok {
		patterns = []string{"env" + rest, "calib" + rest}
	}
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			rename(f, f+".hidden")
			t.Cleanup(func() { rename(f+".hidden", f) })
			n++
		}
	}
	if n == 0 {
		t.Fatalf("%s matches no file of the sample", pattern)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// TestAllInvalid: runs that must not be used are in no picture, and their reasons
// are in view.
func TestAllInvalid(t *testing.T) {
	s := newSample(t, 3, "aaaaaa", 6)
	s.burst("burst", 100, 5e6, []cellSpec{{invalid: 6}, {axis: "storage.append.engine", value: "mapped", invalid: 6}})
	r := load(t, s.write())
	if p := panel(t, r, "throughput"); p.Missing == "" {
		t.Errorf("throughput of invalid runs is shown: %q", p.Title)
	}
	text := render(t, r)
	checkPage(t, text)
	if got := strings.Count(text, "ledger out of balance"); got < 12 {
		t.Errorf("the reason appears %d times, want one for each of 12 runs", got)
	}
	if p := panel(t, r, "validity"); p.Title != "0 of 12 finished runs are valid" {
		t.Errorf("validity: %q", p.Title)
	}
}

// TestInvalidCellGrey: a cell without a usable run stays in the picture of its
// experiment, grey and with its reason.
func TestInvalidCellGrey(t *testing.T) {
	s := newSample(t, 3, "aaaaaa", 6)
	s.burst("burst", 100, 5e6, []cellSpec{{}, {axis: "storage.append.engine", value: "mapped", invalid: 6}, {axis: "acks", value: "all"}})
	dir := s.write()
	p := panel(t, load(t, dir), "throughput")
	if svg := string(p.Figures[0].SVG); !strings.Contains(svg, "no usable run: ledger out of balance") {
		t.Error("the picture does not say why the cell has no value")
	}
	row := p.Tables[0].Rows[1]
	if row.Class != "grey" || row.Cells[1].Value != nil {
		t.Errorf("row of the invalid cell: class %q, value %v; want grey and none", row.Class, row.Cells[1].Value)
	}
}

// TestBrokenFile: a file that cannot be parsed breaks its panel alone.
func TestBrokenFile(t *testing.T) {
	dir := wholeFolder(t)
	path := filepath.Join(result.RunDir(dir, "curve00", 0), "hist", "response.hgrm")
	hide(t, dir, "cells/curve00/0/hist/response.hgrm") // and puts it back over ours
	if err := os.WriteFile(path, []byte("not a histogram\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := load(t, dir)
	for _, p := range r.Sections[0].Panels {
		if got, want := p.Error != "", p.ID == "spectrum"; got != want {
			t.Errorf("panel %s: error %q, want one: %v", p.ID, p.Error, want)
		}
	}
	text := render(t, r)
	checkPage(t, text)
	if !strings.Contains(text, "response.hgrm") {
		t.Error("the page does not name the file that broke the panel")
	}
}

// TestDamagedRun: one unreadable run.json is named, and the other runs are reported.
func TestDamagedRun(t *testing.T) {
	dir := wholeFolder(t)
	hide(t, dir, "cells/byte00/0/run.json")
	path := filepath.Join(result.RunDir(dir, "byte00", 0), "run.json")
	if err := os.WriteFile(path, []byte(`{"schema":`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := load(t, dir)
	if got := r.Faults(); len(got) != 1 || !strings.Contains(got[0], path) {
		t.Errorf("faults %q, want one that names %s", got, path)
	}
	text := render(t, r)
	checkPage(t, text)
	if !strings.Contains(text, "could not be read, and what it holds is in no figure") {
		t.Error("the page does not say that a file is missing from its figures")
	}
	if p := panel(t, r, "throughput"); p.Error != "" || p.Missing != "" {
		t.Errorf("throughput is gone with one run: %q %q", p.Error, p.Missing)
	}
}

// TestUnreadableFolder: the other folders are reported, and the fault is named.
func TestUnreadableFolder(t *testing.T) {
	good := wholeFolder(t)
	bad := t.TempDir()
	r := load(t, bad, good)
	if len(r.Sections) != 1 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], bad) {
		t.Fatalf("%d sections, problems %q; want one of each, naming %s", len(r.Sections), r.Problems, bad)
	}
	checkPage(t, render(t, r))
	if _, err := page.Load(bad); !errors.Is(err, dataset.ErrNothing) {
		t.Errorf("no readable folder: error %v, want ErrNothing", err)
	}
}
