package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"tidemark/bench/result"
)

// Margin of equivalence: an interval inside ±5 % is called equivalent.
const Margin = 0.05

// metric is one figure of a run.
type metric struct {
	name string
	// moreIsFaster: records per second, as against nanoseconds.
	moreIsFaster bool
	// value is the figure, ok false where the run has none.
	value func(r *result.Run) (v float64, ok bool)
}

var metrics = []metric{
	{result.MetricProduce, true, func(r *result.Run) (float64, bool) { return positive(r.Produce, acked) }},
	{result.MetricFetch, true, func(r *result.Run) (float64, bool) { return positive(r.Fetch, acked) }},
	{result.MetricProduceWire, true, func(r *result.Run) (float64, bool) { return positive(r.Produce, wire) }},
	{result.MetricFetchWire, true, func(r *result.Run) (float64, bool) { return positive(r.Fetch, wire) }},
	{result.MetricP50, false, latency(func(w *result.Window) int64 { return w.ResponseNs.P50 })},
	{result.MetricP99, false, latency(func(w *result.Window) int64 { return w.ResponseNs.P99 })},
	{result.MetricE2EP99, false, func(r *result.Run) (float64, bool) {
		if r.Kind != result.Paced || r.Produce == nil || r.Produce.E2ENs == nil {
			return 0, false
		}
		return float64(r.Produce.E2ENs.P99), r.Produce.E2ENs.P99 > 0
	}},
	{result.MetricProduceCost, false, func(r *result.Run) (float64, bool) { return positive(r.Produce, cost) }},
	{result.MetricFetchCost, false, func(r *result.Run) (float64, bool) { return positive(r.Fetch, cost) }},
}

func acked(w *result.Window) float64 { return float64(w.AckedPerS) }
func wire(w *result.Window) float64  { return float64(w.WirePerS) }
func cost(w *result.Window) float64  { return w.BrokerCoreSecondsPerMillion() }

func positive(w *result.Window, value func(*result.Window) float64) (float64, bool) {
	if w == nil {
		return 0, false
	}
	v := value(w)
	return v, v > 0
}

// latency is a figure of paced runs only: that of a saturated run is the length
// of the harness's own queue.
func latency(value func(*result.Window) int64) func(*result.Run) (float64, bool) {
	return func(r *result.Run) (float64, bool) {
		if r.Kind != result.Paced || r.Produce == nil || r.Produce.ResponseNs == nil {
			return 0, false
		}
		v := value(r.Produce)
		return float64(v), v > 0
	}
}

// Summarise makes compare.json of a folder: every cell's figures, and every cell
// against the base cell of its experiment.
func Summarise(f *result.Folder) *result.Compare {
	c := &result.Compare{Schema: result.CompareSchema, Cells: []result.CellStats{}, Pairs: []result.Pair{}, Notes: []string{}}
	c.NoiseRatio = noise(f)
	for _, m := range metrics {
		var pairs []result.Pair
		var ps []float64
		for _, e := range f.Plan.Experiments {
			var base *result.PlanCell
			for i := range e.Cells {
				cell := &e.Cells[i]
				if s, ok := cellStats(f, e, *cell, m); ok {
					c.Cells = append(c.Cells, s)
				}
				if cell.Base {
					base = cell
				}
			}
			for _, cell := range e.Cells {
				if base == nil || cell.Base || !sameRate(cell, *base) {
					continue
				}
				if p, raw, ok := pair(f, e.Name, cell, *base, m); ok {
					pairs, ps = append(pairs, p), append(ps, raw)
				}
			}
		}
		c.Pairs = append(c.Pairs, decide(pairs, ps, m, c.NoiseRatio)...)
	}
	c.Notes = notes(f, c)
	return c
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
	var values []float64
	kind := e.Kind
	for i := range runs {
		kind = runs[i].Kind
		if v, ok := m.value(&runs[i]); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return result.CellStats{}, false
	}
	i, ok := MedianInterval(values)
	how := "order_statistic"
	if !ok {
		how = "min_max"
	}
	return result.CellStats{Experiment: e.Name, Cell: cell.ID, Label: cell.Label, Kind: kind, Metric: m.name,
		Interval: result.Interval{N: len(values), Median: i.Center, Low: i.Low, High: i.High, How: how}, Degraded: degraded, Invalid: invalid}, true
}

