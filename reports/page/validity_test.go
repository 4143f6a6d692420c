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

// TestCheckWords: what was read is told apart from what was compared with what was sent,
// and nothing is said to be sound that nobody looked at.
func TestCheckWords(t *testing.T) {
	f := &result.Folder{Runs: []result.Run{
		{Status: result.Valid, Ledger: result.Ledger{Acked: 2e9, Stored: 2e9}, Fetch: &result.Window{Acked: 5e9}},
		{Status: result.Valid, Ledger: result.Ledger{Acked: 150e3, Stored: 150e3}, Check: result.Check{Read: 150e3}},
	}}
	v := &view{&dataset.Invocation{Folder: f}}
	said := spaced(checkWords(v.tally()))
	for _, want := range []string{"150 k records were read by consumers that followed", "none was lost or read twice", "5.00 G records were read in the fetch windows", "only counted", "in trials alone"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if strings.Contains(said, "corrupt") {
		t.Errorf("contents were not compared, and are called sound: %s", said)
	}
	f.Runs[1].Check.Lost = 3
	if said := checkWords(v.tally()); !strings.Contains(said, "3 lost") {
		t.Errorf("three lost records: %s", said)
	}
}
