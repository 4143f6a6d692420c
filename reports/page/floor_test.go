package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// TestWithheldWords: the reason that is told is the one for which the verdict was
// withheld. An interval that excludes 1 may have been withheld by either rule.
func TestWithheldWords(t *testing.T) {
	interval, correction, floor := `the interval includes "no difference"`, "not after Holm's correction", "within the noise floor of −30 % to +43 %"
	for _, c := range []struct {
		why  []result.Withheld
		want []string
	}{
		{[]result.Withheld{result.ByCorrection}, []string{correction}},
		{[]result.Withheld{result.ByNoiseFloor}, []string{floor}},
		{[]result.Withheld{result.ByCorrection, result.ByNoiseFloor}, []string{correction, floor}},
		{[]result.Withheld{result.ByInterval}, []string{interval}},
		{[]result.Withheld{result.ByInterval, result.ByNoiseFloor}, []string{interval, floor}},
	} {
		p := result.Pair{Verdict: result.Undecided, Floor: 1.43, Withheld: c.why, Ratio: result.Interval{Median: 1.3, Low: 1.1, High: 1.5}}
		if said, want := spaced(withheldWords(p)), list(c.want); said != want {
			t.Errorf("withheld by %v: says %q, want %q", c.why, said, want)
		}
	}
}

// TestNeedWords: a number where one would decide, and where none would, the reason.
func TestNeedWords(t *testing.T) {
	for n, want := range map[int]string{12: "about 12 blocks", 400: "more than 100 blocks", 0: "no number of blocks: the base differs from itself by as much"} {
		if got := needWords(result.Pair{Verdict: result.Undecided, NeedN: n}); !strings.Contains(got, want) {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// TestFloorsAtAFixedRate: both percentiles have their floor told, and the rate, which is
// given there, has none.
func TestFloorsAtAFixedRate(t *testing.T) {
	compare := &result.Compare{}
	for i, m := range []string{result.MetricProduce, result.MetricP50, result.MetricP99} {
		compare.Noise = append(compare.Noise, result.Noise{Experiment: "latency", Kind: result.Paced, Metric: m, Floor: 1.1 + float64(i)/10})
	}
	v := &view{&dataset.Invocation{Folder: &result.Folder{Compare: compare}}}
	want := "cells at a fixed rate: p50 response time −17 % to +20 % and p99 response time −23 % to +30 %"
	if got := spaced(v.floorWords()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if rows := v.floorTable().Rows; len(rows) != 2 || rows[0].Cells[1].Text != "p50 response time" {
		t.Errorf("the table of floors holds %+v", rows)
	}
	if tile := v.floorTile(); !strings.HasPrefix(tile.Small, "p50") {
		t.Errorf("the tile speaks of %q", tile.Small)
	}
}
