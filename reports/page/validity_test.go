package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// TestListed: the caption accounts for every row of the table and for every run that is
// not in it.
func TestListed(t *testing.T) {
	f := &result.Folder{}
	for i, s := range []result.Status{result.Valid, result.Valid, result.Valid, result.Degraded, result.Degraded, result.Invalid} {
		r := result.Run{Order: i, Status: s, Reasons: []string{"why"}}
		if s == result.Valid {
			r.Reasons = nil
		}
		f.Runs = append(f.Runs, r)
	}
	f.Runs[0].Warnings = []string{"slow start"}
	f.State.Runs = []result.StateLine{{Order: 6, State: result.Failed, Error: "no port"}}
	p, err := validity(&view{&dataset.Invocation{Folder: f}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Listed: 2 degraded, 1 invalid, 1 failed and 1 valid with a warning. The other 2 valid runs are without a warning."; p.Caption != want || len(p.Tables[0].Rows) != 5 {
		t.Errorf("%d rows under %q, want 5 under %q", len(p.Tables[0].Rows), p.Caption, want)
	}
	if !strings.Contains(p.Lead, "count from 0") || strings.Contains(p.Lead, "from 1") {
		t.Errorf("numbers are from 0 everywhere: %s", p.Lead)
	}
}
