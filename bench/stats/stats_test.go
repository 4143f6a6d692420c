package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/bench/result"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestAgainstPublishedValues uses figures that any textbook table gives.
func TestAgainstPublishedValues(t *testing.T) {
	i, p := PairedT([]float64{1, 2, 3, 4, 5})
	near(t, "t interval low", i.Low, 3-2.776445*math.Sqrt(0.5), 1e-5)
	near(t, "t test p", p, 0.013236, 1e-5)
	m, ok := MedianInterval([]float64{6, 1, 5, 2, 4, 3})
	if !ok || m.Low != 1 || m.High != 6 {
		t.Errorf("n=6: interval %v, want the extremes: nothing narrower covers 95 %%", m)
	}
	m, _ = MedianInterval([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if m.Low != 2 || m.High != 9 {
		t.Errorf("n=10: interval %v, want 2 to 9", m)
	}
	got := Holm([]float64{0.01, 0.04, 0.03})
	for i, want := range []float64{0.03, 0.06, 0.06} {
		near(t, "Holm", got[i], want, 1e-12)
	}
}

// TestIntervalsCover simulates: a 95 % interval holds the truth in about 95 % of
// experiments, and a test of no effect alarms in at most about 5 %.
func TestIntervalsCover(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	var t6, median6, boot12, alarms int
	for trial := range trials {
		d := make([]float64, 12)
		for i := range d {
			d[i] = 0.03 + 0.05*random.NormFloat64()
		}
		if i, _ := PairedT(d[:6]); i.Low <= 0.03 && 0.03 <= i.High {
			t6++
		}
		if i, _ := MedianInterval(d[:6]); i.Low <= 0.03 && 0.03 <= i.High {
			median6++
		}
		if trial%20 == 0 { // slow, so fewer
			if i, _ := Bootstrap(d, 3); i.Low <= 0.03 && 0.03 <= i.High {
				boot12 += 20
			}
		}
		for i := range d {
			d[i] -= 0.03
		}
		if _, p := PairedT(d[:8]); p <= 0.05 {
			alarms++
		}
	}
	for name, covered := range map[string]int{"paired t, n=6": t6, "median, n=6": median6, "bootstrap, n=12": boot12} {
		if share := float64(covered) / trials; share < 0.91 {
			t.Errorf("%s covers %.3f of the truths, want about 0.95", name, share)
		}
	}
	if share := float64(alarms) / trials; share > 0.07 {
		t.Errorf("t tests alarm in %.3f of experiments without effect, want at most 0.05", share)
	}
}

// folder makes a folder of one experiment with two cells and n blocks.
func folder(n int, cell func(block int) (base, other int64)) *result.Folder {
	f := &result.Folder{Plan: result.Plan{Experiments: []result.PlanExperiment{{Name: "e", Kind: result.Burst,
		Cells: []result.PlanCell{{ID: "a", Label: "base", Base: true}, {ID: "b", Label: "x=1"}}}}}}
	for block := range n {
		a, b := cell(block)
		for id, v := range map[string]int64{"a": a, "b": b} {
			f.Runs = append(f.Runs, result.Run{Kind: result.Burst, Cell: id, Block: block, Status: result.Valid, Produce: &result.Window{AckedPerS: v}})
		}
	}
	return f
}

func TestVerdicts(t *testing.T) {
	wobble := []float64{1, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1}
	cases := []struct {
		name   string
		n      int
		factor float64
		noise  float64
		want   result.Verdict
	}{
		{"clearly faster", 6, 1.3, 1, result.Faster},
		{"clearly slower", 6, 0.7, 1, result.Slower},
		{"the same", 6, 1, 1, result.Equivalent},
		{"lost in noise", 6, 1.05, 12, result.Undecided},
		{"too few", 5, 2, 1, result.TooFew},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := folder(c.n, func(block int) (int64, int64) {
				drift := 1 + 0.3*float64(block) // what pairing takes out
				w := 1 + c.noise*(wobble[block]-1)
				return int64(1e6 * drift), int64(1e6 * drift * c.factor * w)
			})
			s := Summarise(f)
			if len(s.Pairs) != 1 {
				t.Fatalf("%d pairs, want 1: %+v", len(s.Pairs), s.Pairs)
			}
			p := s.Pairs[0]
			if p.Verdict != c.want {
				t.Errorf("verdict %s for a factor of %v, want %s (%+v)", p.Verdict, c.factor, c.want, p)
			}
			if undecided := c.want == result.Undecided || c.want == result.TooFew; undecided != (p.NeedN > 0) {
				t.Errorf("verdict %s asks for %d blocks", p.Verdict, p.NeedN)
			}
		})
	}
}

func TestInvalidRunsAreNotUsed(t *testing.T) {
	f := folder(7, func(int) (int64, int64) { return 1000, 2000 })
	for i := range f.Runs {
		if f.Runs[i].Block == 3 {
			f.Runs[i].Status, f.Runs[i].Produce.AckedPerS = result.Invalid, 1
		}
	}
	s := Summarise(f)
	if p := s.Pairs[0]; p.N != 6 || p.Ratio.Median != 2 {
		t.Errorf("pair %+v, want 6 blocks and a ratio of 2", p)
	}
	if c := s.Cells[0]; c.Invalid != 1 || c.Interval.Low != 1000 {
		t.Errorf("cell %+v, want 1 invalid run left out", c)
	}
}

