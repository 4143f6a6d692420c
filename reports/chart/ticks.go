package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticker labels an axis in round steps: 1, 2 or 5 times a power of ten where it
// is linear, powers of ten, and 2 and 5 between where few fit, where it is
// logarithmic.
type ticker struct {
	log    bool
	format Format
	fixed  []Tick
}

func marker(spec AxisSpec) plot.Ticker {
	f := spec.Format
	if f == nil {
		f = Plain
	}
	return ticker{log: spec.Log, format: f, fixed: spec.Ticks}
}

// Ticks implements plot.Ticker.
func (t ticker) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	switch {
	case t.fixed != nil:
		for _, f := range t.fixed {
			if f.Value >= low && f.Value <= high {
				out = append(out, plot.Tick{Value: f.Value, Label: f.Label})
			}
		}
	case t.log:
		for _, v := range logSteps(low, high) {
			out = append(out, plot.Tick{Value: v, Label: Shorten(t.format(v))})
		}
	default:
		for _, v := range linearSteps(low, high) {
			out = append(out, plot.Tick{Value: v, Label: Shorten(t.format(v))})
		}
	}
	return out
}

// afterPoint finds the digits behind a decimal point.
var afterPoint = regexp.MustCompile(`\.(\d*?)0+(\D|$)`)

// Shorten drops zeros that mean nothing on an axis or in a setting: 5.00 M becomes
// 5 M.
func Shorten(label string) string {
	return afterPoint.ReplaceAllStringFunc(label, func(s string) string {
		parts := afterPoint.FindStringSubmatch(s)
		if parts[1] == "" {
			return parts[2]
		}
		return "." + parts[1] + parts[2]
	})
}

// linearSteps are about six round values within the range.
func linearSteps(low, high float64) []float64 {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/5)))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= 7 {
			step *= m
			break
		}
	}
	var out []float64
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		out = append(out, n*step)
	}
	return out
}

// logSteps are the powers of ten within the range, and their multiples by 2 and
// 5 where the range is under three decades.
func logSteps(low, high float64) []float64 {
	if !(low > 0) || !(high > low) || math.IsInf(high, 0) {
		return nil
	}
	decades := math.Log10(high / low)
	multiples := []float64{1}
	if decades < 3 {
		multiples = []float64{1, 2, 5}
	}
	var out []float64
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range multiples {
			if v := m * math.Pow(10, e); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	return out
}

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

// unit is a size with its name, for the writers below.
type unit struct {
	size float64
	name string
}

// scaled writes v in the largest unit that it reaches, with three significant
// digits; ok is false when it reaches none.
func scaled(v float64, units ...unit) (s string, ok bool) {
	for _, u := range units {
		if math.Abs(v) >= u.size*0.9995 {
			return significant(v/u.size, 3) + nbsp + u.name, true
		}
	}
	return "", false
}

// Plain writes a number with three significant digits and no exponent.
func Plain(v float64) string { return Shorten(significant(v, 3)) }

// Precise is Plain with up to seven digits, for percentiles such as 99.999.
func Precise(v float64) string { return Shorten(significant(v, 7)) }

// Count writes a number of things with the suffixes k, M and G, as in 1.25 M.
func Count(v float64) string {
	if s, ok := scaled(v, unit{1e9, "G"}, unit{1e6, "M"}, unit{1e3, "k"}); ok {
		return s
	}
	return Plain(v)
}

// Bytes writes a size with binary suffixes, as in 64 KiB.
func Bytes(v float64) string {
	if s, ok := scaled(v, unit{1 << 30, "GiB"}, unit{1 << 20, "MiB"}, unit{1 << 10, "KiB"}); ok {
		return Shorten(s)
	}
	return Plain(v) + nbsp + "B"
}

// ByteRate writes bytes per second with decimal suffixes, as disks and networks
// are quoted.
func ByteRate(v float64) string {
	if s, ok := scaled(v, unit{1e9, "GB/s"}, unit{1e6, "MB/s"}, unit{1e3, "kB/s"}); ok {
		return s
	}
	return Plain(v) + nbsp + "B/s"
}

// Nanoseconds writes a duration given in nanoseconds with the unit that suits it.
func Nanoseconds(v float64) string {
	if s, ok := scaled(v, unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "µs"}); ok {
		return s
	}
	return Plain(v) + nbsp + "ns"
}

// Percent writes a share of one.
func Percent(v float64) string { return Plain(v*100) + nbsp + "%" }

// significant rounds to a number of digits, without an exponent.
func significant(v float64, digits int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "-")
	}
	// The exponent is taken after rounding, so that 0.9997 counts as the 1.00 that is
	// written.
	mantissa, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	exponent, _ := strconv.Atoi(e) // of strconv's own making
	if zeros := exponent - digits + 1; zeros > 0 {
		return strings.Replace(mantissa, ".", "", 1) + strings.Repeat("0", zeros)
	}
	return strconv.FormatFloat(v, 'f', digits-1-exponent, 64)
}
