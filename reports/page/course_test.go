package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// seconds is the record of a run whose rate in each second is given.
func seconds(rate func(second int) int64) []result.Row {
	var rows []result.Row
	for i := range 61 {
		rows = append(rows, result.Row{TMs: int64(i+1) * 1000, LengthMs: 1000, Phase: "window", Acked: rate(i)})
	}
	return append(rows, result.Row{TMs: 62_000, LengthMs: 1000, Phase: "fetch", Acked: 1})
}

// TestCourse: a rate that broke down and came back is not told as one that was kept.
func TestCourse(t *testing.T) {
	dip, ok := courseOf(seconds(func(i int) int64 {
		if i >= 3 && i < 20 {
			return 2e6
		}
		return 10e6
	}))
	if !ok || dip.level() || dip.first != 6.8e6 || dip.lowest != 2e6 || dip.middle != 10e6 || dip.last != 10e6 || dip.worst != 2e6 || dip.below != 17 {
		t.Errorf("a dip: %+v, level %v, %v", dip, dip.level(), ok)
	}
	flat, ok := courseOf(seconds(func(i int) int64 { return 5e6 + int64(i)*1e3 }))
	if !ok || !flat.level() {
		t.Errorf("a level run: %+v, level %v, %v", flat, flat.level(), ok)
	}
	if _, ok := courseOf(seconds(func(int) int64 { return 5e6 })[:20]); ok {
		t.Error("a run of twenty seconds has no last thirty after the first five")
	}
	if said := spaced(courseWords([]course{dip})); said != "the first 5 seconds ran at 2.00 M to 10.0 M records/s, too unlike each other to hold the rest against; the worst 10 in a row at 2.00 M; lowest second 2.00 M, median 10.0 M, highest 10.0 M; the last 30 seconds at 10.0 M; not level (one run, so no interval)" {
		t.Error(said)
	}
	if said := spaced(courseWords([]course{dip, flat})); !strings.Contains(said, "lowest second 2.00 M to 5.00 M") || !strings.Contains(said, "1 of 2 runs level (2 runs)") {
		t.Error(said)
	}
}

// TestDeletions: what the topic deletes during the run is said with its settings.
func TestDeletions(t *testing.T) {
	e := &dataset.Experiment{Cells: []*dataset.Cell{{Kind: result.Sustained}}}
	if said := deletions(e); len(said) != 0 {
		t.Errorf("no retention is set: %q", said)
	}
	e.Cells[0].Config = map[string]string{"retention.bytes": "1073741824", "broker.log.retention.check.interval.ms": "1000"}
	if said := deletions(e); len(said) != 1 || !strings.Contains(said[0], "(retention.bytes=1073741824, log.retention.check.interval.ms=1000)") {
		t.Errorf("got %q", said)
	}
}

// TestLevelStart: only a start that was level among itself is what the end is held
// against.
func TestLevelStart(t *testing.T) {
	late, ok := courseOf(seconds(func(i int) int64 {
		if i >= 8 && i < 20 {
			return 2e6
		}
		return 10e6
	}))
	if said := spaced(courseWords([]course{late})); !ok || said != "10.0 M records/s in the first 5 seconds; the worst 10 in a row at 2.00 M (20 % of that), 12 s below half of it; lowest second 2.00 M, median 10.0 M, highest 10.0 M; the last 30 seconds ran at 100 % of the first 5; not level (one run, so no interval)" {
		t.Error(said)
	}
}

// TestKernelWords: the kernel is named where it took most of the processor time.
func TestKernelWords(t *testing.T) {
	for system, want := range map[int64]string{68e9: "91 % of the processor time of broker and client, 68 of 75 core-seconds, was spent in the kernel", 30e9: ""} {
		c := &dataset.Cell{Usable: []result.Run{{Produce: &result.Window{CPU: result.CPU{BrokerSysNs: system, BrokerUserNs: 75e9 - system}}}}}
		if got := spaced(kernelWords(c)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
