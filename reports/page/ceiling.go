package page

import (
	"fmt"
	"math"
	"slices"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// sized is a family of limits that were taken at several sizes.
type sized []struct {
	bytes float64
	id    string
}

var (
	loopback = sized{{16 << 10, result.LimitLoopback16K}, {64 << 10, result.LimitLoopback64K}, {1 << 20, result.LimitLoopback1M}}
	stores   = sized{{16 << 10, result.LimitStore16K}, {64 << 10, result.LimitStore64K}, {1 << 20, result.LimitStore1M}}
	writes   = sized{{16 << 10, result.LimitWrite16K}, {64 << 10, result.LimitWrite64K}, {1 << 20, result.LimitWrite1M}}
)

// methods are the limits of the ways in which read engines send.
var methods = map[string]string{
	"pread":    result.LimitCopyDiscard,
	"sendfile": result.LimitSendfileDiscard,
	"mapped":   result.LimitMappedDiscard,
}

// nearest is the limit of a family taken at the size nearest to a cell's batches,
// by ratio; cells whose client decides count as 64 KiB.
func (v *view) nearest(f sized, c *dataset.Cell) (result.Limit, bool) {
	size := float64(64 << 10)
	for _, r := range c.Usable {
		if r.Records.BatchBytes > 0 {
			size = float64(r.Records.BatchBytes)
		}
	}
	best := f[0]
	for _, l := range f {
		if math.Abs(math.Log(l.bytes/size)) < math.Abs(math.Log(best.bytes/size)) {
			best = l
		}
	}
	return v.Calib.Get(best.id)
}

// wirePerRecord is how many bytes on the wire one record of the cell takes.
func wirePerRecord(c *dataset.Cell, of func(result.Run) *result.Window) float64 {
	return median(c, func(r result.Run) float64 {
		w := of(r)
		if w == nil || w.Acked == 0 {
			return 0
		}
		return float64(w.WireBytes) / float64(w.Acked)
	})
}

// ceiling is a calibrated limit of one of a run's windows.
type ceiling struct {
	name   string
	window func(result.Run) *result.Window
	// of is the limit that holds for a cell; ok is false where none does.
	of func(v *view, c *dataset.Cell) (l result.Limit, ok bool)
	// sends is set where the limit is one way to send, shown beside cells of every way.
	sends bool
}

var (
	loopbackCeiling = &ceiling{name: "loopback", window: producedWindow, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(loopback, c)
		return l, ok && networked(c)
	}}
	storeCeiling = &ceiling{name: "receive and append", window: producedWindow, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(stores, c)
		return l, ok && networked(c)
	}}
	writeCeiling = &ceiling{name: "write(2)", window: producedWindow, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(writes, c)
		return l, ok && !networked(c)
	}}
	copyCeiling     = sentCeiling("pread and write", result.LimitCopyDiscard)
	mappedCeiling   = sentCeiling("write of a mapping", result.LimitMappedDiscard)
	sendfileCeiling = sentCeiling("sendfile", result.LimitSendfileDiscard)
	methodCeiling   = &ceiling{name: "read method", window: fetchedWindow, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.Calib.Get(methods[c.Config["storage.read.engine"]])
		return l, ok && networked(c)
	}}
	diskCeiling = &ceiling{name: "disk, O_DIRECT", window: producedWindow, of: func(v *view, _ *dataset.Cell) (result.Limit, bool) {
		return v.Calib.Get(result.LimitDirect1M)
	}}
)

// sentCeiling is the limit of one way to send what is in the page cache.
func sentCeiling(name, id string) *ceiling {
	return &ceiling{name: name + ", reader discards", window: fetchedWindow, sends: true, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.Calib.Get(id)
		return l, ok && networked(c)
	}}
}

// clearly is by what factor a cell passes a limit that is none: within it, the two only
// differ by what samples and runs scatter. Of a base cell any excess is enough, for the
// lines are drawn in its records.
const clearly = 1.1

// widestSpread is the largest quotient of a limit's extremes. What one machine did ten
// times faster in one sample than in another is no bound.
const widestSpread = 10

