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

// sized is a family of limits that were taken at several sizes.
type sized []struct {
	bytes float64
	id    string
}

var (
	loopback = sized{{16 << 10, result.LimitLoopback16K}, {64 << 10, result.LimitLoopback64K}, {1 << 20, result.LimitLoopback1M}}
	writes   = sized{{16 << 10, result.LimitWrite16K}, {64 << 10, result.LimitWrite64K}, {1 << 20, result.LimitWrite1M}}
)

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

// ceilings are the calibrated limits of producing, in records of the base cell. Notes
// name those too far out to draw, and those that are no limit because the base cell
// itself exceeded them.
func (v *view) ceilings(e *dataset.Experiment) (lines []chart.Line, notes []string) {
	cell := reference(e)
	if cell == nil {
		return nil, nil
	}
	per := wirePerRecord(cell, producedWindow)
	if per <= 0 {
		return nil, nil
	}
	reached := cell.Interval(dataset.Produce).Median
	most := 0.0
	for _, c := range e.Cells {
		most = math.Max(most, c.Interval(dataset.Produce).High)
	}
	var far []string
	add := func(l result.Limit, ok bool, name string) {
		if !ok {
			return
		}
		value := l.Value / per
		label := fmt.Sprintf("%s %s", name, chart.ByteRate(l.Value))
		if reached > value && l.ID != result.LimitDirect1M { // the page cache takes more than the disk
			notes = append(notes, noCeiling(e, name, l, reached/value))
			return
		}
		lines = append(lines, chart.Line{Value: value, Label: label})
		if value > most*chart.Reach {
			far = append(far, fmt.Sprintf("%s (%s records/s)", label, chart.Count(value)))
		}
	}
	l, ok := v.nearest(loopback, cell)
	add(l, ok && networked(cell), "loopback")
	l, ok = v.nearest(writes, cell)
	add(l, ok, "write(2)")
	if e.Kind == result.Sustained {
		l, ok = v.Calib.Get(result.LimitDirect1M)
		add(l, ok, "disk, O_DIRECT")
	}
	if len(far) > 0 {
		notes = append(notes, heading(e)+": beyond the axis lie "+list(far)+".")
	}
	return lines, notes
}

// noCeiling says of a calibrated limit that the base cell exceeded it by a factor.
func noCeiling(e *dataset.Experiment, name string, l result.Limit, factor float64) string {
	return fmt.Sprintf("%s: %s was calibrated at %s (samples from %s to %s), and the base cell reached %s of that: the calibration is lower than the run, so it is no ceiling here and is not drawn.",
		heading(e), name, chart.ByteRate(l.Value), chart.ByteRate(l.Low), chart.ByteRate(l.High), share100(factor))
}

// fetchCeiling is the limit of reading back, or a note that it is none.
func (v *view) fetchCeiling(e *dataset.Experiment) (lines []chart.Line, note string) {
	cell := reference(e)
	if cell == nil {
		return nil, ""
	}
	per := wirePerRecord(cell, fetchedWindow)
	l, ok := v.Calib.Get(result.LimitSendfileDiscard)
	if !ok || per <= 0 || !networked(cell) {
		return nil, ""
	}
	if reached := cell.Interval(dataset.Fetch).Median; reached > l.Value/per {
		return nil, noCeiling(e, "sendfile with a reader that discards", l, reached/(l.Value/per))
	}
	return []chart.Line{{Value: l.Value / per, Label: "sendfile, reader discards " + chart.ByteRate(l.Value)}}, ""
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
	// calibrated is true where the limit is a measurement, which may fall short.
	calibrated bool
	// used is the share in use, of one run.
	used func(v *view, c *dataset.Cell, r result.Run) float64
}

