package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/bench/result"
)

// floor is the noise floor of one figure: what its base cell differed by from itself,
// run in the same blocks under a second name.
type floor struct {
	result.Noise
	outlook outlook
}

// floorsOf are the floors of a figure in a folder, one for each experiment with an
// A/A cell and blocks enough for an interval.
func floorsOf(f *result.Folder, m metric) (out []floor) {
	for _, e := range f.Plan.Experiments {
		base := baseOf(e)
		for _, cell := range e.Cells {
			if base == nil || !cell.AA {
				continue
			}
			k, ok := pair(f, e, cell, *base, m)
			if !ok || k.N < LeastN {
				continue
			}
			further := max(math.Log(k.Ratio.High), -math.Log(k.Ratio.Low))
			out = append(out, floor{result.Noise{Experiment: e.Name, Kind: e.Kind, Metric: m.name, Ratio: k.Ratio, Floor: math.Exp(further)}, k.outlook})
		}
	}
	return out
}

// floorFor is the floor that holds for a comparison: its own experiment's, else the
// highest among experiments that ran in the same way. One of bursts says nothing of
// latency at a fixed rate, and the base is not held against itself.
func floorFor(all []floor, k candidate) (best floor, ok bool) {
	if k.again {
		return best, false
	}
	own := false
	for _, l := range all {
		same := l.Experiment == k.Experiment
		if l.Kind != k.kind || own && !same {
			continue
		}
		if !ok || same && !own || l.Floor > best.Floor {
			best, ok, own = l, true, own || same
		}
	}
	return best, ok
}

// within reports whether a ratio lies between 1 ÷ floor and floor.
func within(ratio, floor float64) bool {
	return math.Abs(math.Log(ratio)) <= math.Log(max(1, floor))
}

func noises(all []floor) (out []result.Noise) {
	for _, l := range all {
		out = append(out, l.Noise)
	}
	return out
}

// widest is the largest floor of a figure as a share: 0.43 of a factor of 1.43.
func widest(all []result.Noise, metric string) (share float64) {
	for _, n := range all {
		if n.Metric == metric {
			share = max(share, n.Floor-1)
		}
	}
	return share
}

// floorNote says how far apart one configuration came out, figure by figure; empty
// where none ran under two names.
func floorNote(all []result.Noise) string {
	given := func(n result.Noise) bool { // the rate, where it is fixed
		return n.Kind == result.Paced && (n.Metric == result.MetricProduce || n.Metric == result.MetricFetch)
	}
	all = slices.DeleteFunc(slices.Clone(all), given)
	var parts []string
	for _, m := range metrics {
		share := widest(all, m.name)
		switch {
		case share == 0 || m.words == "":
		case share < 0.0005:
			parts = append(parts, m.words+" less than ±0.1 %")
		default:
			parts = append(parts, fmt.Sprintf("%s −%.1f to +%.1f %%", m.words, 100*share/(1+share), 100*share))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Noise floor, the base cell against itself (A/A): " + strings.Join(parts, ", ") + "; no effect within it is called faster or slower. It holds for cells that ran in the same way; figures not named have none."
}
