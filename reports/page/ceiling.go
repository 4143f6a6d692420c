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
	var values []float64
	for _, r := range c.Usable {
		if w := of(r); w != nil && w.Acked > 0 && w.WireBytes > 0 {
			values = append(values, float64(w.WireBytes)/float64(w.Acked))
		}
	}
	sort.Float64s(values)
	return dataset.Median(values)
}

// ceiling is a calibrated limit of one of a run's windows.
type ceiling struct {
	name   string
	window func(result.Run) *result.Window
	// of is the limit that holds for a cell; ok is false where none does.
	of func(v *view, c *dataset.Cell) (l result.Limit, ok bool)
}

var (
	loopbackCeiling = &ceiling{"loopback", producedWindow, func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(loopback, c)
		return l, ok && networked(c)
	}}
	storeCeiling = &ceiling{"receive and append", producedWindow, func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(stores, c)
		return l, ok && networked(c)
	}}
	writeCeiling = &ceiling{"write(2)", producedWindow, func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.nearest(writes, c)
		return l, ok && !networked(c)
	}}
	copyCeiling     = sentCeiling("pread and write", result.LimitCopyDiscard)
	mappedCeiling   = sentCeiling("write of a mapping", result.LimitMappedDiscard)
	sendfileCeiling = sentCeiling("sendfile", result.LimitSendfileDiscard)
	methodCeiling   = &ceiling{"read method", fetchedWindow, func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.Calib.Get(methods[c.Config["storage.read.engine"]])
		return l, ok && networked(c)
	}}
	diskCeiling = &ceiling{"disk, O_DIRECT", producedWindow, func(v *view, _ *dataset.Cell) (result.Limit, bool) {
		return v.Calib.Get(result.LimitDirect1M)
	}}
)

// sentCeiling is the limit of one way to send what is in the page cache.
func sentCeiling(name, id string) *ceiling {
	return &ceiling{name + ", reader discards", fetchedWindow, func(v *view, c *dataset.Cell) (result.Limit, bool) {
		l, ok := v.Calib.Get(id)
		return l, ok && networked(c)
	}}
}

// passed reports which base cell of the invocation went furthest beyond a limit, and
// by what factor: such a limit was taken lower than the machine can do, and is none.
// The disk's is another matter, for the page cache takes more than the disk.
func (v *view) passed(k *ceiling, l result.Limit) (by *dataset.Experiment, factor float64) {
	if k == diskCeiling {
		return nil, 0
	}
	for _, e := range v.experiments(saturating) {
		c := reference(e)
		if c == nil {
			continue
		}
		if own, ok := k.of(v, c); !ok || own.ID != l.ID {
			continue
		}
		reached := median(c, func(r result.Run) float64 { return share(k.window(r), l.Value) })
		if reached > max(1, factor) {
			by, factor = e, reached
		}
	}
	return by, factor
}

// noCeiling says of a limit that was passed why it is none; empty where it is one.
func (v *view) noCeiling(k *ceiling, c *dataset.Cell) string {
	l, ok := k.of(v, c)
	if !ok {
		return ""
	}
	by, factor := v.passed(k, l)
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s was calibrated at %s (samples from %s to %s), and the base of %s reached %s of that: the calibration is lower than the run, so it is no ceiling here and is not drawn.",
		capital(k.name), chart.ByteRate(l.Value), chart.ByteRate(l.Low), chart.ByteRate(l.High), by.Name, share100(factor))
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

