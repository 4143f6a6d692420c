package stats

import (
	"math"
	"slices"

	"tidemark/bench/result"
)

// Margin of equivalence: an interval inside ±5 % is called equivalent.
const Margin = 0.05

// Summarise makes compare.json of a folder: every cell's figures, and every cell
// against the base cell of its experiment.
func Summarise(f *result.Folder) *result.Compare {
	c := &result.Compare{Schema: result.CompareSchema, Noise: []result.Noise{}, Cells: []result.CellStats{}, Pairs: []result.Pair{}, Notes: []string{}}
	for _, m := range metrics {
		floors := floorsOf(f, m)
		c.Noise = append(c.Noise, noises(floors)...)
		var all []candidate
		for _, e := range f.Plan.Experiments {
			base := baseOf(e)
			for _, cell := range e.Cells {
				if s, ok := cellStats(f, e, cell, m); ok {
					c.Cells = append(c.Cells, s)
				}
				if base == nil || cell.Base || !sameRate(cell, *base) {
					continue
				}
				if k, ok := pair(f, e, cell, *base, m); ok {
					all = append(all, k)
				}
			}
		}
		c.Pairs = append(c.Pairs, decide(all, floors, m)...)
	}
	c.NoiseRatio = widest(c.Noise, result.MetricProduce)
	c.Notes = notes(f, c)
	return c
}

func baseOf(e result.PlanExperiment) *result.PlanCell {
	i := slices.IndexFunc(e.Cells, func(c result.PlanCell) bool { return c.Base })
	if i < 0 {
		return nil
	}
	return &e.Cells[i]
}

// candidate is a comparison before its verdict.
type candidate struct {
	result.Pair
	kind result.Kind
	// again is the base under a second name, which is what a floor is made of and is
	// not held against one.
	again   bool
	outlook outlook
	// never is true where no number of blocks would decide.
	never bool
}

// sameRate is false for cells that differ in the offered rate: a latency at one
// load says nothing of another configuration at another.
func sameRate(a, b result.PlanCell) bool { return a.Config["rate"] == b.Config["rate"] }

func usable(f *result.Folder, cell string) (out []result.Run, degraded, invalid int) {
	for _, r := range f.Of(cell) {
		switch r.Status {
		case result.Invalid:
			invalid++
			continue
		case result.Degraded:
			degraded++
		}
		out = append(out, r)
	}
	return out, degraded, invalid
}

func cellStats(f *result.Folder, e result.PlanExperiment, cell result.PlanCell, m metric) (result.CellStats, bool) {
	runs, degraded, invalid := usable(f, cell.ID)
	i := medianOf(runs, m)
	if i.N == 0 {
		return result.CellStats{}, false
	}
	return result.CellStats{Experiment: e.Name, Cell: cell.ID, Label: cell.Label, Kind: runs[len(runs)-1].Kind, Metric: m.name,
		Interval: i, Valid: medianOfValid(runs, m), Degraded: degraded, Invalid: invalid}, true
}

// pair compares a cell with the base over the blocks that both have.
func pair(f *result.Folder, e result.PlanExperiment, cell, base result.PlanCell, m metric) (k candidate, ok bool) {
	runs, _, _ := usable(f, cell.ID)
	bases, _, _ := usable(f, base.ID)
	logs := logRatios(runs, bases, m)
	if len(logs) == 0 {
		return k, false
	}
	k = candidate{kind: e.Kind, again: cell.AA, outlook: pairedOutlook(logs)}
	k.Pair = result.Pair{Experiment: e.Name, Cell: cell.ID, Label: cell.Label, BaseCell: base.ID, BaseLabel: base.Label, Metric: m.name, N: len(logs)}
	k.Ratio, k.P = paired(logs)
	k.Valid = ratioOfValid(runs, bases, m)
	return k, true
}

