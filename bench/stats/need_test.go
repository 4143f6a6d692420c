package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/bench/result"
)

// wave are n values with a mean and exactly a standard deviation, whatever n is.
func wave(n int, mean, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Sin(float64(i) * 2.4)
	}
	i, scale := Interval{}, 0.0
	for _, v := range out {
		i.Center += v / float64(n)
	}
	for _, v := range out {
		scale += (v - i.Center) * (v - i.Center) / float64(n-1)
	}
	for k := range out {
		out[k] = mean + sd*(out[k]-i.Center)/math.Sqrt(scale)
	}
	return out
}

// effect is a comparison of n blocks as pair makes it, below ten blocks.
func effect(n int, mean, sd float64) candidate {
	logs := wave(n, mean, sd)
	k := candidate{kind: result.Burst, outlook: pairedOutlook(logs)}
	k.N = n
	k.Ratio, k.P = paired(logs)
	return k
}

func family(n, others int, mean, sd float64) []candidate {
	all := []candidate{effect(n, mean, sd)}
	for range others {
		all = append(all, effect(n, 0.08, 0.4)) // far from decided
	}
	return all
}

// TestNeedFollowsTheCorrection: so many blocks as are asked for do decide, one fewer do
// not, and among many comparisons more are needed than alone.
func TestNeedFollowsTheCorrection(t *testing.T) {
	rate := metrics[0]
	needs := map[int]int{}
	for _, others := range []int{0, 20} {
		p := decide(family(6, others, 0.12, 0.13), nil, rate)[0]
		if p.Verdict != result.Undecided || p.NeedN <= 6 || p.NeedN > 40 {
			t.Fatalf("with %d others: %s, %d blocks; want undecided and some more blocks", others, p.Verdict, p.NeedN)
		}
		needs[others] = p.NeedN
		at := func(n int) result.Verdict {
			all := family(6, others, 0.12, 0.13)
			for i := range all {
				all[i].foresee(float64(n - 6))
			}
			judge(all, nil, rate)
			return all[0].Verdict
		}
		if at(p.NeedN) != result.Faster || at(p.NeedN-1) != result.Undecided {
			t.Errorf("with %d others, %d blocks are said to decide: %s then, %s with one fewer", others, p.NeedN, at(p.NeedN), at(p.NeedN-1))
		}
	}
	if needs[20] <= needs[0] {
		t.Errorf("%d blocks among 21 comparisons, %d alone: the correction is left out", needs[20], needs[0])
	}
}

// TestNeedIsTrue draws blocks at random: with the number asked for, about half of the
// experiments decide, for an effect that is what it seemed.
func TestNeedIsTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p := decide(family(6, 0, 0.12, 0.13), nil, metrics[0])[0]
	decided := 0
	const trials = 1000
	for range trials {
		d := make([]float64, p.NeedN)
		for i := range d {
			d[i] = 0.12 + 0.13*random.NormFloat64()
		}
		if i, _ := PairedT(d); i.Low > 0 {
			decided++
		}
	}
	if share := float64(decided) / trials; share < 0.4 || share > 0.7 {
		t.Errorf("%d blocks decide in %.2f of the experiments, want about half", p.NeedN, share)
	}
}

// TestNeedFollowsTheFloor: an effect within what the base differs by from itself on
// average is never decided; within a floor that is only wide, it is once that sinks.
func TestNeedFollowsTheFloor(t *testing.T) {
	floorOf := func(mean, sd float64) []floor {
		k := effect(6, mean, sd)
		further := max(math.Log(k.Ratio.High), -math.Log(k.Ratio.Low))
		return []floor{{result.Noise{Kind: result.Burst, Floor: math.Exp(further)}, k.outlook}}
	}
	for _, c := range []struct {
		name   string
		floors []floor
		decide bool
	}{{"the base differs by 19 %", floorOf(0.174, 0.1), false}, {"the base wanders", floorOf(0.01, 0.2), true}} {
		p := decide(family(6, 0, 0.12, 0.02), c.floors, metrics[0])[0]
		if p.Verdict != result.Undecided || p.Withheld[0] != result.ByNoiseFloor {
			t.Fatalf("%s: %s, withheld by %v", c.name, p.Verdict, p.Withheld)
		}
		if (p.NeedN > 0) != c.decide {
			t.Errorf("%s: %d blocks are said to decide an effect of 13 %%; a number: %v, want %v", c.name, p.NeedN, p.NeedN > 0, c.decide)
		}
	}
	small := decide(family(6, 0, 0.01, 0.06), floorOf(0.174, 0.1), metrics[0])[0]
	if small.Verdict != result.Undecided || small.NeedN == 0 {
		t.Errorf("%s, %d blocks: below the floor equivalence can still be shown", small.Verdict, small.NeedN)
	}
}

// TestNeedHasAnEnd: an effect next to nothing beside its noise asks for "more" and no
// exact number.
func TestNeedHasAnEnd(t *testing.T) {
	if p := decide(family(6, 0, 0.049, 1.5), nil, metrics[0])[0]; p.NeedN <= MostNeed {
		t.Errorf("%d blocks for 5 %% in a noise of 150 %%, want more than %d", p.NeedN, MostNeed)
	}
}

// TestOutlookOfTwoSamples: without further blocks it is Welch's interval, and with more
// it is narrower about the same middle.
func TestOutlookOfTwoSamples(t *testing.T) {
	a, b := wave(8, 0, 0.1), wave(8, 0.2, 0.3)
	want, wantP := Welch(a, b)
	o := sampleOutlook(a, b)
	now, p := o.after(8)
	near(t, "low", now.Low, want.Low, 1e-9)
	near(t, "high", now.High, want.High, 1e-9)
	near(t, "p", p, wantP, 1e-9)
	later, _ := o.after(32)
	if later.High-later.Low > 0.55*(now.High-now.Low) || math.Abs(later.Center-now.Center) > 1e-9 {
		t.Errorf("four times the runs: %v of %v, want half as wide", later, now)
	}
}