func TestBetweenFolders(t *testing.T) {
	wobble := []int64{0, 10, -10, 5, -5, 3}
	a := folder(6, func(b int) (int64, int64) { return 1000 + wobble[b], 1000 + wobble[b] })
	b := folder(6, func(b int) (int64, int64) { return 1000 + wobble[5-b], 1500 + wobble[5-b] })
	got := map[string]result.Verdict{}
	for _, p := range Between(a, b).Pairs {
		got[p.Cell] = p.Verdict
	}
	if got["a"] != result.Equivalent || got["b"] != result.Faster {
		t.Errorf("verdicts %v, want a equivalent and b faster", got)
	}
}

func TestNoiseHidesSmallEffects(t *testing.T) {
	f := folder(6, func(block int) (int64, int64) { return 1_000_000, 1_120_000 + int64(block%3)*1000 })
	if p := Summarise(f).Pairs[0]; p.Verdict != result.Faster {
		t.Fatalf("without A/A runs: %+v, want faster", p)
	}
	withAgain(f, 6, func(block int) *result.Window { return &result.Window{AckedPerS: int64(800_000 + 80_000*block)} })
	c := Summarise(f)
	if c.NoiseRatio < 0.12 || c.NoiseRatio > 0.3 {
		t.Errorf("noise %v of an A/A cell that wanders by ±20 %%", c.NoiseRatio)
	}
	for _, p := range c.Pairs {
		if p.Cell == "b" && p.Verdict != result.Undecided {
			t.Errorf("%+v: an effect of 12 %% within a noise of %v", p, c.NoiseRatio)
		}
	}
}

// TestOtherRatesAreNotCompared: neither judged nor counted in a correction.
func TestOtherRatesAreNotCompared(t *testing.T) {
	f := folder(6, func(int) (int64, int64) { return 1000, 3000 })
	cells := f.Plan.Experiments[0].Cells
	for i, rate := range []string{"10% of burst", "30% of burst"} {
		cells[i].Config = map[string]string{"rate": rate}
	}
	if s := Summarise(f); len(s.Pairs) != 0 || len(s.Cells) != 2 {
		t.Errorf("%d cells and pairs %+v, want 2 and none", len(s.Cells), s.Pairs)
	}
}

// TestCorrectionIsOfTheWrittenP: p is of the interval's own test, below 0.05 where the
// interval excludes 1 and not where it holds it, and its correction is never below it.
func TestCorrectionIsOfTheWrittenP(t *testing.T) {
	for _, n := range []int{5, 6, 9, 10, 14} {
		f := folder(n, func(block int) (int64, int64) { return 1000, 1400 + int64(block%3) })
		e := &f.Plan.Experiments[0]
		for i, wide := range []int64{2, 40, 400, 900} {
			id := string(rune('c' + i))
			e.Cells = append(e.Cells, result.PlanCell{ID: id})
			for block := range n {
				v := 1100 + wide*int64(block%2*2-1) + int64(block)
				f.Runs = append(f.Runs, result.Run{Kind: result.Burst, Cell: id, Block: block, Status: result.Valid, Produce: &result.Window{AckedPerS: v}})
			}
		}
		pairs := Summarise(f).Pairs
		if len(pairs) != 5 {
			t.Fatalf("%d pairs, want 5", len(pairs))
		}
		for _, p := range pairs {
			if p.PHolm < p.P || p.P < 0 || p.PHolm > 1 {
				t.Errorf("n=%d, %s: p %v, corrected to %v", n, p.Cell, p.P, p.PHolm)
			}
			if n < LeastN {
				if p.P != 1 {
					t.Errorf("n=%d, %s: p %v of too few blocks, want 1", n, p.Cell, p.P)
				}
				continue
			}
			if excludes := p.Ratio.Low > 1 || p.Ratio.High < 1; excludes != (p.P < 1-Confidence) {
				t.Errorf("n=%d, %s: p %v beside the interval %+v", n, p.Cell, p.P, p.Ratio)
			}
		}
	}
}

// TestCenters: a figure says whether it is a median or a geometric mean.
func TestCenters(t *testing.T) {
	for _, c := range []struct {
		blocks int
		ratio  float64
		center string
	}{{6, math.Pow(2, 1.0/6), result.CenterMean}, {11, 1, result.CenterMedian}} {
		f := folder(c.blocks, func(block int) (int64, int64) {
			if block == 0 {
				return 1_000_000, 2_000_000
			}
			return 1_000_000, 1_000_000
		})
		got := Summarise(f)
		if r := got.Pairs[0].Ratio; r.Center != c.center || math.Abs(r.Median-c.ratio) > 1e-9 {
			t.Errorf("%d blocks, one doubled: %s %.4f, want %s %.4f", c.blocks, r.Center, r.Median, c.center, c.ratio)
		}
		if i := got.Cells[0].Interval; i.Center != result.CenterMedian {
			t.Errorf("a cell's figure is called %q", i.Center)
		}
	}
}
