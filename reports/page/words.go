package page

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// change writes a ratio to the base as a change: +12 %, −3 %, or ×2.1 from a
// doubling or halving on.
func change(ratio float64) string {
	switch {
	case !(ratio > 0) || math.IsInf(ratio, 0):
		return "–"
	case ratio >= 2 || ratio <= 0.5:
		return "×" + chart.Plain(math.Round(ratio*100)/100)
	}
	percent := (ratio - 1) * 100
	digits := "%.0f"
	if math.Abs(percent) < 9.95 {
		digits = "%.1f"
	}
	s := fmt.Sprintf(digits, math.Abs(percent))
	switch {
	case s == "0.0" || s == "0":
		return "±0 %"
	case percent < 0:
		return "−" + s + " %"
	}
	return "+" + s + " %"
}

// changes writes an interval of ratios.
func changes(i result.Interval) string {
	return change(i.Low) + " to " + change(i.High)
}

// better is the word for a verdict of faster or slower in a metric.
func better(metric string, v result.Verdict) string {
	up := v == result.Faster
	word := func(yes, no string) string {
		if up {
			return yes
		}
		return no
	}
	switch metric {
	case result.MetricP50, result.MetricP99, result.MetricE2EP99:
		return word("lower", "higher")
	case result.MetricProduceCost, result.MetricFetchCost:
		return word("cheaper", "dearer")
	}
	return word("faster", "slower")
}

// verdict is the short form that stands in tables and beside rows.
func verdict(metric string, p result.Pair) string {
	switch p.Verdict {
	case result.Faster, result.Slower:
		return change(p.Ratio.Median) + " " + better(metric, p.Verdict)
	case result.Equivalent:
		return "equivalent"
	case result.Undecided:
		if p.NeedN > 0 {
			return fmt.Sprintf("undecided (n ≈ %d)", p.NeedN)
		}
		return "undecided"
	}
	return fmt.Sprintf("too few (n = %d)", p.N)
}

// look is how a cell is drawn: its verdict's colour and mark, hollow where
// nothing was decided, grey where no run is usable.
func look(c *dataset.Cell, m dataset.Metric) (ink chart.Ink, shape chart.Shape, hollow bool) {
	if c.Base {
		return chart.Base, chart.Diamond, false
	}
	p, ok := c.Pair(m)
	if !ok {
		return chart.Same, chart.Circle, true
	}
	switch p.Verdict {
	case result.Faster:
		return chart.Faster, chart.Triangle, false
	case result.Slower:
		return chart.Slower, chart.Down, false
	case result.Equivalent:
		return chart.Same, chart.Square, false
	}
	return chart.Same, chart.Circle, true
}

// verdictKeys is the legend of a chart of cells.
func verdictKeys(good, bad string, band bool) []chart.Key {
	keys := []chart.Key{
		{Label: "base", Ink: chart.Base, Shape: chart.Diamond},
		{Label: good, Ink: chart.Faster, Shape: chart.Triangle},
		{Label: bad, Ink: chart.Slower, Shape: chart.Down},
		{Label: "equivalent (within ±5 %)", Ink: chart.Same, Shape: chart.Square},
		{Label: "undecided or too few", Ink: chart.Same, Shape: chart.Circle, Hollow: true},
	}
	if band {
		keys = append(keys, chart.Key{Label: "base interval", Ink: chart.Shade, Shape: chart.None, Patch: true})
	}
	return keys
}

// how explains an interval in a caption.
func how(i result.Interval) string {
	switch i.How {
	case "order_statistic":
		return "median with its order-statistic 95 % interval"
	case "paired_t":
		return "paired-t 95 % interval"
	case "bootstrap":
		return "bootstrap 95 % interval"
	case "min_max":
		return "median with smallest and largest run (too few runs for an interval)"
	}
	return "no interval"
}

// samples says over how many runs a set of cells was measured: "n = 6 runs" or
// "n = 4 to 6 runs".
func samples(ns []int) string {
	sort.Ints(ns)
	switch {
	case len(ns) == 0 || ns[len(ns)-1] == 0:
		return "no usable run"
	case ns[0] == ns[len(ns)-1]:
		return fmt.Sprintf("n = %d %s per cell", ns[0], plural(ns[0], "run"))
	}
	return fmt.Sprintf("n = %d to %d runs per cell", ns[0], ns[len(ns)-1])
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// bracket writes an interval after its estimate.
func bracket(i result.Interval, f chart.Format) string {
	if i.N < 2 {
		return fmt.Sprintf("n = %d", i.N)
	}
	return "[" + f(i.Low) + ", " + f(i.High) + "]"
}

// axes writes a cell's differences from its base as name=value.
func axes(c *dataset.Cell, order []result.Axis) string {
	if len(c.Axes) == 0 {
		return c.Label
	}
	var parts []string
	seen := map[string]bool{}
	for _, a := range order {
		if v, ok := c.Axes[a.Name]; ok {
			parts = append(parts, a.Name+"="+v)
			seen[a.Name] = true
		}
	}
	var rest []string
	for name, v := range c.Axes {
		if !seen[name] {
			rest = append(rest, name+"="+v)
		}
	}
	sort.Strings(rest)
	return strings.Join(append(parts, rest...), ", ")
}

// list joins words as in a sentence.
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// capital puts a sentence's first letter in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
