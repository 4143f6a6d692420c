package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tidemark/bench/result"
	"tidemark/bench/run"
	"tidemark/bench/stats"
	"tidemark/bench/workload"
)

// newTable is a table that renderWithin prints.
func newTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	return t
}

func printPlan(w io.Writer, p result.Plan) error {
	for _, e := range p.Experiments {
		fmt.Fprintf(w, "%s — %s, %s design, %s. %s\n", e.Name, e.Kind, e.Design, blocks(e.Blocks), e.About)
		t := newTable()
		t.AppendHeader(table.Row{"cell", "", "driver", "target", "s/run", "written/run"})
		for _, c := range e.Cells {
			t.AppendRow(table.Row{c.ID, c.Label, c.Driver, c.Target, fmt.Sprintf("%.1f", c.SecondsPerRun), gigabytes(c.BytesPerRun)})
		}
		if err := render(w, t, 2); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if r := p.Trials; r != nil {
		fmt.Fprintf(w, "trials — %d × %s of the cells of %s at once, each at %s/s of %s, about %.1f s a trial\n\n", r.Count, result.FaultWords(r.Fault), r.Of,
			count(float64(r.RecordsPerS)), workload.FormatSize(r.RecordBytes), r.SecondsPerTrial)
	}
	t := p.Totals
	_, err := fmt.Fprintf(w, "%s, about %s (and %s of calibration)\nwrites up to about %s in all, %s at one time: a slower machine writes less in the same windows\n",
		runsOf(p), minutes(t.Seconds), minutes(calibrationSeconds), gigabytes(t.BytesWritten), gigabytes(t.PeakBytes))
	return err
}

func blocks(n int) string {
	if n == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", n)
}

// runsOf says what a plan does, trials included.
func runsOf(p result.Plan) string {
	text := fmt.Sprintf("%d runs of %d cells", p.Totals.Runs, p.Totals.Cells)
	if p.Trials != nil {
		text += fmt.Sprintf(" and %d trials", p.Trials.Count)
	}
	return text
}

// calibrationSeconds is about what calibration takes.
const calibrationSeconds = 40

// printSummary is the table at the end of a run.
func printSummary(w io.Writer, s *run.Summary) error {
	if s.Compare != nil {
		if err := printCells(w, s.Compare); err != nil {
			return err
		}
	}
	if s.Durability != nil {
		printDurability(w, s.Durability)
	}
	fmt.Fprintf(w, "%d of %d runs done in %s", s.Done, s.Planned, minutes(s.Seconds))
	for _, part := range []struct {
		n    int
		what string
	}{{s.Degraded, "degraded"}, {s.Invalid, "invalid"}, {s.Failed, "failed"}} {
		if part.n > 0 {
			fmt.Fprintf(w, ", %d %s", part.n, part.what)
		}
	}
	if s.Interrupted {
		fmt.Fprint(w, "; stopped early")
	}
	fmt.Fprintf(w, "\nresults  %s\n", s.Folder)
	if s.Report != "" {
		fmt.Fprintf(w, "report   %s\n", s.Report)
	}
	return nil
}

// cellMetric names a figure of a cell.
type cellMetric struct{ cell, metric string }

// cellFigures are all figures of a comparison, and their verdicts.
type cellFigures struct {
	cells map[cellMetric]result.CellStats
	pairs map[cellMetric]result.Pair
}

func figuresOf(c *result.Compare) cellFigures {
	f := cellFigures{map[cellMetric]result.CellStats{}, map[cellMetric]result.Pair{}}
	for _, s := range c.Cells {
		f.cells[cellMetric{s.Cell, s.Metric}] = s
	}
	for _, p := range c.Pairs {
		f.pairs[cellMetric{p.Cell, p.Metric}] = p
	}
	return f
}

// row is a line of a table of burst or paced cells, with the verdicts.
func (f cellFigures) row(s *result.CellStats) table.Row {
	get := func(metric string) string {
		k := cellMetric{s.Cell, metric}
		return figure(f.cells[k], f.pairs[k])
	}
	if s.Kind == result.Paced {
		offered := figure(f.cells[cellMetric{s.Cell, result.MetricProduce}], result.Pair{}) // a given rate is no finding
		return table.Row{s.Label, s.Interval.N, offered, get(result.MetricP50), get(result.MetricP99), get(result.MetricE2EP99)}
	}
	return table.Row{s.Label, s.Interval.N, get(result.MetricProduce), get(result.MetricFetch), get(result.MetricProduceCost)}
}

// cellsByExperiment are the cells as they come, one figure for each, by experiment.
func cellsByExperiment(c *result.Compare) (experiments [][]result.CellStats) {
	seen := map[string]bool{}
	for _, s := range c.Cells {
		if seen[s.Cell] {
			continue
		}
		seen[s.Cell] = true
		last := len(experiments) - 1
		if last < 0 || experiments[last][0].Experiment != s.Experiment {
			experiments = append(experiments, nil)
			last++
		}
		experiments[last] = append(experiments[last], s)
	}
	return experiments
}

// printCells shows every cell with its intervals and its verdicts against the
// base cell of its experiment.
func printCells(w io.Writer, c *result.Compare) error {
	figures := figuresOf(c)
	for _, cells := range cellsByExperiment(c) {
		t := newTable()
		t.Style().Box.PaddingLeft = "" // the line is long enough
		t.SetTitle("%s (%s)", cells[0].Experiment, cells[0].Kind)
		if cells[0].Kind == result.Paced {
			t.AppendHeader(table.Row{"cell", "n", "produce records/s", "response p50", "response p99", "end to end p99"})
		} else {
			t.AppendHeader(table.Row{"cell", "n", "produce records/s", "fetch records/s", "broker core-s per million"})
		}
		for _, s := range cells {
			t.AppendRow(figures.row(&s))
		}
		if err := render(w, t, 1); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	notes := c.Notes
	if len(c.Pairs) > 0 {
		notes = append([]string{"Changes are the mean ratio to the base within the same block, not the ratio of the medians beside them."}, notes...)
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, "!", note); err != nil {
			return err
		}
	}
	return nil
}

// figure is a median with its interval, and a verdict where there is one.
func figure(s result.CellStats, p result.Pair) string {
	if s.Interval.N == 0 {
		return "-"
	}
	out := interval(s.Metric, s.Interval)
	if p.N > 0 {
		out += "  " + verdict(p)
	}
	return out
}

// printPairs shows the comparison of two folders, a table for each experiment and metric.
func printPairs(w io.Writer, c *result.Compare, columns int) error {
	fmt.Fprintf(w, "A %s\nB %s\n", c.A, c.B)
	for first := 0; first < len(c.Pairs); {
		end, experiment, metric := first, c.Pairs[first].Experiment, c.Pairs[first].Metric
		for end < len(c.Pairs) && c.Pairs[end].Experiment == experiment && c.Pairs[end].Metric == metric {
			end++
		}
		t := newTable()
		t.AppendHeader(table.Row{"cell", "n", "B ÷ A", "interval", "verdict", "would decide"})
		for _, p := range c.Pairs[first:end] {
			t.AppendRow(pairRow(p))
		}
		fmt.Fprintf(w, "\n%s, %s\n", experiment, metric)
		if err := renderWithin(w, t, columns, 1); err != nil {
			return err
		}
		first = end
	}
	notes := append([]string{"Intervals are of 95 %, those in parentheses from the lowest to the highest."}, c.Notes...)
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, "!", note); err != nil {
			return err
		}
	}
	return nil
}

// pairRow is one comparison.
func pairRow(p result.Pair) table.Row {
	need := "-"
	switch p.Verdict {
	case result.Undecided:
		need = needed(p.NeedN)
	case result.TooFew:
		need = fmt.Sprintf("n≥%d", stats.LeastN)
	}
	bounds := fmt.Sprintf("%.3f – %.3f", p.Ratio.Low, p.Ratio.High)
	if p.Ratio.How == "min_max" {
		bounds = "(" + bounds + ")"
	}
	return table.Row{p.Label, p.N, fmt.Sprintf("%.3f", p.Ratio.Median), bounds, verdict(p), need}
}

// needed is how many blocks or runs would decide what is undecided.
func needed(n int) string {
	switch {
	case n == 0:
		return "no number"
	case n > stats.MostNeed:
		return fmt.Sprintf("n>%d", stats.MostNeed)
	}
	return fmt.Sprintf("n≈%d", n)
}

// count writes a number with three digits and k, M or G.
func count(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f G", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func nanoseconds(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(ns)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func gigabytes(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
