package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tidemark/bench/result"
	"tidemark/internal/golden"
)

// TestStatusFits: gaps are narrower and columns left out where the terminal is too narrow.
func TestStatusFits(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, columns := range []int{80, 90} {
		var b bytes.Buffer
		if err := printClusterStatus(&b, hurt(), now, columns); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, fmt.Sprintf("testdata/cluster_hurt_%d.txt", columns), b.String())
		if got := widest(b.String()); got > columns {
			t.Errorf("%d columns on a terminal of %d", got, columns)
		}
	}
}

// TestTablesFit: one column is broken where the terminal is too narrow, and nothing is lost.
func TestTablesFit(t *testing.T) {
	words := strings.Repeat("many words ", 30)
	for _, columns := range []int{0, 40, 80, 1000} {
		tw := newTable()
		tw.AppendHeader(table.Row{"name", "what"})
		tw.AppendRow(table.Row{"first", words})
		var b bytes.Buffer
		if err := renderWithin(&b, tw, columns, 2); err != nil {
			t.Fatal(err)
		}
		if got := widest(b.String()); columns > 0 && got > columns {
			t.Errorf("%d columns on a terminal of %d", got, columns)
		}
		if got := strings.Count(b.String(), "words"); got != 30 {
			t.Errorf("on a terminal of %d columns %d of 30 words are left", columns, got)
		}
	}
}

func TestComparisonFits(t *testing.T) {
	pair := result.Pair{Experiment: "strategies", Label: "follower.rate=10% of acks replication.strategy=quorum", Metric: result.MetricProduce, N: 6, Verdict: result.Undecided, NeedN: 112,
		Ratio: result.Interval{N: 6, Median: 0.955, Low: 0.791, High: 1.264}}
	other := pair
	other.Metric, other.Ratio.How = result.MetricP99, "min_max"
	var b bytes.Buffer
	if err := printPairs(&b, &result.Compare{A: "one", B: "two", Pairs: []result.Pair{pair, pair, other}}, 80); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/compare_80.txt", b.String())
	if got := widest(b.String()); got > 80 {
		t.Errorf("%d columns on a terminal of 80", got)
	}
}

// TestScreenCuts: what stays in place is no taller and no wider than the terminal.
func TestScreenCuts(t *testing.T) {
	s := screen{columns: 10, lines: 5}
	for text, want := range map[string]string{
		"1\n2\n3\n4\n":       "1\n2\n3\n4\n",
		"1\n2\n3\n4\n5\n6\n": "1\n2\n3\n  3 more …\n",
		"1234567890ä\n":      "123456789…\n",
		"123456789ä\n":       "123456789ä\n",
	} {
		if got := s.within(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if text := strings.Repeat("a long line\n", 99); (screen{}).within(text) != text {
		t.Error("without a terminal something was cut")
	}
}
