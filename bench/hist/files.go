package hist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// microsecond is the unit of values in .hgrm files: three decimals of it are
// nanoseconds, so the text loses nothing.
const microsecond = 1000

// WriteHgrm writes the percentile distribution in HdrHistogram's text form,
// values in microseconds.
func WriteHgrm(w io.Writer, h *Histogram) error {
	if h.h.TotalCount() == 0 {
		_, err := io.WriteString(w, " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n")
		return err
	}
	if _, err := h.h.PercentilesPrint(w, spectrumTicks, microsecond); err != nil {
		return fmt.Errorf("write percentiles: %w", err)
	}
	_, err := fmt.Fprintf(w, "#[Overflow = %d, NonPositive = %d]\n", h.overflow, h.nonPositive)
	return err
}

// maxLine bounds a line of the text and log files; an encoded histogram of our
// range stays far below it.
const maxLine = 4 << 20

// ReadHgrm reads what WriteHgrm wrote, values back in nanoseconds. A malformed
// line is an error that names it; nothing is skipped but comments.
func ReadHgrm(r io.Reader) ([]Point, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var points []Point
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Value") {
			continue
		}
		p, err := parsePoint(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		points = append(points, p)
	}
	return points, lines.Err()
}

func parsePoint(line string) (Point, error) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return Point{}, fmt.Errorf("%q has %d fields, want value, percentile and count", line, len(fields))
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return Point{}, fmt.Errorf("value: %w", err)
	}
	quantile, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return Point{}, fmt.Errorf("percentile: %w", err)
	}
	count, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Point{}, fmt.Errorf("count: %w", err)
	}
	if !(quantile >= 0 && quantile <= 1) || !(value >= 0 && value <= HighestNs*2) || count < 0 {
		return Point{}, fmt.Errorf("%q is outside the range of a distribution", line)
	}
	return Point{Quantile: quantile, Value: int64(value*microsecond + 0.5), Count: count}, nil
}

// Interval is one histogram of a log: what one metric saw in one span of time.
type Interval struct {
	// Metric is the tag of the line: response, service, lateness, e2e.
	Metric string
	// Start is when the interval began, since the first interval of the log.
	Start time.Duration
	// Length is how long it lasted.
	Length time.Duration
	// Hist holds the values; the log keeps no overflow counts.
	Hist *Histogram
}

// WriteLog writes intervals as an HdrHistogram log, format 1.3, with the metric
// as tag and base as the instant of Start zero.
func WriteLog(w io.Writer, base time.Time, intervals []Interval) error {
	lw := hdr.NewHistogramLogWriter(w)
	baseMs := base.UnixMilli()
	if err := errors.Join(lw.OutputLogFormatVersion(), lw.OutputStartTime(baseMs), lw.OutputLegend()); err != nil {
		return err
	}
	for _, i := range intervals {
		i.Hist.h.SetTag(i.Metric)
		i.Hist.h.SetStartTimeMs(baseMs + i.Start.Milliseconds())
		i.Hist.h.SetEndTimeMs(baseMs + (i.Start + i.Length).Milliseconds())
		if err := lw.OutputIntervalHistogram(i.Hist.h); err != nil {
			return fmt.Errorf("interval %s at %s: %w", i.Metric, i.Start, err)
		}
	}
	return nil
}

// ReadLog reads an HdrHistogram log; Start counts from its earliest interval.
func ReadLog(r io.Reader) ([]Interval, error) {
	lr := hdr.NewHistogramLogReader(r)
	var out []Interval
	earliest := time.Duration(math.MaxInt64)
	for {
		h, err := lr.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("interval %d: %w", len(out)+1, err)
		}
		if h == nil {
			break
		}
		start := time.Duration(h.StartTimeMs()) * time.Millisecond
		end := time.Duration(h.EndTimeMs()) * time.Millisecond
		earliest = min(earliest, start)
		out = append(out, Interval{Metric: h.Tag(), Start: start, Length: end - start, Hist: &Histogram{h: h}})
	}
	for i := range out {
		out[i].Start -= earliest
	}
	return out, nil
}
