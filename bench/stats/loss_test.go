package stats

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tidemark/bench/result"
)

// TestProbabilityAgainstTables compares with published values.
func TestProbabilityAgainstTables(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64 // per cent
	}{
		{37, 60, 48.2, 73.9}, {3, 300, 0.21, 2.89}, {0, 60, 0, 4.87}, {0, 300, 0, 0.99}, {0, 3000, 0, 0.10}, {5, 5, 54.93, 100}, {60, 60, 95.13, 100}, {0, 0, 0, 100},
	} {
		p := Probability(c.k, c.n)
		if math.Abs(100*p.Low-c.low) > 0.06 || math.Abs(100*p.High-c.high) > 0.06 {
			t.Errorf("%d of %d: %.2f %% to %.2f %%, want %v to %v", c.k, c.n, 100*p.Low, 100*p.High, c.low, c.high)
		}
	}
}

// TestProbabilityAgainstItsDefinition: at either bound, what was seen or worse has
// a chance of 2.5 %.
func TestProbabilityAgainstItsDefinition(t *testing.T) {
	for n := 2; n <= 70; n += 3 {
		for k := 1; k < n; k++ {
			p := Probability(k, n)
			atLeast := 1 - distuv.Binomial{N: float64(n), P: p.Low}.CDF(float64(k-1))
			atMost := distuv.Binomial{N: float64(n), P: p.High}.CDF(float64(k))
			if math.Abs(atLeast-0.025) > 1e-6 || math.Abs(atMost-0.025) > 1e-6 {
				t.Fatalf("%d of %d: %v to %v has tails %v and %v, want 0.025", k, n, p.Low, p.High, atLeast, atMost)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	var values []float64
	for i := range 100 {
		values = append(values, float64(100-i))
	}
	if s := SpreadOf(values); s != (result.Spread{Median: 50.5, Low: 40, High: 61, P95: 95, Max: 100, Mean: 50.5}) {
		t.Errorf("%+v", s)
	}
	if s := SpreadOf(nil); s != (result.Spread{}) {
		t.Errorf("of none: %+v", s)
	}
}

// cuts are n trials of an os cell that loses 100 records of a debt of 150, and of a
// group cell that loses none of a debt of 3.
func cuts(n int) (result.PlanExperiment, []result.Trial) {
	e := result.PlanExperiment{Name: "throughput", Cells: []result.PlanCell{
		{ID: "a", Label: "os", Config: map[string]string{"storage.flush": "os"}},
		{ID: "b", Label: "group", Config: map[string]string{"storage.flush": "group"}}}}
	var out []result.Trial
	for i := range n {
		out = append(out, result.Trial{Number: i, Fault: result.PowerCut, Cell: "a", Acked: 1000, Lost: 100, Debt: 150, LossWindowMs: 40},
			result.Trial{Number: i, Fault: result.PowerCut, Cell: "b", Acked: 500, Debt: 3})
	}
	return e, out
}

func planOf(n int) result.PlanTrials {
	return result.PlanTrials{Of: "throughput", Count: n, Fault: result.PowerCut}
}

func TestDurability(t *testing.T) {
	e, trials := cuts(60)
	d := Durability(e, planOf(60), trials, nil)
	if ok, why := GatesHold(d); !ok {
		t.Errorf("gates of good trials: %s", why)
	}
	a, b := d.Cells[0], d.Cells[1]
	if d.Done != 60 || a.Lossy != 60 || a.Trials != 60 || a.DebtPerLoss != 1.5 || a.Records.Median != 100 || a.LossWindowMs.P95 != 40 || a.Acked != 60_000 {
		t.Errorf("os: %+v", a)
	}
	if !b.Keeps || b.Lossy != 0 || math.Abs(b.Loss.High-0.0487) > 0.0001 || b.Known != 60 {
		t.Errorf("group: %+v", b)
	}
}

// TestGatesFail: each gate fails for what it is there for.
func TestGatesFail(t *testing.T) {
	for _, c := range []struct {
		gate  string
		spoil func(all []result.Trial)
	}{
		{"lose nothing", func(all []result.Trial) { all[1].Lost, all[1].Debt = 1, 1 }},
		{"was sent", func(all []result.Trial) { all[0].Phantom = 1 }},
		{"was sent", func(all []result.Trial) { all[3].Duplicate = 1 }},
		{"the cut bites", func(all []result.Trial) {
			for i := range all {
				all[i].Lost = 0
			}
		}},
		{"no trial loses more", func(all []result.Trial) { all[4].Debt = 99 }},
		{"no trial loses more", func(all []result.Trial) { all[4].Debt = -1 }},
		{"not stuck", func(all []result.Trial) {
			for i := range all {
				all[i].Debt = 1_000_000_000
			}
		}},
	} {
		e, trials := cuts(10)
		c.spoil(trials)
		ok, why := GatesHold(Durability(e, planOf(10), trials, nil))
		if ok || !strings.Contains(why, c.gate) {
			t.Errorf("a gate %q should fail: %s", c.gate, why)
		}
	}
	e, trials := cuts(10)
	if ok, why := GatesHold(Durability(e, planOf(11), trials, []result.FailedTrial{{Number: 10, Error: "no restart"}})); ok || !strings.Contains(why, "no restart") {
		t.Errorf("a broker did not start again, and the gates say: %s", why)
	}
	if ok, why := GatesHold(Durability(e, planOf(10), nil, nil)); ok {
		t.Errorf("gates hold without any trial: %s", why)
	}
}

// TestACutNeedsAControl: where no cell can lose anything, a cut that takes nothing
// would go unseen.
func TestACutNeedsAControl(t *testing.T) {
	e, trials := cuts(10)
	e.Cells = e.Cells[1:]
	if ok, why := GatesHold(Durability(e, planOf(10), trials, nil)); ok || !strings.Contains(why, "nothing shows that the cut takes anything") {
		t.Errorf("gates without an os cell: %v, %s", ok, why)
	}
}

// TestKillKeepsEverything: the page cache outlives a process, so that no cell may
// lose anything by a kill.
func TestKillKeepsEverything(t *testing.T) {
	e, trials := cuts(10)
	kills := planOf(10)
	kills.Fault = result.ProcessKill
	for i := range trials {
		trials[i].Lost, trials[i].Fault, trials[i].Debt = 0, result.ProcessKill, -1
	}
	if ok, why := GatesHold(Durability(e, kills, trials, nil)); !ok {
		t.Errorf("without a loss: %s", why)
	}
	trials[0].Lost = 1
	if ok, _ := GatesHold(Durability(e, kills, trials, nil)); ok {
		t.Error("an os cell lost a record by a kill, and the gates hold")
	}
}
