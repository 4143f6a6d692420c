package reports_test

import (
	"strings"
	"testing"

	"tidemark/bench/result"
)

// TestAClaimCarriesWhatItsRunsWere: where runs of a cell or of its base were not level,
// or degraded, the sentence that claims a difference says so itself.
func TestAClaimCarriesWhatItsRunsWere(t *testing.T) {
	s := newSample(t, 5, "abcdef", 6)
	s.burst("burst", 100, 1e6, []cellSpec{{}, {axis: "acks", value: "0", produce: 1.5, degrade: 2}, {axis: "acks", value: "all", cost: 0.6}})
	for i := range s.runs {
		r := &s.runs[i]
		if r.Axes["acks"] == "0" && r.Block < 3 || r.Base && r.Block == 5 {
			r.WarmUp = "not_converged"
		}
	}
	r := load(t, s.write())
	for _, c := range r.Sections[0].Conclusion {
		switch {
		case c.Kind == string(result.Faster) && strings.HasPrefix(c.Subject, "producing"):
			for _, want := range []string{"; 3 of 6 runs not level)", " The base: 1 of 6 runs not level.", " Degraded: 2 of the 12 runs behind this."} {
				if !strings.Contains(c.Text, want) {
					t.Errorf("%s: %s lacks %q", c.Subject, c.Text, want)
				}
			}
		case c.Kind == string(result.Faster): // of processor time: acks=all alone
			if strings.Contains(c.Text, "Degraded") || !strings.Contains(c.Text, "The base") {
				t.Errorf("%s: %s is of level runs against a base that was not, and of no degraded one", c.Subject, c.Text)
			}
		}
	}
	if title := panel(t, r, "throughput").Title; !strings.Contains(title, "(paired by block; 3 of 6 runs not level)") {
		t.Errorf("the title claims a difference and nothing else: %s", title)
	}
}
