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
	{"group commit of as many", chart.Series(5), chart.Square, groupCeiling, groupCeiling.used},
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
		return float64(w.CPU.TargetNs()+w.CPU.ClientNs()) / float64(w.WindowNs) / float64(v.Env.CPU.Logical)
	}},
}

// distance shows how much of each calibrated limit every saturating cell used,
// and what the harness found to bound it.
func distance(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.Produce) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation produced records"}
	}
	p := Panel{
		Lead:    "Each mark is one resource as a share of what this machine gives without a broker. At the right stands what bound the cell. " + boundRule,
		Caption: "Medians over usable runs. The loopback, appending and write limits are those calibrated at the size nearest to the cell's batches, the read method's is what pread, sendfile or a mapping reach with no protocol around them. The group commit is that of as many writers as a cell has requests in flight, for cells under storage.flush=group with small batches. A cell's share of a limit that is none is in the table, in brackets, and not in the picture: one that a base cell exceeds, or any cell by more than a tenth, or whose samples lie tenfold apart; the notes name each. Group commit alone may be exceeded, for a broker's writers need not wait for each of their own.",
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
	shown := slices.DeleteFunc(slices.Clone(resources), func(r resource) bool { return !v.usedBy(r, e) })
	for _, r := range shown {
		t.Columns = append(t.Columns, num(r.name, "% used"))
	}
	t.Columns = append(t.Columns, text("bound by"))
	var keys []chart.Key
	used := map[string]bool{}
	for _, cell := range ordered(e) {
		if cell.Interval(dataset.Produce).N == 0 {
			continue
		}
		_, label := rowName(cell)
		bound, beside := v.boundWord(cell)
		bounds[bound]++
		row := chart.Row{Group: rowGroup(cell), Label: label, Bold: cell.Base, Note: bound}
		line := []Cell{nameCell(e, cell)}
		tip := []string{axes(cell, e.Axes)}
		for _, r := range shown {
			value := median(cell, func(run result.Run) float64 { return r.used(v, cell, run) })
			if value <= 0 {
				line = append(line, number(nan, ""))
				continue
			}
			if r.limit != nil && v.noCeiling(r.limit, cell) != "" {
				line = append(line, number(value*100, fmt.Sprintf("(%.0f)", value*100)))
				continue
			}
			line = append(line, number(value*100, fmt.Sprintf("%.0f", value*100)))
			row.Marks = append(row.Marks, chart.Mark{Value: value, Ink: r.ink, Shape: r.shape})
			tip = append(tip, fmt.Sprintf("%s %.0f %%", r.name, value*100))
			used[r.name] = true
		}
		row.Tip = strings.Join(tip, "; ")
		c.Rows = append(c.Rows, row)
		t.add(baseClass(cell), append(line, word(bound).small(beside))...)
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
	return middleOf(values)
}

// middleOf is the median of values, which it sorts.
func middleOf(values []float64) float64 {
	sort.Float64s(values)
	return dataset.Median(values)
}

// unknownBound is what run.json has where the harness could not tell.
const unknownBound = "unknown"

// boundBy is what bound most of a cell's usable runs.
func boundBy(c *dataset.Cell) string {
	count := map[string]int{}
	for _, r := range c.Usable {
		if r.BoundBy == "schedule" && !keptUp(r) {
			count[unknownBound]++ // it did not take the rate, so the rate did not bound it
			continue
		}
		count[r.BoundBy]++
	}
	best := unknownBound
	for name, n := range count {
		if name != "" && (n > count[best] || n == count[best] && name < best) {
			best = name
		}
	}
	return best
}

// nearLimit is the share of a calibrated limit from which a cell of which the harness
// could not tell is bound by it.
const nearLimit = 0.9

// mostUsed is the resource of the produce window of which a cell used the largest share;
// nil where it used none.
func (v *view) mostUsed(c *dataset.Cell) (best *resource, most float64) {
	for i, r := range resources {
		if r.limit == methodCeiling || r.limit == groupCeiling || r.limit != nil && v.noCeiling(r.limit, c) != "" {
			continue // of the other window, may be exceeded, or no limit
		}
		if used := median(c, func(run result.Run) float64 { return r.used(v, c, run) }); used > most {
			best, most = &resources[i], used
		}
	}
	return best, most
}

// boundWord is what bound a cell in words. Of one of which the harness could not tell it
// is the calibrated limit that it came near to; else beside stands what it used most of.
func (v *view) boundWord(c *dataset.Cell) (word, beside string) {
	bound := boundBy(c)
	most, used := v.mostUsed(c)
	if bound != unknownBound || most == nil {
		return boundName(bound), ""
	}
	name := strings.TrimSuffix(most.name, ", producing")
	if most.limit != nil && used >= nearLimit {
		return "the " + name, share100(used) + " of it"
	}
	return boundName(bound), name + ", " + share100(used)
}

// boundRule explains the words of boundName.
const boundRule = "A cell is bound by what most of its runs used up: the broker's or the client's processor time, waiting for the disk or for each other, the offered rate, the byte bound; \"not told\" where none of them stands out, nor a calibrated limit of which nine tenths were in use. Beside that stands what the cell used most of: the rest of the time something waited for something else, and for what is not recorded."

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
	case unknownBound, "":
		return "not told"
	}
	return strings.ReplaceAll(bound, "_", " ")
}

// boundWords say what bound the cells, counted by the words for it, as far as that is
// known.
func boundWords(bounds map[string]int) string {
	type entry struct {
		name string
		n    int
	}
	var all []entry
	total := 0
	for name, n := range bounds {
		total += n
		if name != boundName(unknownBound) {
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
		parts[i] = fmt.Sprintf("%d by %s", e.n, e.name)
	}
	were := map[bool]string{true: " was bound", false: " were bound"}[all[0].n == 1]
	return fmt.Sprintf("How much of each limit every cell used; of %d %s, %s", total, plural(total, "cell"), strings.Replace(list(parts), " by", were+" by", 1))
}
