package page

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// kept is a paced cell as its spectra are drawn: of the runs that kept up.
type kept struct {
	*dataset.Cell
	name string
}

// chosen are the cells of a paced experiment whose spectra are drawn, and a note on
// every cell and run that is not. Of a curve of rates they are the lowest, the middle
// and the highest that every run kept up with; of other cells, the runs that did.
func chosen(e *dataset.Experiment) (drawn []kept, left []string) {
	for _, k := range curves(e) {
		if len(k.cells) >= 3 {
			some, note := ofCurve(e, k)
			drawn, left = append(drawn, some...), noted(left, note)
			continue
		}
		for _, c := range k.cells {
			some, note := ofCell(e, c)
			if some.Cell != nil {
				drawn = append(drawn, some)
			}
			left = noted(left, note)
		}
	}
	return drawn, left
}

func ofCurve(e *dataset.Experiment, k curve) (drawn []kept, note string) {
	var behind []string
	for _, c := range k.cells {
		if keepsUp(c) {
			drawn = append(drawn, kept{c, pacedName(e, c)})
			continue
		}
		n := len(c.Only(keptUp).Usable)
		behind = append(behind, fmt.Sprintf("%s (%d of %d %s kept up)", pacedName(e, c), n, len(c.Usable), plural(len(c.Usable), "run")))
	}
	if len(drawn) > 3 {
		drawn = []kept{drawn[0], drawn[len(drawn)/2], drawn[len(drawn)-1]}
	}
	if len(behind) == 0 {
		return drawn, ""
	}
	return drawn, fmt.Sprintf("%s: not drawn, for not every run kept up and its latency is that of a growing queue: %s. Latency over offered load has them.", heading(e), list(behind))
}

// ofCell is a cell with the runs that kept up; its note names the others, block by
// block, with what they left undone.
func ofCell(e *dataset.Experiment, c *dataset.Cell) (some kept, note string) {
	if keepsUp(c) {
		return kept{c, pacedName(e, c)}, ""
	}
	var behind []string
	for _, r := range c.Usable {
		if !keptUp(r) {
			behind = append(behind, fmt.Sprintf("block %d (%s)", r.Block, behindWords(r)))
		}
	}
	only := c.Only(keptUp)
	if n := len(c.Usable); n > 1 && len(only.Usable) == 0 {
		return some, fmt.Sprintf("%s, %s: left out, for none of %d runs kept up with its rate: %s.", heading(e), cellLabel(e, c), n, shortfall(c))
	}
	what := fmt.Sprintf("%s, %s: left out, for it did not keep up with its rate: %s.", heading(e), cellLabel(e, c), list(behind))
	if len(only.Usable) == 0 {
		return some, what + " No other run of the cell is there to draw."
	}
	of := fmt.Sprintf("%d of %d runs", len(only.Usable), len(c.Usable))
	return kept{only, pacedName(e, c) + " (" + of + ")"}, what + " Drawn are the other " + of + ", so the picture is of the better ones; All cells counts every run."
}

// shortfall is behindWords of all runs of a cell, from the least that was acknowledged to
// the most.
func shortfall(c *dataset.Cell) string {
	var shares []float64
	for _, r := range c.Usable {
		if w := r.Produce; w != nil && w.OfferedPerS > 0 {
			shares = append(shares, float64(w.AckedPerS)/float64(w.OfferedPerS))
		}
	}
	if len(shares) == 0 {
		return "no rate was offered"
	}
	return span(share100(slices.Min(shares)), share100(slices.Max(shares))) + " of it was acknowledged"
}

// behindWords say how a run fell short of its rate.
func behindWords(r result.Run) string {
	w := r.Produce
	if w == nil || w.OfferedPerS <= 0 {
		return "no rate was offered"
	}
	var parts []string
	if w.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%s %s never sent", chart.Shorten(chart.Count(float64(w.Dropped))), plural(int(w.Dropped), "record")))
	}
	if share := float64(w.AckedPerS) / float64(w.OfferedPerS); share < keepsUpFrom {
		parts = append(parts, fmt.Sprintf("%.0f%s%% of the rate acknowledged", 100*share, nbsp))
	}
	return strings.Join(parts, ", ")
}
