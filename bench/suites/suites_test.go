package suites

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/result"
	"tidemark/bench/workload"
)

func TestEverySuiteParses(t *testing.T) {
	if diff := cmp.Diff([]string{"durability", "full", "offsets", "quick", "replication", "smoke", "transactions"}, Names()); diff != "" {
		t.Errorf("suites (-want +got):\n%s", diff)
	}
	for _, name := range Names() {
		text, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := workload.Parse(text)
		if err != nil {
			t.Errorf("%s:%v", name, err)
			continue
		}
		if s.Name.Value != name {
			t.Errorf("%s.yaml calls itself %s", name, s.Name.Value)
		}
	}
	if _, err := Read("nosuch"); err == nil {
		t.Error("a suite that is not there was read")
	}
}

// TestEveryVerdictHasAFloor: a suite that compares cells runs a base of the same kind
// twice. Smoke has too few runs for a verdict, and points of a curve are not compared.
func TestEveryVerdictHasAFloor(t *testing.T) {
	for _, name := range Names() {
		text, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := workload.Parse(text)
		if err != nil || name == "smoke" {
			continue // TestEverySuiteParses tells
		}
		compared, floors := map[result.Kind]string{}, map[result.Kind]bool{}
		for i := range s.Experiments {
			e := &s.Experiments[i]
			cells := e.Cells()
			curve := slices.ContainsFunc(e.ResolvedAxes(), func(a result.Axis) bool { return a.Name == "rate" && len(a.Values) > 1 })
			if len(cells) > 1 && !curve {
				compared[e.Kind()] = e.Name.Value
			}
			floors[e.Kind()] = floors[e.Kind()] || slices.ContainsFunc(cells, func(c workload.Cell) bool { return c.AA })
		}
		for kind, experiment := range compared {
			if !floors[kind] {
				t.Errorf("suite %s compares cells of kind %s (%s) and runs none of their bases twice", name, kind, experiment)
			}
		}
	}
}

// TestSpecsInDecisions: a spec that a page of decisions gives to take its figures again
// is one that can be run.
func TestSpecsInDecisions(t *testing.T) {
	pages, err := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages of decisions", err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range block.FindAllSubmatch(text, -1) {
			found++
			if _, err := workload.Parse(spec[1]); err != nil {
				t.Errorf("%s:%v", page, err)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a spec")
	}
}
