//go:build planted

package sim

import (
	"context"
	"os"
	"strings"
	"testing"

	"tidemark/internal/planted"
)

// within is how many seeds a known-bad build may take to be found.
const within = 5000

// TestPlantedFound plants one flaw after the other and looks for it: with the
// seeds of the corpus first, then from seed 1 on. With TIDEMARK_FULL it looks from
// seed 1 on only and says where the first is.
func TestPlantedFound(t *testing.T) {
	known := map[planted.Flaw]string{}
	for _, line := range lines(t, "testdata/planted.txt") {
		flaw, name, _ := strings.Cut(line, " ")
		known[planted.Flaw(flaw)] = name
	}
	defer planted.Plant("")
	for _, flaw := range planted.Replication {
		if known[flaw] == "" {
			t.Errorf("%s: no seed in testdata/planted.txt", flaw)
			continue
		}
		strategy, seed := parse(t, known[flaw])
		s := Scenario{Spec: find(t, strategy)}
		planted.Plant("")
		if r := Run(context.Background(), seed, s); r.Violation != nil {
			t.Errorf("%s: %s violates %v without the flaw", flaw, known[flaw], r.Violation)
		}
		planted.Plant(flaw)
		if r := Run(context.Background(), seed, s); r.Violation != nil && os.Getenv("TIDEMARK_FULL") == "" {
			t.Logf("%s: %s: %v", flaw, known[flaw], r.Violation)
			continue
		}
		total := Many{Scenario: s, From: 1, Seeds: within, StopAfter: 1}.Run(context.Background())
		if len(total.Violations) == 0 {
			t.Errorf("%s: not found within %d seeds of %s", flaw, within, strategy)
			continue
		}
		v := total.Violations[0]
		t.Logf("%s: %s:%d after %d seeds: %v", flaw, strategy, v.Seed, total.Seeds, v.Violation)
	}
}
