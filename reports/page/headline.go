package page

import (
	"fmt"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// Tile is one figure of the headline.
type Tile struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Small string `json:"small,omitempty"`
}

// headline is what stands at the top: what faults lose or slow followers cost, where
// that was tried, and how many differences the runs show.
func headline(v *view) string {
	if d := v.Durability; d != nil && d.Done > 0 {
		return lossTitle(d) + ". " + verdictsLine(v)
	}
	if said := replicationTitle(v); said != "" {
		return said + ". " + verdictsLine(v)
	}
	return verdictsLine(v)
}

// verdictsLine is the sentence on the comparisons of runs.
func verdictsLine(v *view) string {
	counts := map[result.Verdict]int{}
	compared := 0
	for _, e := range v.Experiments {
		for _, c := range e.Cells {
			for _, s := range subjectsOf(e) {
				if p, ok := c.Pair(s.m); ok && s.m.Name != result.MetricProduceCost && !c.AA && !brokerless(e, c) {
					counts[p.Verdict]++
					compared++
				}
			}
		}
	}
	t := v.tally()
	switch {
	case t.finished() == 0:
		return "No run of this invocation finished."
	case compared == 0:
		return fmt.Sprintf("%d finished %s, without a comparison.", t.finished(), plural(t.finished(), "run"))
	case counts[result.TooFew] == compared:
		return fmt.Sprintf("%d finished runs are too few for a verdict: six blocks in common with the base are the least.", t.finished())
	}
	shown := counts[result.Faster] + counts[result.Slower]
	show := func(n int) string {
		return fmt.Sprintf("%d %s", n, map[bool]string{true: "shows", false: "show"}[n == 1])
	}
	left := counts[result.Undecided] + counts[result.TooFew]
	return fmt.Sprintf("Of %d %s of throughput and latency with a base, %s a difference, %s equivalence, and %d %s not decided.",
		compared, plural(compared, "comparison"), show(shown), show(counts[result.Equivalent]), left, map[bool]string{true: "is", false: "are"}[left == 1])
}

// mostBases is how many bases get a tile.
const mostBases = 3

// tiles are the figures under the headline: the bases of two bursts and of what is
// sustained, the runs, the noise.
func tiles(v *view) []Tile {
	var out []Tile
	for _, kind := range []result.Kind{result.Burst, result.Sustained} {
		for _, e := range v.Experiments {
			if e.Kind != kind || e.Base == nil || len(out) == mostBases || kind == result.Burst && len(out) == mostBases-1 {
				continue
			}
			if i := e.Base.Interval(dataset.Produce); i.N > 0 {
				out = append(out, Tile{Name: heading(e) + ", base", Value: chart.Count(i.Median) + " records/s", Small: extent(i)})
			}
		}
	}
	t := v.tally()
	runs := Tile{Name: "runs", Value: fmt.Sprintf("%d valid", t.valid)}
	var rest []string
	for _, c := range []struct {
		n    int
		word string
	}{{t.degraded, "degraded"}, {t.invalid, "invalid"}, {t.failed, "failed"}, {t.pending, "not run"}} {
		if c.n > 0 {
			rest = append(rest, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	runs.Small = strings.Join(rest, ", ")
	if runs.Small == "" {
		runs.Small = "none degraded, invalid or failed"
	}
	out = append(out, runs)
	if d := v.Durability; d != nil && d.Done > 0 {
		out = append(out, trialsTile(d))
	}
	return append(out, v.floorTile())
}

// extent is an interval with its sample size.
func extent(i result.Interval) string {
	if i.N < 2 {
		return fmt.Sprintf("n = %d", i.N)
	}
	return fmt.Sprintf("%s, n = %d", bracket(i, chart.Count), i.N)
}
