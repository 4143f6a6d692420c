package run

import (
	"strings"
	"testing"

	"tidemark/bench/hist"
	"tidemark/bench/result"
)

// good is a paced run that nothing is wrong with.
func good() *result.Run {
	return &result.Run{Kind: result.Paced, Ledger: result.Ledger{Accepted: 100, Acked: 100, Stored: 100},
		Produce: &result.Window{WindowNs: 1e9, OfferedPerS: 100, AckedPerS: 100, Accepted: 100, Acked: 100,
			ResponseNs: &hist.Summary{P99: 2e6}, LatenessNs: &hist.Summary{P99: 1e9}, OwnLatenessNs: &hist.Summary{P99: 1e5}}}
}

func TestGates(t *testing.T) {
	cases := []struct {
		name   string
		spoil  func(r *result.Run)
		want   result.Status
		reason string
	}{
		{"good", func(*result.Run) {}, result.Valid, ""},
		{"imbalance", func(r *result.Run) { r.Ledger.Accepted++ }, result.Invalid, "balance"},
		{"lost", func(r *result.Run) { r.Ledger.Stored-- }, result.Invalid, "the log holds 99"},
		{"invented", func(r *result.Run) { r.Ledger.Stored++ }, result.Invalid, "the log holds 101"},
		{"target cannot say", func(r *result.Run) { r.Ledger.Stored = -1 }, result.Valid, ""},
		{"unanswered", func(r *result.Run) { r.Ledger.Acked--; r.Ledger.InFlight++ }, result.Degraded, "no answer"},
		{"failed", func(r *result.Run) { r.Ledger.Acked--; r.Ledger.Failed++ }, result.Degraded, "failed"},
		{"duplicate", func(r *result.Run) { r.Check.Duplicate = 1 }, result.Invalid, "duplicate"},
		{"steal", func(r *result.Run) { r.StealRatio = 0.02 }, result.Degraded, "stolen"},
		{"other programs", func(r *result.Run) { r.OthersRatio = 0.3 }, result.Degraded, "other programs"},
		{"saturated", func(r *result.Run) { r.Produce.AckedPerS = 94 }, result.Degraded, "saturated"},
		{"late harness", func(r *result.Run) { r.Produce.OwnLatenessNs.P99 = 3e5 }, result.Degraded, "own_lateness_ns.p99 is 300 µs"},
		{"busy client", func(r *result.Run) { r.Produce.CPU.ClientMaxThread = 0.9 }, result.Degraded, "busy"},
		{"busy client, saturating", func(r *result.Run) { r.Kind = result.Burst; r.Produce.CPU.ClientMaxThread = 1 }, result.Valid, ""},
		{"dropped", func(r *result.Run) { r.Produce.Dropped = 1 }, result.Degraded, "before the last 0.1 % of the window and never sent"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			c.spoil(r)
			judge(r, nil, nil)
			if r.Status != c.want || !strings.Contains(strings.Join(r.Reasons, "; "), c.reason) {
				t.Errorf("status %s for %q, want %s because of %q", r.Status, r.Reasons, c.want, c.reason)
			}
		})
	}
}
