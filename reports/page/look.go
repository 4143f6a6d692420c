package page

import (
	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// appearance is how a cell is drawn and what that means.
type appearance struct {
	meaning string
	ink     chart.Ink
	shape   chart.Shape
	hollow  bool
}

// look is a cell's appearance: its verdict's colour and mark, hollow where nothing
// was decided.
func look(c *dataset.Cell, m dataset.Metric) appearance {
	if c.Base {
		return appearance{"base", chart.Base, chart.Diamond, false}
	}
	p, ok := c.Pair(m)
	switch {
	case !ok:
		return appearance{"cell, not compared", chart.Same, chart.Circle, false}
	case p.Verdict == result.Faster:
		return appearance{better(m.Name, p.Verdict), chart.Faster, chart.Triangle, false}
	case p.Verdict == result.Slower:
		return appearance{better(m.Name, p.Verdict), chart.Slower, chart.Down, false}
	case p.Verdict == result.Equivalent:
		return appearance{"equivalent (within ±5" + nbsp + "%)", chart.Same, chart.Square, false}
	}
	return appearance{"undecided or too few", chart.Same, chart.Circle, true}
}

// legend explains the appearances in use, the base first.
func legend(cells []*dataset.Cell, m dataset.Metric, band bool) []chart.Key {
	var keys []chart.Key
	seen := map[string]bool{}
	for _, c := range cells {
		a := look(c, m)
		if c.Interval(m).N > 0 && !seen[a.meaning] {
			seen[a.meaning] = true
			keys = append(keys, chart.Key{Label: a.meaning, Ink: a.ink, Shape: a.shape, Hollow: a.hollow})
		}
	}
	for _, c := range cells {
		if len(c.Values(m)) > 1 {
			keys = append(keys, chart.Key{Label: "single run", Ink: chart.Grey, Shape: chart.Circle})
			break
		}
	}
	for _, c := range cells {
		if len(c.Outliers(m)) > 0 {
			keys = append(keys, chart.Key{Label: "outlier", Ink: chart.WarnInk, Shape: chart.Cross})
			break
		}
	}
	if band {
		keys = append(keys, chart.Key{Label: "base interval", Ink: chart.Shade, Shape: chart.None, Patch: true})
	}
	return keys
}