// logRatios are the logarithms of cell ÷ base in the blocks that both have.
func logRatios(cell, base []result.Run, m metric) (logs []float64) {
	byBlock := map[int]float64{}
	for i := range base {
		if v, ok := m.value(&base[i]); ok {
			byBlock[base[i].Block] = v
		}
	}
	for i := range cell {
		v, has := m.value(&cell[i])
		if b, both := byBlock[cell[i].Block]; has && both {
			logs = append(logs, math.Log(v/b))
		}
	}
	return logs
}

// paired is the ratio that log ratios make, and its p, both of one test.
func paired(logs []float64) (result.Interval, float64) {
	i, raw := PairedT(logs)
	how, center := "paired_t", result.CenterMean
	if len(logs) >= 10 {
		i, raw = Bootstrap(logs, 1)
		how, center = "bootstrap", result.CenterMedian
	}
	if len(logs) < LeastN {
		how, raw = "min_max", 1
		s := sorted(logs)
		i.Low, i.High = s[0], s[len(s)-1]
	}
	return result.Interval{N: len(logs), Median: math.Exp(i.Center), Center: center, Low: math.Exp(i.Low), High: math.Exp(i.High), How: how}, raw
}

// decide gives the verdicts of a figure, and says what would decide where they are open.
func decide(all []candidate, floors []floor, m metric) []result.Pair {
	judge(all, floors, m)
	need(all, floors, m)
	pairs := make([]result.Pair, len(all))
	for i := range all {
		pairs[i] = all[i].Pair
	}
	return pairs
}

// judge corrects the family's p values and gives the verdicts.
func judge(all []candidate, floors []floor, m metric) {
	ps := make([]float64, len(all))
	for i := range all {
		ps[i] = all[i].P
	}
	for i, corrected := range Holm(ps) {
		k := &all[i]
		k.PHolm = corrected
		if l, ok := floorFor(floors, *k); ok {
			k.Floor, k.FloorOf = l.Floor, l.Experiment
		}
		k.Verdict, k.Withheld = verdict(k.Pair, m.moreIsFaster)
	}
}

// verdict is equivalence where the interval lies within the margin, and a difference
// where nothing withholds it; else it comes with what does.
func verdict(p result.Pair, moreIsFaster bool) (result.Verdict, []result.Withheld) {
	r := p.Ratio
	switch {
	case p.N < LeastN:
		return result.TooFew, nil
	case r.Low > 1/(1+Margin) && r.High < 1+Margin:
		return result.Equivalent, nil
	}
	if why := withheld(p); len(why) > 0 {
		return result.Undecided, why
	}
	if (r.Low > 1) == moreIsFaster {
		return result.Faster, nil
	}
	return result.Slower, nil
}

// withheld are all reasons why a pair shows no difference: its interval does not, it
// does not survive the correction, or it lies within the floor.
func withheld(p result.Pair) (why []result.Withheld) {
	switch {
	case p.Ratio.Low <= 1 && p.Ratio.High >= 1:
		why = append(why, result.ByInterval)
	case p.PHolm >= 1-Confidence:
		why = append(why, result.ByCorrection)
	}
	if within(p.Ratio.Median, p.Floor) {
		why = append(why, result.ByNoiseFloor)
	}
	return why
}

// notes are sentences that belong beside every table of the folder.
func notes(f *result.Folder, c *result.Compare) []string {
	out := []string{}
	kinds := map[result.Kind]bool{}
	for _, e := range f.Plan.Experiments {
		kinds[e.Kind] = true
	}
	if kinds[result.Burst] {
		out = append(out, "Cells marked burst write a bounded number of bytes into the page cache; only sustained cells say what the disk keeps up with.")
	}
	few := slices.ContainsFunc(c.Cells, func(s result.CellStats) bool { return s.Interval.How == "min_max" }) ||
		slices.ContainsFunc(c.Pairs, func(p result.Pair) bool { return p.Verdict == result.TooFew })
	if few {
		out = append(out, "Fewer than 6 blocks in common allow no verdict; their bounds are the smallest and the largest value.")
	}
	if note := floorNote(c.Noise); note != "" {
		out = append(out, note)
	}
	if f.Env != nil && f.Env.Disk.Tmpfs {
		out = append(out, "The data directory was in memory: no figure says anything about a disk.")
	}
	return out
}
