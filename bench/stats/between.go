package stats

import (
	"fmt"
	"math"
	"sort"

	"tidemark/bench/result"
)

// Between compares the same cells in two folders: b against a. The runs are not
// paired, since they did not alternate, and a drift of the machine between the
// two shows as a difference.
func Between(a, b *result.Folder) *result.Compare {
	c := &result.Compare{Schema: result.CompareSchema, A: a.Dir, B: b.Dir, Noise: []result.Noise{}, Cells: []result.CellStats{}, Pairs: []result.Pair{},
		Notes: []string{"The two folders did not run interleaved: a drift of the machine between them shows as a difference."}}
	if a.Env != nil && b.Env != nil && a.Env.Comparable != b.Env.Comparable {
		c.Notes = append(c.Notes, "The two folders come from machines that are not comparable (hardware, kernel or file system differ).")
	}
	c.Notes = append(c.Notes, degradedNote("A", a)...)
	c.Notes = append(c.Notes, degradedNote("B", b)...)
	for _, m := range metrics {
		floors := append(floorsOf(a, m), floorsOf(b, m)...)
		c.Noise = append(c.Noise, noises(floors)...)
		var all []candidate
		for _, e := range b.Plan.Experiments {
			for _, cell := range e.Cells {
				if s, ok := cellStats(b, e, cell, m); ok {
					c.Cells = append(c.Cells, s)
				}
				if k, ok := across(a, b, e, cell, m); ok {
					all = append(all, k)
				}
			}
		}
		c.Pairs = append(c.Pairs, decide(all, floors, m)...)
	}
	if note := floorNote(c.Noise); note != "" {
		c.Notes = append(c.Notes, note)
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

func across(a, b *result.Folder, e result.PlanExperiment, cell result.PlanCell, m metric) (k candidate, ok bool) {
	runsA, _, _ := usable(a, cell.ID)
	runsB, _, _ := usable(b, cell.ID)
	la, lb := logs(runsA, m), logs(runsB, m)
	if len(la) == 0 || len(lb) == 0 {
		return k, false
	}
	k = candidate{kind: e.Kind, again: cell.AA, outlook: sampleOutlook(la, lb)}
	k.Pair = result.Pair{Experiment: e.Name, Cell: cell.ID, Label: cell.Label, BaseCell: cell.ID, BaseLabel: "A", Metric: m.name, N: min(len(la), len(lb))}
	k.Ratio, k.P = unpaired(la, lb)
	validA, someA := validOnly(runsA)
	validB, someB := validOnly(runsB)
	if va, vb := logs(validA, m), logs(validB, m); min(len(va), len(vb)) > 0 {
		ratio, _ := unpaired(va, vb)
		k.Valid = enough(ratio, someA || someB)
	}
	return k, true
}

// unpaired is the ratio of two samples of logarithms, b ÷ a, and its p.
func unpaired(la, lb []float64) (result.Interval, float64) {
	n := min(len(la), len(lb))
	i, p := Welch(la, lb)
	how := "welch_t"
	if n < LeastN {
		how, p = "min_max", 1
		sa, sb := sorted(la), sorted(lb)
		i.Low, i.High = sb[0]-sa[len(sa)-1], sb[len(sb)-1]-sa[0]
	}
	return result.Interval{N: n, Median: math.Exp(i.Center), Center: result.CenterMean, Low: math.Exp(i.Low), High: math.Exp(i.High), How: how}, p
}

func logs(runs []result.Run, m metric) (out []float64) {
	for i := range runs {
		if v, ok := m.value(&runs[i]); ok {
			out = append(out, math.Log(v))
		}
	}
	sort.Float64s(out)
	return out
}