// pair compares a cell with the base over the blocks that both have; raw is the
// uncorrected p that Holm's correction works on.
func pair(f *result.Folder, experiment string, cell, base result.PlanCell, m metric) (p result.Pair, raw float64, ok bool) {
	byBlock := map[int]float64{}
	runs, _, _ := usable(f, base.ID)
	for i := range runs {
		if v, ok := m.value(&runs[i]); ok {
			byBlock[runs[i].Block] = v
		}
	}
	var logs []float64
	runs, _, _ = usable(f, cell.ID)
	for i := range runs {
		v, has := m.value(&runs[i])
		if b, paired := byBlock[runs[i].Block]; has && paired {
			logs = append(logs, math.Log(v/b))
		}
	}
	if len(logs) == 0 {
		return p, 1, false
	}
	p = result.Pair{Experiment: experiment, Cell: cell.ID, Label: cell.Label, BaseCell: base.ID, BaseLabel: base.Label, Metric: m.name, N: len(logs)}
	raw = fillRatio(&p, logs)
	p.NeedN = NeedN(logs, math.Log1p(Margin))
	return p, raw, true
}

// fillRatio fills interval and p of a pair from its log ratios.
func fillRatio(p *result.Pair, logs []float64) (raw float64) {
	var i Interval
	how := "paired_t"
	if len(logs) < 10 {
		i, raw = PairedT(logs)
		p.P = SignFlip(logs)
	} else {
		how = "bootstrap"
		i, raw = Bootstrap(logs, 1)
		p.P = raw
	}
	if len(logs) < LeastN {
		how, p.P, raw = "min_max", 1, 1
		s := sorted(logs)
		i.Low, i.High = s[0], s[len(s)-1]
	}
	p.Ratio = result.Interval{N: len(logs), Median: math.Exp(i.Center), Low: math.Exp(i.Low), High: math.Exp(i.High), How: how}
	return raw
}

// noise is the half width of the widest A/A interval of produce throughput in
// the folder; 0 when no experiment ran its base cell twice, or too seldom.
func noise(f *result.Folder) (widest float64) {
	m := metrics[0]
	for _, e := range f.Plan.Experiments {
		var base, double *result.PlanCell
		for i := range e.Cells {
			switch c := &e.Cells[i]; {
			case c.Base:
				base = c
			case c.AA:
				double = c
			}
		}
		if base == nil || double == nil {
			continue
		}
		if p, _, ok := pair(f, e.Name, *double, *base, m); ok && p.N >= LeastN {
			widest = max(widest, p.Ratio.High-1, 1/p.Ratio.Low-1)
		}
	}
	return widest
}

// decide corrects the family's p values and gives the verdicts.
func decide(pairs []result.Pair, ps []float64, m metric, noise float64) []result.Pair {
	for i, corrected := range Holm(ps) {
		p := &pairs[i]
		p.PHolm = corrected
		p.Verdict = verdict(*p, m.moreIsFaster, noise)
		if p.Verdict != result.Undecided && p.Verdict != result.TooFew {
			p.NeedN = 0
		}
	}
	return pairs
}

