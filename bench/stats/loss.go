package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"tidemark/bench/result"
)

// Probability estimates the probability of what was seen in k of n independent
// trials, with the 95 % interval of Clopper and Pearson. What was never or always
// seen is bounded on one side only, by 1 − 0.05^(1/n): zero seen is a bound, not
// zero. Without trials nothing is known.
func Probability(k, n int) result.Probability {
	alpha := 1 - Confidence
	switch {
	case n == 0:
		return result.Probability{Low: 0, High: 1, How: "none"}
	case k == 0:
		return result.Probability{Low: 0, High: 1 - math.Pow(alpha, 1/float64(n)), How: "one_sided"}
	case k == n:
		return result.Probability{Estimate: 1, Low: math.Pow(alpha, 1/float64(n)), High: 1, How: "one_sided"}
	}
	below := distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}
	above := distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}
	return result.Probability{Estimate: float64(k) / float64(n), Low: below.Quantile(alpha / 2), High: above.Quantile(1 - alpha/2), How: "clopper_pearson"}
}

// SpreadOf sums up a figure over trials; of none, all is 0.
func SpreadOf(values []float64) result.Spread {
	s := sorted(values)
	if len(s) == 0 {
		return result.Spread{}
	}
	i, _ := MedianInterval(s)
	return result.Spread{Median: i.Center, Low: i.Low, High: i.High, P95: stat.Quantile(0.95, stat.Empirical, s, nil), Max: s[len(s)-1], Mean: stat.Mean(s, nil)}
}

// Keeps reports whether a cell must not lose an acknowledged record in a power cut:
// its acknowledgements wait for the disk.
func Keeps(config map[string]string) bool {
	switch config["storage.flush"] {
	case "batch", "group":
		return true
	}
	return config["flush.messages"] == "1"
}

// Durability sums up the trials of an experiment's cells and tries the gates.
// failed are the faults without an outcome, each with its reason.
func Durability(e result.PlanExperiment, p result.PlanTrials, trials []result.Trial, failed []result.FailedTrial) *result.Durability {
	fault := p.Fault
	d := &result.Durability{Schema: result.DurabilitySchema, Experiment: e.Name, Fault: fault, Planned: p.Count, Failed: failed, Cells: []result.CellLoss{}, Gates: []result.Gate{}}
	seen := map[int]bool{}
	byCell := map[string][]result.Trial{}
	for _, t := range trials {
		seen[t.Number] = true
		byCell[t.Cell] = append(byCell[t.Cell], t)
	}
	d.Done = len(seen)
	for _, c := range e.Cells {
		if c.AA {
			continue // its loss would be the base's
		}
		keeps := fault == result.ProcessKill || Keeps(c.Config)
		d.Cells = append(d.Cells, cellLoss(c, e.NameOf(c), keeps, byCell[c.ID]))
	}
	d.Gates = gates(d)
	return d
}

func cellLoss(c result.PlanCell, name string, keeps bool, trials []result.Trial) result.CellLoss {
	l := result.CellLoss{Cell: c.ID, Label: name, Keeps: keeps, Trials: len(trials)}
	var lost, windows, unavailable, debt []float64
	for _, t := range trials {
		l.Acked += t.Acked
		l.Wrong += t.Wrong()
		if t.Lost > 0 {
			l.Lossy++
		}
		lost = append(lost, float64(t.Lost))
		windows = append(windows, float64(t.LossWindowMs))
		unavailable = append(unavailable, float64(t.UnavailableMs))
		if t.Debt < 0 {
			continue
		}
		debt = append(debt, float64(t.Debt))
		if t.Lost > t.Debt {
			l.Beyond++
		}
	}
	l.Loss = Probability(l.Lossy, l.Trials)
	l.Records, l.LossWindowMs, l.UnavailableMs, l.Debt, l.Known = SpreadOf(lost), SpreadOf(windows), SpreadOf(unavailable), SpreadOf(debt), len(debt)
	if l.Records.Mean > 0 {
		l.DebtPerLoss = l.Debt.Mean / l.Records.Mean
	}
	return l
}

// OfFolder is the Durability of a run folder with trials; nil of one without.
func OfFolder(f *result.Folder) *result.Durability {
	p, s := f.Plan.Trials, f.State.Trials
	if p == nil || s == nil {
		return nil
	}
	e := f.Experiment(p.Of)
	if e == nil {
		e = &result.PlanExperiment{Name: p.Of}
	}
	return Durability(*e, *p, f.Trials, s.Failed)
}
