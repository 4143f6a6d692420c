package chart

import (
	"fmt"
	"math"
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
			out = append(out, plot.Tick{Value: v, Label: t.format(v)})
		}
	default:
		for _, v := range linearSteps(low, high) {
			out = append(out, plot.Tick{Value: v, Label: t.format(v)})
		}
	}
	return out
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

// Plain writes a number with three significant digits and no exponent.
func Plain(v float64) string { return significant(v, 3) }

// Count writes a number of things with the suffixes k, M and G, as in 1.25 M.
func Count(v float64) string {
	for _, s := range []struct {
		size float64
		unit string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= s.size*0.9995 {
			return significant(v/s.size, 3) + " " + s.unit
		}
	}
	return significant(v, 3)
}

// Bytes writes a size with binary suffixes, as in 64 KiB.
func Bytes(v float64) string {
	for _, s := range []struct {
		size float64
		unit string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if math.Abs(v) >= s.size {
			return significant(v/s.size, 3) + " " + s.unit
		}
	}
	return significant(v, 3) + " B"
}

// ByteRate writes bytes per second with decimal suffixes, as disks and networks
// are quoted.
func ByteRate(v float64) string {
	for _, s := range []struct {
		size float64
		unit string
	}{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}} {
		if math.Abs(v) >= s.size {
			return significant(v/s.size, 3) + " " + s.unit
		}
	}
	return significant(v, 3) + " B/s"
}

// Nanoseconds writes a duration given in nanoseconds with the unit that suits it.
func Nanoseconds(v float64) string {
	for _, s := range []struct {
		size float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if math.Abs(v) >= s.size*0.9995 {
			return significant(v/s.size, 3) + " " + s.unit
		}
	}
	return significant(v, 3) + " ns"
}

// Percent writes a share of one.
func Percent(v float64) string { return significant(v*100, 3) + " %" }

// significant rounds to digits and drops trailing zeros after the point.
func significant(v float64, digits int) string {
	if v == 0 || math.IsNaN(v) {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "-")
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if decimals < 0 {
		scale := math.Pow(10, float64(-decimals))
		return fmt.Sprintf("%.0f", math.Round(v/scale)*scale)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Precise is Plain with up to seven digits, for percentiles such as 99.999.
func Precise(v float64) string { return significant(v, 7) }
