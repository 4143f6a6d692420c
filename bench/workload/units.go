package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// ParseSize reads a number of bytes: 100B, 64KiB, 2GiB, 1MB or a bare number.
func ParseSize(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size such as 100B, 64KiB or 2GiB", s)
	}
	return n * unit, nil
}

// FormatSize is the shortest exact form of ParseSize's input.
func FormatSize(n int64) string {
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// Rate is how much load a cell offers. The zero Rate saturates.
type Rate struct {
	// PerSecond is records per second; 0 when relative or saturating.
	PerSecond float64
	// Percent and Of give the rate as a share of the produce throughput of
	// another experiment's base cell.
	Percent float64
	Of      string
}

// Saturating is true where the load is as much as the target takes.
func (r Rate) Saturating() bool { return r.PerSecond == 0 && r.Of == "" }

// ParseRate reads max, 10k/s, 1M/s, 2500/s or '50% of EXPERIMENT'.
func ParseRate(s string) (Rate, error) {
	if s == "max" {
		return Rate{}, nil
	}
	bad := fmt.Errorf("%q is not a rate such as max, 10k/s, 1M/s or '50%% of EXPERIMENT'", s)
	if percent, of, ok := strings.Cut(s, "% of "); ok {
		p, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(p > 0 && p <= 1000) || of == "" {
			return Rate{}, bad
		}
		return Rate{Percent: p, Of: of}, nil
	}
	number, ok := strings.CutSuffix(s, "/s")
	if !ok {
		return Rate{}, bad
	}
	factor := 1.0
	if rest, ok := strings.CutSuffix(number, "k"); ok {
		number, factor = rest, 1e3
	} else if rest, ok := strings.CutSuffix(number, "M"); ok {
		number, factor = rest, 1e6
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0 && n*factor <= 1e9) {
		return Rate{}, bad
	}
	return Rate{PerSecond: n * factor}, nil
}
