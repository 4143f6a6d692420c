package page

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// The parts of a sustained run that its course is told by.
const (
	firstSeconds = 5
	lastSeconds  = 30
	worstSeconds = 10
)

// levelWithin is how far, as a share of the median second, the seconds of a level run
// stay from it, and its end from its start.
const levelWithin = 0.25

// course is how one sustained run went, in records per second, warm-up included.
type course struct {
	first, last             float64 // the mean of the first and of the last seconds
	lowest, middle, highest float64 // single intervals of its record
	worst                   float64 // the lowest mean of worstSeconds in a row
	below                   float64 // seconds that ran at less than half of first
	startLow, startHigh     float64 // single intervals of the first seconds
}

// started reports whether the first seconds were level among themselves, so that the
// rest can be held against their mean.
func (c course) started() bool {
	return c.startLow >= c.first*(1-levelWithin) && c.startHigh <= c.first*(1+levelWithin)
}

// level reports whether the run had one rate from its start to its end.
func (c course) level() bool {
	near := func(v, of float64) bool { return math.Abs(v/of-1) <= levelWithin }
	return near(c.lowest, c.middle) && near(c.highest, c.middle) && near(c.last, c.first)
}

// underLoad are the intervals of a run's record in which it produced, warm-up included.
func underLoad(rows []result.Row) (out []result.Row) {
	for _, r := range rows {
		if r.LengthMs > 0 && (r.Phase == "warmup" || r.Phase == "window") {
			out = append(out, r)
		}
	}
	return out
}

// courseOf reads a run's course off its record; ok is false where the run is too
// short to have one.
func courseOf(rows []result.Row) (c course, ok bool) {
	load := underLoad(rows)
	var all []float64
	for _, r := range load {
		all = append(all, perSecond(r.Acked, r))
	}
	if len(load) == 0 {
		return c, false
	}
	end := load[len(load)-1].TMs
	if end < (firstSeconds+lastSeconds)*1000 {
		return c, false
	}
	mean := func(from, to int64) float64 {
		var n, ms int64
		for _, r := range load {
			if r.TMs > from && r.TMs <= to {
				n, ms = n+r.Acked, ms+r.LengthMs
			}
		}
		return float64(n) / float64(max(1, ms)) * 1000
	}
	c.first, c.last = mean(0, firstSeconds*1000), mean(end-lastSeconds*1000, end)
	c.worst, c.startLow = math.Inf(1), math.Inf(1)
	for _, r := range load {
		if r.TMs >= worstSeconds*1000 {
			c.worst = min(c.worst, mean(r.TMs-worstSeconds*1000, r.TMs))
		}
		if r.TMs <= firstSeconds*1000 {
			c.startLow, c.startHigh = min(c.startLow, perSecond(r.Acked, r)), max(c.startHigh, perSecond(r.Acked, r))
		}
		if perSecond(r.Acked, r) < c.first/2 {
			c.below += float64(r.LengthMs) / 1000
		}
	}
	sort.Float64s(all)
	c.lowest, c.middle, c.highest = all[0], dataset.Median(all), all[len(all)-1]
	return c, c.first > 0 && c.middle > 0
}

// courses are those of a cell's usable runs. A record that cannot be read is left to
// the panel over time, which shows the error.
func (v *view) courses(c *dataset.Cell) []course {
	var out []course
	for _, r := range c.Usable {
		rows, err := v.Series(r)
		if err != nil {
			continue
		}
		if k, ok := courseOf(rows); ok {
			out = append(out, k)
		}
	}
	return out
}

