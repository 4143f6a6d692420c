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
	case doubles(ratio):
		return times(ratio)
	}
	return signed(ratio)
}

func doubles(ratio float64) bool { return ratio >= 2 || ratio <= 0.5 }

func times(ratio float64) string {
	if ratio >= 10 {
		return "×" + chart.Plain(ratio)
	}
	return fmt.Sprintf("×%.2f", ratio)
}

// signed writes a ratio as a change in per cent with its sign.
func signed(ratio float64) string {
	s := percent(ratio)
	switch {
	case s == "0.0":
		return "±0" + nbsp + "%"
	case ratio < 1:
		return "−" + s + nbsp + "%"
	}
	return "+" + s + nbsp + "%"
}

// percent is the size of a change in per cent: one decimal below ten.
func percent(ratio float64) string {
	p := math.Abs(ratio-1) * 100
	if p < 9.95 {
		return fmt.Sprintf("%.1f", p)
	}
	return fmt.Sprintf("%.0f", p)
}

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

// changes writes an interval of ratios, both ends as the median is written, and once
// where they read the same.
func changes(i result.Interval) string {
	write := signed
	if doubles(i.Median) {
		write = times
	}
	return span(write(i.Low), write(i.High))
}

// span is a range in words; what reads the same at both ends is said once.
func span(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
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
	switch {
	case strings.HasSuffix(metric, "_ns"):
		return word("lower", "higher")
	case strings.Contains(metric, "core_s"):
		return word("cheaper", "dearer")
	}
	return word("faster", "slower")
}

// verdict is the short form that stands in tables and beside rows.
func verdict(metric string, p result.Pair) string {
	switch p.Verdict {
	case result.Faster, result.Slower:
		if doubles(p.Ratio.Median) {
			return times(p.Ratio.Median) + ", " + better(metric, p.Verdict)
		}
		return percent(p.Ratio.Median) + nbsp + "% " + better(metric, p.Verdict)
	case result.Equivalent:
		return "equivalent"
	case result.Undecided:
		switch {
		case p.NeedN == 0:
			return "undecided, no blocks would do"
		case p.NeedN > manyBlocks:
			return fmt.Sprintf("undecided, needs >"+nbsp+"%d"+nbsp+"blocks", manyBlocks)
		}
		return fmt.Sprintf("undecided, needs ≈"+nbsp+"%d"+nbsp+"blocks", p.NeedN)
	}
	return fmt.Sprintf("too few (n = %d)", p.N)
}

// verdictOf is the short form for a cell. The base again is no question that more blocks
// would decide: nothing differs.
func verdictOf(c *dataset.Cell, metric string, p result.Pair) string {
	if c.AA && p.Verdict == result.Undecided {
		return "no difference shown"
	}
	return verdict(metric, p)
}

// outliers names the runs of cells that lie outside their cell's fences.
func outliers(e *dataset.Experiment, m dataset.Metric, f chart.Format) string {
	var parts []string
	for _, c := range ordered(e) {
		for _, o := range c.Outliers(m) {
			parts = append(parts, fmt.Sprintf("%s block %d with %s beside a median of %s", cellLabel(e, c), o.Block, f(o.Value), f(c.Interval(m).Median)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s by Tukey's fences, kept in every figure: %s.", heading(e), plural(len(parts), "outlier"), strings.Join(parts, "; "))
}

// cellLabel is a cell's name in a sentence.
func cellLabel(e *dataset.Experiment, c *dataset.Cell) string {
	if c.Base {
		return "base"
	}
	return axes(c, e.Axes)
}

// pairedWords explain the per cents of verdicts once for every panel.
const pairedWords = "Per cents and factors against the base are paired, per block: the geometric mean of the blocks' ratios (from ten blocks on their median), which need not equal the quotient of the two medians. Beside an open verdict stands how many blocks would decide by the same rule if effect and spread stayed as they are; none would where the base differs from itself by as much."

// how explains an interval in a caption.
func how(i result.Interval) string {
	switch i.How {
	case "order_statistic":
		return "median with its order-statistic 95 % interval"
	case "paired_t":
		return "paired-t 95 % interval"
	case "welch_t":
		return "Welch's t 95 % interval"
	case "bootstrap":
		return "bootstrap 95 % interval"
	case "min_max":
		return "median with smallest and largest run where six runs are lacking"
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

// bounds says what the ends of an interval are: an interval with its confidence, or
// the extremes of a few runs.
func bounds(i result.Interval, f chart.Format) string {
	switch {
	case i.N < 2:
		return "one run, so no interval"
	case i.How == "min_max":
		return fmt.Sprintf("%s in %d runs", span(f(i.Low), f(i.High)), i.N)
	}
	return fmt.Sprintf("95"+nbsp+"%% interval %s, n = %d", bracket(i, f), i.N)
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