// noCeilings are the notes on limits that are none, each once over all experiments.
func (v *view) noCeilings(exps []*dataset.Experiment, kinds ...*ceiling) []string {
	var out []string
	for _, k := range kinds {
		for _, e := range exps {
			if c := reference(e); c != nil {
				if note := v.noCeiling(k, c); note != "" && !slices.Contains(out, note) {
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

// resource is something that a cell may use up.
type resource struct {
	name  string
	ink   chart.Ink
	shape chart.Shape
	// limit is what was calibrated; nil where the share needs no calibration.
	limit *ceiling
	// used is the share in use, of one run.
	used func(v *view, c *dataset.Cell, r result.Run) float64
}

var resources = []resource{
	{"loopback limit, producing", chart.Series(0), chart.Circle, loopbackCeiling, loopbackCeiling.used},
	{"limit of receiving and appending", chart.Series(1), chart.Square, storeCeiling, storeCeiling.used},
	{"write(2) limit, producing", chart.Series(1), chart.Square, writeCeiling, writeCeiling.used},
	{"limit of its read method, fetching", chart.Series(2), chart.Triangle, methodCeiling, methodCeiling.used},
	{"busiest client thread, producing", chart.Series(3), chart.Diamond, nil, func(_ *view, _ *dataset.Cell, r result.Run) float64 {
		if r.Produce == nil {
			return 0
		}
		return r.Produce.CPU.ClientMaxThread
	}},
	{"all processors, producing", chart.Series(4), chart.Down, nil, func(v *view, _ *dataset.Cell, r result.Run) float64 {
		if r.Produce == nil || r.Produce.WindowNs == 0 || v.Env == nil || v.Env.CPU.Logical == 0 {
			return 0
		}
		w := r.Produce
		return float64(w.CPU.BrokerNs()+w.CPU.ClientNs()) / float64(w.WindowNs) / float64(v.Env.CPU.Logical)
	}},
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

// distance shows how much of each calibrated limit every saturating cell used,
// and what the harness found to bound it.
func distance(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.Produce) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation produced records"}
	}
	p := Panel{
		Lead:    "Each mark is one resource as a share of what this machine gives without a broker. The word at the right is what the harness found to bound the cell; \"not told\" where neither a processor nor waiting stood out.",
		Caption: "Medians over usable runs. The loopback, appending and write limits are those calibrated at the size nearest to the cell's batches, the read method's is what pread, sendfile or a mapping reach with no protocol around them; a cell may exceed 100 % of one where its requests are larger or its pages already cached. A limit that a base cell exceeds is in the table and not in the picture.",
	}
	if v.Calib == nil {
		p.Notes = append(p.Notes, "This invocation has no calibration, so only processor shares are shown.")
	}
	bounds := map[string]int{}
	for _, e := range exps {
		fig, table := v.distanceOf(e, bounds)
		p.Figures, p.Tables = append(p.Figures, fig), append(p.Tables, table)
	}
	p.Notes = append(p.Notes, v.noCeilings(exps, loopbackCeiling, storeCeiling, writeCeiling, methodCeiling)...)
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Title = boundWords(bounds)
	return p, nil
}

func (v *view) distanceOf(e *dataset.Experiment, bounds map[string]int) (Figure, Table) {
	c := chart.Rows{
		Title:    heading(e) + ": share of each limit in use",
		Describe: "One row per cell, one mark per resource, from zero to all of it.",
		X:        chart.AxisSpec{Label: "share of the limit in use", Format: chart.Percent, Min: 0, Max: nan},
		Lines:    []chart.Line{{Value: 1, Label: "100 %"}},
	}
	t := Table{Name: heading(e), Columns: []Column{text("cell")}}
	short := map[string]bool{}
	shown := slices.DeleteFunc(slices.Clone(resources), func(r resource) bool { return !v.usedBy(r, e) })
	for _, r := range shown {
		t.Columns = append(t.Columns, num(r.name, "% used"))
		if base := reference(e); r.limit != nil && base != nil && v.noCeiling(r.limit, base) != "" {
			short[r.name] = true
		}
	}
	t.Columns = append(t.Columns, text("bound by"))
	var keys []chart.Key
	used := map[string]bool{}
	for _, cell := range ordered(e) {
		if cell.Interval(dataset.Produce).N == 0 {
			continue
		}
		_, label := rowName(cell)
		bound := boundBy(cell)
		bounds[bound]++
		row := chart.Row{Group: rowGroup(cell), Label: label, Bold: cell.Base, Note: boundName(bound)}
		line := []Cell{nameCell(e, cell)}
		tip := []string{axes(cell, e.Axes)}
		for _, r := range shown {
			value := median(cell, func(run result.Run) float64 { return r.used(v, cell, run) })
			if value <= 0 {
				line = append(line, number(nan, ""))
				continue
			}
			line = append(line, number(value*100, fmt.Sprintf("%.0f", value*100)))
			if short[r.name] {
				continue
			}
			row.Marks = append(row.Marks, chart.Mark{Value: value, Ink: r.ink, Shape: r.shape})
			tip = append(tip, fmt.Sprintf("%s %.0f %%", r.name, value*100))
			used[r.name] = true
		}
		row.Tip = strings.Join(tip, "; ")
		c.Rows = append(c.Rows, row)
		t.add(baseClass(cell), append(line, word(boundName(bound)))...)
	}
	most := 0.0
	for _, row := range c.Rows {
		for _, m := range row.Marks {
			most = math.Max(most, m.Value)
		}
	}
	if most > 2 { // far beyond a limit, a linear axis would crowd all that lies below it
		c.X.Log, c.X.Min, c.X.Label = true, nan, c.X.Label+", logarithmic"
	}
	for _, r := range shown {
		if used[r.name] {
			keys = append(keys, chart.Key{Label: r.name, Ink: r.ink, Shape: r.shape})
		}
	}
	return draw(heading(e), keys, c), t
}

// usedBy reports whether any cell of the experiment used a resource.
func (v *view) usedBy(r resource, e *dataset.Experiment) bool {
	return slices.ContainsFunc(e.Cells, func(c *dataset.Cell) bool {
		return median(c, func(run result.Run) float64 { return r.used(v, c, run) }) > 0
	})
}

func baseClass(c *dataset.Cell) string {
	if c.Base {
		return "base"
	}
	return ""
}

// median of a figure over the usable runs that have it.
func median(c *dataset.Cell, of func(result.Run) float64) float64 {
	var values []float64
	for _, r := range c.Usable {
		if x := of(r); x > 0 {
			values = append(values, x)
		}
	}
	sort.Float64s(values)
	return dataset.Median(values)
}

// boundBy is what bound most of a cell's usable runs.
func boundBy(c *dataset.Cell) string {
	count := map[string]int{}
	for _, r := range c.Usable {
		if r.BoundBy == "schedule" && !keptUp(r) {
			count["unknown"]++ // it did not take the rate, so the rate did not bound it
			continue
		}
		count[r.BoundBy]++
	}
	best := "unknown"
	for name, n := range count {
		if name != "" && (n > count[best] || n == count[best] && name < best) {
			best = name
		}
	}
	return best
}

// boundName says it in words.
func boundName(bound string) string {
	switch bound {
	case "broker_cpu":
		return "broker CPU"
	case "client_cpu":
		return "client CPU"
	case "disk_write":
		return "disk writes"
	case "bytes":
		return "the byte bound"
	case "schedule":
		return "the offered rate"
	case "waiting":
		return "waiting" // for the disk, or for each other
	case "unknown", "":
		return "not told"
	}
	return strings.ReplaceAll(bound, "_", " ")
}

// boundWords say what bound the cells, as far as that is known.
func boundWords(bounds map[string]int) string {
	type entry struct {
		name string
		n    int
	}
	var all []entry
	total := 0
	for name, n := range bounds {
		total += n
		if name != "unknown" {
			all = append(all, entry{name, n})
		}
	}
	sort.Slice(all, func(a, b int) bool {
		return all[a].n > all[b].n || all[a].n == all[b].n && all[a].name < all[b].name
	})
	if len(all) == 0 {
		return "How much of each limit every cell used"
	}
	parts := make([]string, len(all))
	for i, e := range all {
		parts[i] = fmt.Sprintf("%d by %s", e.n, boundName(e.name))
	}
	were := map[bool]string{true: " was bound", false: " were bound"}[all[0].n == 1]
	return fmt.Sprintf("How much of each limit every cell used; of %d %s, %s", total, plural(total, "cell"), strings.Replace(list(parts), " by", were+" by", 1))
}