// passed reports which cell of the invocation went furthest beyond a limit that holds
// for its work, and by what factor: such a limit was taken lower than the machine can
// do, and is none. The disk's is another matter, for the page cache takes more than the
// disk, and so is group commit's: its writers wait for each of their own, as a broker
// does not.
func (v *view) passed(k *ceiling, l result.Limit) (by string, factor float64) {
	if k == diskCeiling || k == groupCeiling {
		return "", 0
	}
	for _, e := range v.experiments(saturating) {
		for _, c := range e.Cells {
			own, ok := k.of(v, c)
			least := clearly
			switch {
			case !ok || own.ID != l.ID:
				continue
			case c == reference(e):
				least = 1
			case k.sends && methods[c.Config["storage.read.engine"]] != l.ID:
				continue // it sent in another way
			}
			reached := median(c, func(r result.Run) float64 { return share(k.window(r), l.Value) })
			if reached > max(least, factor) {
				by, factor = e.Name+" "+cellLabel(e, c), reached
			}
		}
	}
	return by, factor
}

// scattered reports whether a limit's samples lie too far apart to bound anything.
func scattered(k *ceiling, l result.Limit) bool {
	return k != groupCeiling && l.Low > 0 && l.High/l.Low >= widestSpread
}

// noCeiling says of a cell's limit that is none why it is not; empty where it is one.
func (v *view) noCeiling(k *ceiling, c *dataset.Cell) string {
	l, ok := k.of(v, c)
	if !ok {
		return ""
	}
	taken := fmt.Sprintf("%s (%s) was calibrated at %s (%d samples from %s to %s)", capital(k.name), l.ID, chart.ByteRate(l.Value), l.Samples, chart.ByteRate(l.Low), chart.ByteRate(l.High))
	by, factor := v.passed(k, l)
	switch {
	case by != "":
		return fmt.Sprintf("%s, and %s reached %s of that: the calibration is lower than the run, so it is no ceiling here and is not drawn.", taken, by, share100(factor))
	case scattered(k, l):
		return taken + ": samples that lie so far apart bound nothing, so it is no ceiling here and is not drawn."
	}
	return ""
}

// ceilings are the limits of an experiment among some kinds, in records of its base
// cell; beyond names those too far out to draw.
func (v *view) ceilings(e *dataset.Experiment, m dataset.Metric, kinds ...*ceiling) (lines []chart.Line, beyond string) {
	cell := reference(e)
	if cell == nil {
		return nil, ""
	}
	most := 0.0
	for _, c := range e.Cells {
		most = math.Max(most, c.Interval(m).High)
	}
	var far []string
	for _, k := range kinds {
		l, ok := k.of(v, cell)
		per := wirePerRecord(cell, k.window)
		if !ok || per <= 0 || v.noCeiling(k, cell) != "" {
			continue
		}
		value, label := l.Value/per, fmt.Sprintf("%s %s", k.name, chart.ByteRate(l.Value))
		lines = append(lines, chart.Line{Value: value, Label: label})
		if value > most*chart.Reach {
			far = append(far, fmt.Sprintf("%s (%s records/s)", label, chart.Count(value)))
		}
	}
	return lines, list(far)
}

// noCeilings are the notes on limits of any cell that are none, each once over all
// experiments.
func (v *view) noCeilings(exps []*dataset.Experiment, kinds ...*ceiling) []string {
	var out []string
	for _, k := range kinds {
		for _, e := range exps {
			for _, c := range ordered(e) {
				if note := v.noCeiling(k, c); len(c.Usable) > 0 && note != "" && !slices.Contains(out, note) {
					out = append(out, note)
				}
			}
		}
	}
	return out
}

// networked reports whether the cell's bytes cross a socket: the log driver appends in
// its own process, the null driver nowhere.
func networked(c *dataset.Cell) bool { return c.Driver != "log" && c.Driver != "null" }

func producedWindow(r result.Run) *result.Window { return r.Produce }
func fetchedWindow(r result.Run) *result.Window  { return r.Fetch }

// reference is the cell whose record layout stands for its experiment.
func reference(e *dataset.Experiment) *dataset.Cell {
	if e.Base != nil && len(e.Base.Usable) > 0 {
		return e.Base
	}
	for _, c := range e.Cells {
		if len(c.Usable) > 0 {
			return c
		}
	}
	return nil
}

// used is how much of the limit one run of a cell used; 0 where none holds for it.
func (k *ceiling) used(v *view, c *dataset.Cell, r result.Run) float64 {
	l, ok := k.of(v, c)
	if !ok {
		return 0
	}
	return share(k.window(r), l.Value)
}

func share(w *result.Window, limit float64) float64 {
	if w == nil || limit <= 0 {
		return 0
	}
	return float64(w.WirePerS) / limit
}
