package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/bench/result"
)

// TestVerdictWords: the terminal uses the report's words, never says more than
// the verdict, and writes factors from a doubling on.
func TestVerdictWords(t *testing.T) {
	for _, c := range []struct {
		metric  string
		verdict result.Verdict
		ratio   float64
		want    string
	}{
		{result.MetricProduce, result.Faster, 1.12, "12 % faster"},
		{result.MetricProduce, result.Slower, 0.966, "3.4 % slower"},
		{result.MetricProduce, result.Slower, 0.47, "×0.47 slower"},
		{result.MetricProduce, result.Faster, 12.3, "×12 faster"},
		{result.MetricP99, result.Faster, 0.7, "30 % lower"},
		{result.MetricE2EP99, result.Slower, 1.3, "30 % higher"},
		{result.MetricProduceCost, result.Slower, 2.78, "×2.78 dearer"},
		{result.MetricProduceCost, result.Faster, 0.64, "36 % cheaper"},
		{result.MetricProduce, result.Equivalent, 0.999, "equivalent"},
		{result.MetricProduce, result.Undecided, 0.9999, "±0 % undecided"},
		{result.MetricProduce, result.Undecided, 0.93, "−7.0 % undecided"},
		{result.MetricFetch, result.Undecided, 1.62, "+62 % undecided"},
		{result.MetricP50, result.TooFew, 6.24, "too few"},
	} {
		p := result.Pair{Metric: c.metric, Verdict: c.verdict, Ratio: result.Interval{Median: c.ratio}}
		if got := verdict(p); got != c.want {
			t.Errorf("%s %s of %v: got %q, want %q", c.metric, c.verdict, c.ratio, got, c.want)
		}
	}
}

func TestIntervalsShareTheMediansUnit(t *testing.T) {
	for _, c := range []struct {
		metric         string
		median, lo, hi float64
		want           string
	}{
		{result.MetricProduce, 20_210_000, 17_790_000, 100_500_000, "20.2 M [17.8, 100]"},
		{result.MetricProduce, 9_690_000, 900_000, 9_990_000, "9.69 M [0.90, 9.99]"},
		{result.MetricProduce, 950, 12, 1200, "950 [12, 1200]"},
		{result.MetricP99, 493_000, 381_000, 1_100_000, "493 µs [381, 1100]"},
		{result.MetricP99, 26_620_000, 19_050_000, 34_180_000, "26.6 ms [19.1, 34.2]"},
		{result.MetricProduceCost, 0.0494, 0.046, 0.055, "0.049 [0.046, 0.055]"},
	} {
		if got := interval(c.metric, result.Interval{Median: c.median, Low: c.lo, High: c.hi}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestNeeded: where no number of runs would decide, none is given.
func TestNeeded(t *testing.T) {
	for n, want := range map[int]string{7: "n≈7", 0: "no number", 1040: "n>1000"} {
		if got := needed(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// TestTableFitsATerminal prints the widest texts that the suites can give.
func TestTableFitsATerminal(t *testing.T) {
	const most = 160
	c := &result.Compare{}
	for _, e := range []struct {
		kind    result.Kind
		metrics []string
	}{
		{result.Burst, []string{result.MetricProduce, result.MetricFetch, result.MetricProduceCost}},
		{result.Paced, []string{result.MetricProduce, result.MetricP50, result.MetricP99, result.MetricE2EP99}},
	} {
		for _, m := range e.metrics {
			v := 123_456_789.0
			if isCost(m) {
				v = 0.1234
			}
			i := result.Interval{N: 6, Median: v, Low: v, High: v}
			c.Cells = append(c.Cells, result.CellStats{Experiment: string(e.kind), Kind: e.kind, Cell: "c" + string(e.kind), Label: "client compression.type=snappy", Metric: m, Interval: i})
			c.Pairs = append(c.Pairs, result.Pair{Experiment: string(e.kind), Cell: "c" + string(e.kind), Metric: m, N: 6, NeedN: 7,
				Verdict: result.Undecided, Ratio: result.Interval{Median: 0.934}})
		}
	}
	var out bytes.Buffer
	if err := printCells(&out, c); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "undecided"); n != 6 {
		t.Errorf("%d verdicts, want 3 of the burst and 3 of the paced cell, whose rate is given:\n%s", n, &out)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); n > most {
			t.Errorf("%d columns: %s", n, fmt.Sprintf("%q", line))
		}
	}
}

// TestRunsAreNumberedAsInTheFiles: from 0, with the count of runs beside it, and
// reasons are told apart.
func TestRunsAreNumberedAsInTheFiles(t *testing.T) {
	var out bytes.Buffer
	p := &lineProgress{w: &out}
	p.Started(34, 143, "burst", "base", 0, 0)
	p.Finished(&result.Run{Status: result.Degraded, Reasons: []string{"one", "two"}}, nil)
	if got := out.String(); !strings.Contains(got, " 35/143  run 34, burst, block 0: base") || !strings.Contains(got, "degraded: one; two") {
		t.Errorf("line %q", got)
	}
}
