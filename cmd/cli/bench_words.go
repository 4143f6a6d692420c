package cli

import (
	"fmt"
	"math"
	"strings"

	"tidemark/bench/result"
)

// verdict is a pair in a few words, the report's: "46 % slower", "×2.78 dearer",
// "+2.3 % undecided".
func verdict(p result.Pair) string {
	switch p.Verdict {
	case result.Faster, result.Slower:
		size := size(p.Ratio.Median)
		return size + " " + direction(p.Metric, p.Verdict)
	case result.Undecided:
		return change(p.Ratio.Median) + " undecided"
	case result.TooFew:
		return "too few"
	}
	return string(p.Verdict)
}

// direction is the word for a verdict of faster or slower in a metric.
func direction(metric string, v result.Verdict) string {
	words := [2]string{"faster", "slower"}
	switch {
	case isTime(metric):
		words = [2]string{"lower", "higher"}
	case isCost(metric):
		words = [2]string{"cheaper", "dearer"}
	}
	if v == result.Faster {
		return words[0]
	}
	return words[1]
}

// change writes a ratio with its sign, as a factor from a doubling or halving on.
func change(ratio float64) string {
	s := size(ratio)
	switch {
	case strings.HasPrefix(s, "×"):
		return s
	case s == "0.0 %":
		return "±0 %"
	case ratio < 1:
		return "−" + s
	}
	return "+" + s
}

// size is a change without its sign: per cent with one decimal below ten, or a
// factor.
func size(ratio float64) string {
	p := 100 * math.Abs(ratio-1)
	switch {
	case ratio >= 10:
		return fmt.Sprintf("×%.0f", ratio)
	case ratio >= 2 || ratio <= 0.5:
		return fmt.Sprintf("×%.2f", ratio)
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

func isTime(metric string) bool { return strings.HasSuffix(metric, "_ns") }

func isCost(metric string) bool { return strings.Contains(metric, "core_s") }

// unit is a scale and its name.
type unit struct {
	scale float64
	name  string
}

// unitOf is the unit in which a figure of a metric has one to three digits before
// the point.
func unitOf(metric string, v float64) unit {
	units := []unit{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	last := unit{1, ""}
	switch {
	case isTime(metric):
		units, last = []unit{{1e9, "s"}, {1e6, "ms"}}, unit{1e3, "µs"}
	case isCost(metric):
		return last
	}
	for _, u := range units {
		if v >= u.scale {
			return u
		}
	}
	return last
}

// interval is a median with its bounds in its unit, three digits each:
// "20.2 M [17.8, 20.9]".
func interval(metric string, i result.Interval) string {
	u := unitOf(metric, i.Median)
	digits := func(v float64) string {
		v /= u.scale
		switch {
		case isCost(metric):
			return fmt.Sprintf("%.3f", v)
		case v >= 99.95 || u.scale == 1:
			return fmt.Sprintf("%.0f", v)
		case v >= 9.995:
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.2f", v)
	}
	median := digits(i.Median)
	if u.name != "" {
		median += " " + u.name
	}
	return fmt.Sprintf("%s [%s, %s]", median, digits(i.Low), digits(i.High))
}