var resources = []resource{
	{"loopback limit, producing", chart.Series(0), chart.Circle, true, func(v *view, c *dataset.Cell, r result.Run) float64 {
		if !networked(c) {
			return 0
		}
		return share(r.Produce, v.limit(loopback, c))
	}},
	{"write(2) limit, producing", chart.Series(1), chart.Square, true, func(v *view, c *dataset.Cell, r result.Run) float64 {
		return share(r.Produce, v.limit(writes, c))
	}},
	{"sendfile limit, fetching", chart.Series(2), chart.Triangle, true, func(v *view, c *dataset.Cell, r result.Run) float64 {
		if !networked(c) {
			return 0
		}
		l, _ := v.Calib.Get(result.LimitSendfileDiscard)
		return share(r.Fetch, l.Value)
	}},
	{"busiest client thread, producing", chart.Series(3), chart.Diamond, false, func(_ *view, _ *dataset.Cell, r result.Run) float64 {
		if r.Produce == nil {
			return 0
		}
		return r.Produce.CPU.ClientMaxThread
	}},
	{"all processors, producing", chart.Series(4), chart.Down, false, func(v *view, _ *dataset.Cell, r result.Run) float64 {
		if r.Produce == nil || r.Produce.WindowNs == 0 || v.Env == nil || v.Env.CPU.Logical == 0 {
			return 0
		}
		w := r.Produce
		return float64(w.CPU.BrokerNs()+w.CPU.ClientNs()) / float64(w.WindowNs) / float64(v.Env.CPU.Logical)
	}},
}

func (v *view) limit(f sized, c *dataset.Cell) float64 {
	l, _ := v.nearest(f, c)
	return l.Value
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
		Caption: "Medians over usable runs. The loopback and write limits are those calibrated at the size nearest to the cell's batches; a cell may exceed 100 % of one where its requests are larger or its pages already cached. A limit that the base cell or most cells exceed is not drawn.",
	}
	if v.Calib == nil {
		p.Notes = append(p.Notes, "This invocation has no calibration, so only processor shares are shown.")
	}
	bounds := map[string]int{}
	for _, e := range exps {
		fig, table, notes := v.distanceOf(e, bounds)
		p.Notes = append(p.Notes, notes...)
		p.Figures, p.Tables = append(p.Figures, fig), append(p.Tables, table)
	}
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Title = boundWords(bounds)
	return p, nil
}

// exceeded reports whether a calibrated limit was lower than what the experiment
// reached: in its base cell, or in most of its cells.
func (v *view) exceeded(e *dataset.Experiment, r resource) (share float64, ok bool) {
	if !r.calibrated {
		return 0, false
	}
	of := func(c *dataset.Cell) float64 {
		return median(c, func(run result.Run) float64 { return r.used(v, c, run) })
	}
	base := reference(e)
	over, cells := 0, 0
	for _, c := range e.Cells {
		if x := of(c); x > 0 {
			cells++
			if x > 1 {
				over++
			}
		}
	}
	if base == nil || of(base) <= 1 && 2*over <= cells {
		return 0, false
	}
	return of(base), true
}

func (v *view) distanceOf(e *dataset.Experiment, bounds map[string]int) (fig Figure, t Table, notes []string) {
	c := chart.Rows{
		Title:    heading(e) + ": share of each limit in use",
		Describe: "One row per cell, one mark per resource, from zero to all of it.",
		X:        chart.AxisSpec{Label: "share of the limit in use", Format: chart.Percent, Min: 0, Max: nan},
		Lines:    []chart.Line{{Value: 1, Label: "100 %"}},
	}
	t = Table{Name: heading(e), Columns: []Column{text("cell")}}
	short := map[string]bool{}
	for _, r := range resources {
		t.Columns = append(t.Columns, num(r.name, "% used"))
		if share, ok := v.exceeded(e, r); ok {
			short[r.name] = true
			notes = append(notes, fmt.Sprintf("%s: the %s is no ceiling here, its calibration is lower than what was reached (base at %s); it is in the table and not in the picture.", heading(e), r.name, share100(share)))
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
		for _, r := range resources {
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
	for _, r := range resources {
		if used[r.name] {
			keys = append(keys, chart.Key{Label: r.name, Ink: r.ink, Shape: r.shape})
		}
	}
	return draw(heading(e), keys, c), t, notes
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
