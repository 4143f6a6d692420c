package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
)

// TestSlowestSecond: where it was, and whether the processors worked for it or waited,
// is told from the record; a cause is told as one that was found elsewhere.
func TestSlowestSecond(t *testing.T) {
	record := func(slowCPU int64) []result.Row {
		rows := seconds(func(i int) int64 {
			if i == 18 {
				return 2e6
			}
			return 8e6
		})
		for i := range rows {
			rows[i].BrokerCPUNs, rows[i].ClientCPUNs = 12e8, 4e8
		}
		rows[18].BrokerCPUNs = slowCPU
		return rows
	}
	for _, c := range []struct {
		name string
		cpu  int64
		want []string
	}{
		{"work", 12e8, []string{"18 to 19 s into block 0, ran at 2.00 M records/s", "busy for 1.6 core-seconds in it, 0.80 a million records", "took 0.20", "cost ×4.00 the processor time", "0005 and 0013"}},
		{"waiting", 1e8, []string{"busy for 0.5 core-seconds in it, 0.25 a million records", "about as much as ever", "0022"}},
	} {
		s, ok := slowestOf(record(c.cpu))
		said := spaced(s.words())
		for _, want := range append(c.want, "what it was here the record does not show") {
			if !ok || !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", c.name, said, want)
			}
		}
	}
	rows := record(12e8)
	rows[18].BrokerCPUNs, rows[18].ClientCPUNs = 0, 0
	if s, _ := slowestOf(rows); !strings.HasSuffix(s.words(), "the processor time of that second is not in the record.") {
		t.Error(s.words())
	}
	if _, ok := slowestOf(nil); ok {
		t.Error("no record has no lowest second")
	}
}
