package page

import (
	"fmt"

	"tidemark/reports/dataset"
)

// unlevelRuns is how many runs of a saturating cell were not level within their window:
// such a figure depends on its length. At a fixed rate it is given.
func unlevelRuns(e *dataset.Experiment, c *dataset.Cell) (n int) {
	for _, r := range c.Usable {
		if saturating(e) && r.WarmUp == "not_converged" {
			n++
		}
	}
	return n
}

// uneven says that runs of a cell were not level; empty where all were, and of a figure
// of reading back, which has a window of its own.
func uneven(e *dataset.Experiment, c *dataset.Cell, m dataset.Metric) string {
	n := unlevelRuns(e, c)
	if n == 0 || m.Name == dataset.Fetch.Name {
		return ""
	}
	return fmt.Sprintf("%d of %d runs not level", n, len(c.Usable))
}

// behind is what a sentence on comparisons has to add of the runs that it rests on: that
// those of the base were not level, and how many of all were degraded.
func behind(e *dataset.Experiment, m dataset.Metric, some []judged) (said string) {
	if e.Base == nil {
		return ""
	}
	if n := uneven(e, e.Base, m); n != "" {
		said += " The base: " + n + "."
	}
	bad, of := degraded(e.Base), len(e.Base.Usable)
	for _, j := range some {
		bad, of = bad+degraded(j.c), of+len(j.c.Usable)
	}
	if bad > 0 {
		said += fmt.Sprintf(" Degraded: %d of the %d runs behind this.", bad, of)
	}
	return said
}
