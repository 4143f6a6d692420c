package page

import (
	"strings"
	"testing"

	"tidemark/bench/hist"
	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// pacedCell is a cell that was offered a rate, with one run for each p99 in ms.
func pacedCell(offered, acked, dropped int64, p99 ...int64) *dataset.Cell {
	c := &dataset.Cell{Kind: result.Paced}
	for _, ms := range p99 {
		c.Usable = append(c.Usable, result.Run{Kind: result.Paced, BoundBy: "schedule", Produce: &result.Window{
			OfferedPerS: offered, AckedPerS: acked, Dropped: dropped, ResponseNs: &hist.Summary{N: 1000, P50: ms * 1e5, P99: ms * 1e6},
		}})
	}
	return c
}

// TestKeepsUp: a rate counts as kept up with only if every run took it whole, and
// the bound that is named holds for every run.
func TestKeepsUp(t *testing.T) {
	slow := pacedCell(3e6, 2.9e6, 0, 9)
	slow.Usable = append(slow.Usable, pacedCell(3e6, 3e6, 0, 5).Usable...)
	for _, c := range []struct {
		name string
		cell *dataset.Cell
		want bool
	}{
		{"all of it", pacedCell(2e6, 2e6, 0, 3, 7), true},
		{"97 %", pacedCell(2e6, 1.94e6, 0, 3, 7), false},
		{"records never sent", pacedCell(2e6, 1.99e6, 12, 3, 7), false},
		{"one run of two", slow, false},
		{"no run", pacedCell(2e6, 2e6, 0), false},
	} {
		if got := keepsUp(c.cell); got != c.want {
			t.Errorf("%s: keeps up %v, want %v", c.name, got, c.want)
		}
	}
	said := spaced(loadTitle(curve{cells: []*dataset.Cell{pacedCell(1e6, 1e6, 0, 1, 2), pacedCell(2e6, 2e6, 0, 3, 7), slow}}))
	if want := "Up to 2 M records/s offered, p99 response time stays within 7.00 ms (3.00 ms to 7.00 ms in 2 runs)"; said != want {
		t.Errorf("got  %s\nwant %s", said, want)
	}
	if said := loadTitle(curve{cells: []*dataset.Cell{slow}}); !strings.Contains(said, "No offered rate") {
		t.Errorf("a target that fell behind from the start: %s", said)
	}
	if got := boundBy(pacedCell(2e6, 1.9e6, 0, 3, 7)); got != "unknown" {
		t.Errorf("a rate that was not taken bound its cell: %s", got)
	}
}

// TestChosen: a run that left records unsent does not take its cell out of the spectra.
// The other runs are drawn, and what is not is named with its reason.
func TestChosen(t *testing.T) {
	run := func(dropped int64) *dataset.Cell { return pacedCell(10_000, 9_990, dropped, 1) }
	cell := run(0)
	cell.Usable = append(cell.Usable, run(15).Usable[0])
	cell.Usable[1].Block = 5
	cell.Base = true
	none := run(20)
	none.Axes = map[string]string{"tail": "true"}
	e := &dataset.Experiment{Cells: []*dataset.Cell{cell, none}}
	e.Name, e.Kind, e.Axes = "latency", result.Paced, []result.Axis{{Name: "tail", Values: []string{"false", "true"}}}
	drawn, left := chosen(e)
	if len(drawn) != 1 || len(drawn[0].Usable) != 1 || !strings.Contains(drawn[0].name, "1 of 2 runs") {
		t.Errorf("drawn %+v, want the base with the one run that kept up, and said so", drawn)
	}
	notes := spaced(strings.Join(left, "\n"))
	for _, want := range []string{"base: left out", "block 5 (15 records never sent)", "tail=true: left out", "No other run"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	lost := pacedCell(10_000, 900, 5_000, 1, 1, 1)
	lost.Usable[1].Produce.AckedPerS = 1_100
	if _, note := ofCell(e, lost); !strings.Contains(spaced(note), "none of 3 runs kept up with its rate: 9 % to 11 % of it was acknowledged.") {
		t.Errorf("of a cell that never kept up each run is named: %s", note)
	}
	e = &dataset.Experiment{}
	for i, dropped := range []int64{0, 0, 0, 0, 900} {
		c := pacedCell(int64(i+1)*1e6, int64(i+1)*1e6, dropped, 1)
		c.Axes = map[string]string{dataset.RateAxis: "x"}
		e.Cells = append(e.Cells, c)
	}
	drawn, left = chosen(e)
	if len(drawn) != 3 || len(left) != 1 || !strings.Contains(spaced(left[0]), "5 M/s (0 of 1 run kept up)") {
		t.Errorf("of a curve of five rates %d are drawn, want three, and notes %q", len(drawn), left)
	}
}

// TestGapTitle: the title says of which experiment and cell it speaks, and that others
// are drawn beside it.
func TestGapTitle(t *testing.T) {
	e := &dataset.Experiment{}
	e.Name = "latency"
	drawn := []kept{{pacedCell(1e4, 1e4, 0, 1), "base"}, {pacedCell(1e4, 1e4, 0, 3), "tail=true"}}
	if got, want := spaced(gapTitle(e, drawn, "")), "In latency, tail=true, one of 2 cells drawn: p99 response time is 3.00 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := spaced(gapTitle(e, drawn[:1], "")); !strings.HasPrefix(got, "In latency, base: ") {
		t.Errorf("got %q", got)
	}
}
