package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"tidemark/bench/result"
)

// MostNeed is where the search for a number of blocks ends: NeedN above it says that
// more than so many would be needed.
const MostNeed = 1000

// outlook is what the blocks so far say of a difference of logarithms, and so what
// more of them would if effect and spread stayed as they are.
type outlook struct {
	mean, sd float64
	n        int
	// freedom is the degrees of freedom for each block beyond the first: 1 of paired
	// blocks, up to 2 of two samples. 0 where there were too few values for a spread.
	freedom float64
}

// pairedOutlook is that of paired differences.
func pairedOutlook(differences []float64) outlook {
	if len(differences) < 2 {
		return outlook{n: len(differences)}
	}
	mean, sd := stat.MeanStdDev(differences, nil)
	return outlook{mean, sd, len(differences), 1}
}

// sampleOutlook is that of two samples, n of each.
func sampleOutlook(a, b []float64) outlook {
	n := min(len(a), len(b))
	if n < 2 {
		return outlook{n: n}
	}
	meanA, va := stat.MeanVariance(a, nil)
	meanB, vb := stat.MeanVariance(b, nil)
	o := outlook{meanB - meanA, math.Sqrt(va + vb), n, 1}
	if va+vb > 0 {
		o.freedom = (va + vb) * (va + vb) / (va*va + vb*vb)
	}
	return o
}

func (o outlook) known() bool { return o.freedom > 0 }

// after is the interval of n blocks and its p. All the blocks there could be leave the
// mean alone.
func (o outlook) after(n float64) (Interval, float64) {
	if math.IsInf(n, 1) {
		if o.mean == 0 {
			return Interval{}, 1
		}
		return Interval{o.mean, o.mean, o.mean}, 0
	}
	return tInterval(o.mean, o.sd/math.Sqrt(n), o.freedom*(n-1))
}

// need fills in how many blocks would decide what is open, if every comparison of the
// figure, and the A/A pairs of its floor, got as many more and went on as they began:
// by the same rule, correction and floor included. It stays 0 where no number would,
// because the effect is no larger than what the base differs by from itself.
func need(all []candidate, floors []floor, m metric) {
	open := 0
	for i := range all {
		all[i].NeedN = 0
		switch {
		case !undecided(all[i].Verdict):
		case !all[i].outlook.known():
			all[i].NeedN = LeastN
		default:
			open++
		}
	}
	later := make([]candidate, len(all))
	foresee := func(more float64) {
		copy(later, all)
		for i := range later {
			later[i].foresee(more)
		}
		judge(later, foreseen(floors, more), m)
	}
	if open > 0 {
		foresee(math.Inf(1))
		for i := range all {
			if undecided(all[i].Verdict) && all[i].outlook.known() && undecided(later[i].Verdict) {
				all[i].never = true
				open--
			}
		}
	}
	for more := 1; open > 0; more += 1 + more/16 {
		if more <= MostNeed {
			foresee(float64(more))
		}
		for i := range all {
			p := &all[i]
			if !undecided(p.Verdict) || p.NeedN > 0 || p.never {
				continue
			}
			if more > MostNeed || !undecided(later[i].Verdict) {
				p.NeedN = max(LeastN, p.N+more)
				open--
			}
		}
	}
}

func undecided(v result.Verdict) bool { return v == result.Undecided || v == result.TooFew }

// foresee makes a comparison what it would be after more blocks; one of too few values
// to tell stays as it is.
func (k *candidate) foresee(more float64) {
	if !k.outlook.known() {
		return
	}
	n := float64(k.outlook.n) + more
	var i Interval
	i, k.P = k.outlook.after(n)
	k.N = int(min(n, math.MaxInt32))
	k.Ratio = result.Interval{N: k.N, Median: math.Exp(i.Center), Low: math.Exp(i.Low), High: math.Exp(i.High)}
}

// foreseen are the floors after more blocks: they sink towards what the base differed
// by from itself on average.
func foreseen(floors []floor, more float64) []floor {
	out := make([]floor, len(floors))
	for i, l := range floors {
		at, _ := l.outlook.after(float64(l.outlook.n) + more)
		out[i] = l
		out[i].Floor = math.Exp(max(at.High, -at.Low))
	}
	return out
}
