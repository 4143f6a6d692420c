// Package calibrate measures what this machine does without any broker: the
// ceilings that broker figures are divided by. It is one list, taken in the
// same invocation as the figures. Every limit is the
// median of several short samples, of the best way where there are several; one that
// cannot be taken here says why.
package calibrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"tidemark/bench/result"
)

// Options is where and how thoroughly to measure.
type Options struct {
	// Dir is on the file system that holds the data; files in it are removed.
	Dir string
	// Env is the comparable digest of the environment, for the record.
	Env string
	// Samples per limit and the time of each; 5 and 80 ms if zero.
	Samples int
	Each    time.Duration
	// Progress is called before each limit; nil for none.
	Progress func(id, what string)
}

// limit is one line of the list. take returns one sample; it may prepare in
// dir, which is fresh for the limit and removed after it.
type limit struct {
	id, what, unit string
	take           func(dir string, each time.Duration) (sampler, error)
}

// sampler takes samples of one limit until it is closed, rounds times as many
// as asked for where it has that many ways to take them (1 if zero).
type sampler struct {
	rounds int
	sample func() (value, p99 float64, err error)
	close  func() error
}

// list is the one list, in the order of the table.
var list = concat(fileLimits, memoryLimits, networkLimits, timerLimits, codecLimits)

func concat(parts ...[]limit) (out []limit) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Run measures every limit. The error is ctx's, or about Dir; a limit's own
// failure is in its Unavailable.
func Run(ctx context.Context, o Options) (*result.Calib, error) {
	if o.Samples == 0 {
		o.Samples = 5
	}
	if o.Each == 0 {
		o.Each = 80 * time.Millisecond
	}
	dir, err := os.MkdirTemp(o.Dir, "calibrate-")
	if err != nil {
		return nil, fmt.Errorf("directory for calibration: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // scratch
	began := time.Now()
	c := &result.Calib{Schema: result.CalibSchema, TakenUTC: began.UTC().Format(time.RFC3339), Env: o.Env, Dir: o.Dir}
	for _, l := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o.Progress != nil {
			o.Progress(l.id, l.what)
		}
		c.Limits = append(c.Limits, measure(l, dir, o))
	}
	c.Seconds = time.Since(began).Seconds()
	return c, nil
}

func measure(l limit, dir string, o Options) result.Limit {
	out := result.Limit{ID: l.id, What: l.what, Unit: l.unit}
	own := filepath.Join(dir, l.id)
	if err := os.Mkdir(own, 0o755); err != nil {
		out.Unavailable = err.Error()
		return out
	}
	defer func() { _ = os.RemoveAll(own) }() // scratch
	s, err := l.take(own, o.Each)
	if err != nil {
		out.Unavailable = err.Error()
		return out
	}
	var values, tails []float64
	for range o.Samples * max(1, s.rounds) {
		v, p99, err := s.sample()
		if err != nil {
			out.Unavailable = err.Error()
			break
		}
		values, tails = append(values, v), append(tails, p99)
	}
	if s.close != nil {
		if err := s.close(); err != nil && out.Unavailable == "" {
			out.Unavailable = err.Error()
		}
	}
	if out.Unavailable != "" {
		return out
	}
	values, tails = best(values, tails, max(1, s.rounds), l.unit == result.UnitNs)
	out.Samples, out.Low, out.High = len(values), slices.Min(values), slices.Max(values)
	out.Value, out.P99 = median(values), median(tails)
	return out
}

// best are the samples of the way with the best median; the ways took turns. The single
// best sample would be luck, which no run of seconds can have, and how other ways scatter
// says nothing of this one.
func best(values, tails []float64, ways int, lowest bool) (bestValues, bestTails []float64) {
	var limit float64
	for way := range ways {
		var v, t []float64
		for i := way; i < len(values); i += ways {
			v, t = append(v, values[i]), append(t, tails[i])
		}
		if m := median(v); way == 0 || lowest == (m < limit) {
			limit, bestValues, bestTails = m, v, t
		}
	}
	return bestValues, bestTails
}

// median of values, which it sorts; the lower one of an even number.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// rate calls step, which moves bytes, until the time is up, and returns bytes
// per second.
func rate(each time.Duration, step func() (bytes int, err error)) (float64, error) {
	began := time.Now()
	var total int
	for {
		n, err := step()
		if err != nil {
			return 0, err
		}
		total += n
		if spent := time.Since(began); spent >= each {
			return float64(total) / spent.Seconds(), nil
		}
	}
}

// latencies calls step until the time is up, at least 20 times, and returns the
// median and the 99th percentile in nanoseconds.
func latencies(each time.Duration, step func() (time.Duration, error)) (median, p99 float64, err error) {
	began := time.Now()
	var all []float64
	for len(all) < 20 || time.Since(began) < each {
		d, err := step()
		if err != nil {
			return 0, 0, err
		}
		all = append(all, float64(d))
	}
	median, p99 = percentiles(all)
	return median, p99, nil
}

// percentiles sorts times, of which there is one at least.
func percentiles(times []float64) (median, p99 float64) {
	sort.Float64s(times)
	return times[len(times)/2], times[len(times)*99/100]
}

// throughput makes a sampler of a byte-moving step.
func throughput(each time.Duration, step func() (int, error), close func() error) sampler {
	return sampler{sample: func() (float64, float64, error) {
		v, err := rate(each, step)
		return v, 0, err
	}, close: close}
}

// timing makes a sampler of a timed step.
func timing(each time.Duration, step func() (time.Duration, error), close func() error) sampler {
	return sampler{sample: func() (float64, float64, error) { return latencies(each, step) }, close: close}
}