// verdict needs an interval that excludes 1, survives the correction and is of
// an effect beyond the machine's noise, or an interval within the margin.
func verdict(p result.Pair, moreIsFaster bool, noise float64) result.Verdict {
	r := p.Ratio
	effect := math.Abs(math.Log(r.Median))
	switch {
	case p.N < LeastN:
		return result.TooFew
	case r.Low > 1/(1+Margin) && r.High < 1+Margin:
		return result.Equivalent
	case p.PHolm >= 1-Confidence || r.Low <= 1 && r.High >= 1 || effect <= math.Log1p(noise):
		return result.Undecided
	case (r.Low > 1) == moreIsFaster:
		return result.Faster
	}
	return result.Slower
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
	if c.NoiseRatio > 0 {
		out = append(out, fmt.Sprintf("The base cell against itself (A/A) differs by up to %.1f %% here; no smaller effect is called faster or slower.", 100*c.NoiseRatio))
	}
	if f.Env != nil && f.Env.Disk.Tmpfs {
		out = append(out, "The data directory was in memory: no figure says anything about a disk.")
	}
	return out
}

// Between compares the same cells in two folders: b against a. The runs are not
// paired, since they did not alternate, and a drift of the machine between the
// two shows as a difference.
func Between(a, b *result.Folder) *result.Compare {
	c := &result.Compare{Schema: result.CompareSchema, A: a.Dir, B: b.Dir, Cells: []result.CellStats{}, Pairs: []result.Pair{},
		Notes: []string{"The two folders did not run interleaved: a drift of the machine between them shows as a difference."}}
	if a.Env != nil && b.Env != nil && a.Env.Comparable != b.Env.Comparable {
		c.Notes = append(c.Notes, "The two folders come from machines that are not comparable (hardware, kernel or file system differ).")
	}
	c.Notes = append(c.Notes, degradedNote("A", a)...)
	c.Notes = append(c.Notes, degradedNote("B", b)...)
	for _, m := range metrics {
		var pairs []result.Pair
		var ps []float64
		for _, e := range b.Plan.Experiments {
			for _, cell := range e.Cells {
				if s, ok := cellStats(b, e, cell, m); ok {
					c.Cells = append(c.Cells, s)
				}
				p, raw, ok := across(a, b, e.Name, cell, m)
				if ok {
					pairs, ps = append(pairs, p), append(ps, raw)
				}
			}
		}
		c.Pairs = append(c.Pairs, decide(pairs, ps, m, max(noise(a), noise(b)))...)
	}
	return c
}

// degradedNote says how many of a folder's runs count although the machine was
// disturbed while they ran.
func degradedNote(name string, f *result.Folder) []string {
	runs, degraded := 0, 0
	for _, e := range f.Plan.Experiments {
		for _, cell := range e.Cells {
			of, bad, _ := usable(f, cell.ID)
			runs, degraded = runs+len(of), degraded+bad
		}
	}
	if degraded == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Of the %d runs of %s, %d are degraded: the machine was disturbed while they ran (see their run files).", runs, name, degraded)}
}

func across(a, b *result.Folder, experiment string, cell result.PlanCell, m metric) (p result.Pair, raw float64, ok bool) {
	la, lb := logs(a, cell.ID, m), logs(b, cell.ID, m)
	if len(la) == 0 || len(lb) == 0 {
		return p, 1, false
	}
	n := min(len(la), len(lb))
	i, raw := Welch(la, lb)
	p = result.Pair{Experiment: experiment, Cell: cell.ID, Label: cell.Label, BaseCell: cell.ID, BaseLabel: "A", Metric: m.name, N: n, P: raw, NeedN: NeedNBetween(la, lb, math.Log1p(Margin))}
	how := "welch_t"
	if n < LeastN {
		how, p.P, raw = "min_max", 1, 1
		sa, sb := sorted(la), sorted(lb)
		i.Low, i.High = sb[0]-sa[len(sa)-1], sb[len(sb)-1]-sa[0]
	}
	p.Ratio = result.Interval{N: n, Median: math.Exp(i.Center), Low: math.Exp(i.Low), High: math.Exp(i.High), How: how}
	return p, raw, true
}

func logs(f *result.Folder, cell string, m metric) (out []float64) {
	runs, _, _ := usable(f, cell)
	for i := range runs {
		if v, ok := m.value(&runs[i]); ok {
			out = append(out, math.Log(v))
		}
	}
	sort.Float64s(out)
	return out
}
