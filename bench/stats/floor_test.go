package stats

import (
	"slices"
	"strings"
	"testing"

	"tidemark/bench/result"
)

// withAgain adds the base under a second name to the folder's experiment; cell gives
// its window in each block.
func withAgain(f *result.Folder, blocks int, cell func(block int) *result.Window) {
	e := &f.Plan.Experiments[0]
	e.Cells = append(e.Cells, result.PlanCell{ID: "aa", Label: "base again (A/A)", AA: true})
	for block := range blocks {
		f.Runs = append(f.Runs, result.Run{Kind: e.Kind, Cell: "aa", Block: block, Status: result.Valid, Produce: cell(block)})
	}
}

// costly is a window whose broker spent so many milliseconds on a million records.
func costly(perS, ms int64) *result.Window {
	return &result.Window{Acked: 1_000_000, AckedPerS: perS, CPU: result.CPU{BrokerUserNs: ms * 1e6}}
}

// TestFloorsAreOfTheirOwnFigure: a rate that wanders between two names of one cell
// hides a difference of rates, and none of processor time, which did not wander.
func TestFloorsAreOfTheirOwnFigure(t *testing.T) {
	f := folder(6, func(int) (int64, int64) { return 1, 1 })
	for i := range f.Runs {
		r := &f.Runs[i]
		w := int64(r.Block % 3)
		if r.Produce = costly(1_000_000+w*1000, 100+w); r.Cell == "b" {
			r.Produce = costly(1_120_000+w*2000, 120+w)
		}
	}
	withAgain(f, 6, func(block int) *result.Window { return costly(int64(800_000+80_000*block), 100+int64(block%2)) })
	c := Summarise(f)
	verdicts, floors := map[string]result.Verdict{}, map[string]float64{}
	for _, p := range c.Pairs {
		if p.Cell == "b" {
			verdicts[p.Metric], floors[p.Metric] = p.Verdict, p.Floor
		}
	}
	if got := verdicts[result.MetricProduce]; got != result.Undecided || floors[result.MetricProduce] < 1.12 {
		t.Errorf("rate: %s with a floor of ×%.2f, want an effect of 12 %% within it", got, floors[result.MetricProduce])
	}
	if got := verdicts[result.MetricProduceCost]; got != result.Slower || floors[result.MetricProduceCost] > 1.05 {
		t.Errorf("processor time: %s with a floor of ×%.2f, want dearer: its own A/A hardly differed", got, floors[result.MetricProduceCost])
	}
	note := strings.Join(c.Notes, "\n")
	for _, want := range []string{"records/s produced −", "broker CPU per record produced −"} {
		if !strings.Contains(note, want) {
			t.Errorf("the notes do not give the floor of %q:\n%s", want, note)
		}
	}
}

// TestFloorForACell: its own experiment's, else the highest of its kind, else none.
func TestFloorForACell(t *testing.T) {
	of := func(name string, kind result.Kind, factor float64) floor {
		return floor{Noise: result.Noise{Experiment: name, Kind: kind, Floor: factor}}
	}
	all := []floor{of("a", result.Burst, 1.1), of("b", result.Burst, 1.4), of("c", result.Sustained, 1.2)}
	for _, c := range []struct {
		experiment string
		kind       result.Kind
		again      bool
		want       float64
	}{
		{"a", result.Burst, false, 1.1},
		{"b", result.Burst, false, 1.4},
		{"x", result.Burst, false, 1.4},
		{"x", result.Sustained, false, 1.2},
		{"x", result.Paced, false, 0},
		{"b", result.Burst, true, 0},
	} {
		got, _ := floorFor(all, candidate{Pair: result.Pair{Experiment: c.experiment}, kind: c.kind, again: c.again})
		if got.Floor != c.want {
			t.Errorf("%s, %s, again %v: floor ×%v, want ×%v", c.experiment, c.kind, c.again, got.Floor, c.want)
		}
	}
}

// TestAgainIsJudged: a base that differs from itself by far more than its blocks do is
// called different, so that a report can warn of it.
func TestAgainIsJudged(t *testing.T) {
	f := folder(6, func(block int) (int64, int64) { return 1_000_000 + int64(block%3)*1000, 1_000_000 })
	withAgain(f, 6, func(block int) *result.Window { return &result.Window{AckedPerS: 1_300_000 + int64(block)*1000} })
	for _, p := range Summarise(f).Pairs {
		if p.Cell == "aa" && p.Metric == result.MetricProduce && p.Verdict != result.Faster {
			t.Errorf("the base again at ×1.3 is %s: its own floor must not hide it", p.Verdict)
		}
	}
}

// TestWithheld: every reason that holds is given, and none that does not.
func TestWithheld(t *testing.T) {
	for _, c := range []struct {
		name           string
		low, mid, high float64
		pHolm, floor   float64
		want           []result.Withheld
	}{
		{"an interval that holds 1", 0.9, 1.2, 1.6, 0.4, 0, []result.Withheld{result.ByInterval}},
		{"alone, not after correction", 1.02, 1.3, 1.66, 0.2, 0, []result.Withheld{result.ByCorrection}},
		{"after correction, within the floor", 1.1, 1.19, 1.29, 0.01, 1.43, []result.Withheld{result.ByNoiseFloor}},
		{"below 1, within the floor", 0.68, 0.75, 0.81, 0.01, 1.43, []result.Withheld{result.ByNoiseFloor}},
		{"neither", 1.02, 1.2, 1.41, 0.2, 1.43, []result.Withheld{result.ByCorrection, result.ByNoiseFloor}},
		{"nothing", 1.4, 1.5, 1.6, 0.01, 1.43, nil},
	} {
		p := result.Pair{N: 6, PHolm: c.pHolm, Floor: c.floor, Ratio: result.Interval{Low: c.low, Median: c.mid, High: c.high}}
		got, why := verdict(p, true)
		if !slices.Equal(why, c.want) || (got == result.Undecided) != (c.want != nil) {
			t.Errorf("%s: %s, withheld by %v; want %v", c.name, got, why, c.want)
		}
	}
}

// TestFloorNote: a rate that is given has no floor told, a floor that rounds to nothing
// is no pair of zeros.
func TestFloorNote(t *testing.T) {
	note := floorNote([]result.Noise{
		{Kind: result.Paced, Metric: result.MetricProduce, Floor: 1.0001},
		{Kind: result.Paced, Metric: result.MetricP50, Floor: 1.2},
		{Kind: result.Burst, Metric: result.MetricFetch, Floor: 1.0002},
	})
	for _, want := range []string{"records/s fetched less than ±0.1 %", "p50 response time −16.7 to +20.0 %"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note does not say %q: %s", want, note)
		}
	}
	if strings.Contains(note, "records/s produced") {
		t.Errorf("the note speaks of a rate that was given: %s", note)
	}
}