// courseWords tells how runs of one cell went: where they started, how low they fell
// and for how long, where they ended. Where the first seconds were not level among
// themselves nothing is held against them.
func courseWords(all []course) string {
	over := func(f chart.Format, of func(course) float64) string {
		var values []float64
		for _, c := range all {
			values = append(values, of(c))
		}
		sort.Float64s(values)
		return span(f(values[0]), f(values[len(values)-1]))
	}
	level := 0
	for _, c := range all {
		if c.level() {
			level++
		}
	}
	said := "not level"
	switch {
	case level == len(all):
		said = "level"
	case level > 0:
		said = fmt.Sprintf("%d of %d runs level", level, len(all))
	}
	runs := "one run, so no interval"
	if len(all) > 1 {
		runs = fmt.Sprintf("%d runs", len(all))
	}
	rate := func(of func(course) float64) string { return over(chart.Count, of) }
	seconds := fmt.Sprintf("lowest second %s, median %s, highest %s",
		rate(func(c course) float64 { return c.lowest }), rate(func(c course) float64 { return c.middle }), rate(func(c course) float64 { return c.highest }))
	if slices.ContainsFunc(all, func(c course) bool { return !c.started() }) {
		low, high := math.Inf(1), 0.0
		for _, c := range all {
			low, high = min(low, c.startLow), max(high, c.startHigh)
		}
		return fmt.Sprintf("the first %d seconds ran at %s records/s, too unlike each other to hold the rest against; the worst %d in a row at %s; %s; the last %d seconds at %s; %s (%s)",
			firstSeconds, span(chart.Count(low), chart.Count(high)), worstSeconds, rate(func(c course) float64 { return c.worst }), seconds, lastSeconds, rate(func(c course) float64 { return c.last }), said, runs)
	}
	return fmt.Sprintf("%s records/s in the first %d seconds; the worst %d in a row at %s (%s of that), %s s below half of it; %s; the last %d seconds ran at %s of the first %d; %s (%s)",
		rate(func(c course) float64 { return c.first }), firstSeconds,
		worstSeconds, rate(func(c course) float64 { return c.worst }), over(share100, func(c course) float64 { return c.worst / c.first }),
		over(func(v float64) string { return fmt.Sprintf("%.0f", v) }, func(c course) float64 { return c.below }),
		seconds, lastSeconds, over(share100, func(c course) float64 { return c.last / c.first }), firstSeconds, said, runs)
}

// kernelWords say where the processor time of a cell's runs went, where most of it was
// the system's; empty where it was not.
func kernelWords(c *dataset.Cell) string {
	var system, all int64
	for _, r := range c.Usable {
		if r.Produce != nil {
			cpu := r.Produce.CPU
			system, all = system+cpu.BrokerSysNs+cpu.ClientSysNs, all+cpu.BrokerNs()+cpu.ClientNs()
		}
	}
	if all == 0 || 2*system <= all {
		return ""
	}
	return fmt.Sprintf("%s of the processor time of broker and client, %.0f of %.0f core-seconds, was spent in the kernel", share100(float64(system)/float64(all)), float64(system)/1e9, float64(all)/1e9)
}

// share100 is a share in whole per cent.
func share100(v float64) string { return fmt.Sprintf("%.0f", v*100) + nbsp + "%" }

// deletions say which cells of an experiment delete old segments while they run: what
// is deleted before it is written back never reaches the disk.
func deletions(e *dataset.Experiment) []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range ordered(e) {
		var rules []string
		for _, name := range []string{"retention.bytes", "retention.ms"} {
			if value, ok := c.Config[name]; ok && value != "-1" {
				rules = append(rules, name+"="+value)
			}
		}
		if len(rules) == 0 {
			continue
		}
		for _, name := range []string{"file.delete.delay.ms", "broker.log.retention.check.interval.ms"} {
			if value, ok := c.Config[name]; ok {
				rules = append(rules, strings.TrimPrefix(name, "broker.")+"="+value)
			}
		}
		said := fmt.Sprintf("old segments of each partition are deleted during the run (%s); what is deleted before the kernel has written it back never reaches the disk, so the rate may be more than the disk alone sustains.", strings.Join(rules, ", "))
		if !seen[said] {
			seen[said] = true
			out = append(out, heading(e)+": "+said)
		}
	}
	return out
}
