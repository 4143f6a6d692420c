package page

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// timeline shows every sustained run second by second, so that a burst into the
// page cache cannot pass for a rate.
func timeline(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return e.Kind == result.Sustained && len(usable(e)) > 0 })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no sustained cell was run"}
	}
	p := Panel{
		Lead:    "One line per run, one point per interval of the run's own record. The first seconds fill the page cache; what follows shows how much of that rate remains.",
		Caption: "Acknowledged records per second of each interval of the produce phase, warm-up included and shaded, no smoothing. The dashed line is what the disk takes with O_DIRECT in writes of 1 MiB, in records of the base cell.",
	}
	for _, e := range exps {
		fig, table, err := v.overTime(e)
		if err != nil {
			return p, err
		}
		p.Figures, p.Tables = append(p.Figures, fig), append(p.Tables, table)
		slow, err := v.slowSeconds(e)
		if err != nil {
			return p, err
		}
		p.Notes = append(append(p.Notes, slow...), deletions(e)...)
		if p.Title == "" {
			p.Title = v.courseTitle(e)
		}
	}
	return p, nil
}

// courseTitle tells how the first cell went that has a course; empty where none has one.
func (v *view) courseTitle(e *dataset.Experiment) string {
	for _, c := range ordered(e) {
		if courses := v.courses(c); len(courses) > 0 {
			return capital(cellName(e, c)) + ": " + courseWords(courses)
		}
	}
	return ""
}

func usable(e *dataset.Experiment) []result.Run {
	var out []result.Run
	for _, c := range e.Cells {
		out = append(out, c.Usable...)
	}
	return out
}

func (v *view) overTime(e *dataset.Experiment) (Figure, Table, error) {
	c := chart.Lines{
		Title:    heading(e) + ": records per second over time",
		Describe: "Acknowledged records per second in each interval, one line per run.",
		X:        chart.AxisSpec{Label: "seconds since the start of the run"},
		Y:        chart.AxisSpec{Label: "records per second", Format: chart.Count, Min: 0, Max: nan},
		Size:     chart.Size{Width: chart.Wide.Width, Height: 340},
	}
	t := Table{Name: heading(e), Columns: []Column{
		text("cell"), num("block", ""), num("second", "s"), text("phase"), num("acknowledged", "records/s"), num("consumed", "records/s"), num("wire", "MB/s"), num("broker memory", "MiB"), num("acknowledged, not synced", "records"),
	}}
	var missing error
	warm := 0.0
	for n, cell := range ordered(e) {
		for i, r := range cell.Usable {
			rows, err := v.Series(r)
			if errors.Is(err, fs.ErrNotExist) {
				missing = err
				continue
			}
			if err != nil {
				return Figure{}, t, err
			}
			s := chart.LineSeries{Name: cellName(e, cell), Ink: chart.Series(n), Shape: chart.None, Label: i == 0, Thin: len(cell.Usable) > 1}
			for _, row := range rows {
				second(&t, cellName(e, cell), r.Block, row)
			}
			for _, row := range underLoad(rows) {
				s.Points = append(s.Points, chart.At(middle(row), perSecond(row.Acked, row)))
				if row.Phase == "warmup" {
					warm = math.Max(warm, float64(row.TMs)/1000)
				}
			}
			c.Series = append(c.Series, s)
		}
	}
	if len(c.Series) == 0 && missing != nil {
		return Figure{}, t, fmt.Errorf("no run has a series: %w", missing)
	}
	if warm > 0 {
		c.Bands = []chart.Band{{From: 0, To: warm, Label: "warm-up"}}
	}
	c.Rules = v.sustainable(e)
	return draw(heading(e), nil, c), t, nil
}

// sustainable is the rate at which the disk alone takes records of the base cell.
func (v *view) sustainable(e *dataset.Experiment) []chart.Rule {
	cell := reference(e)
	l, ok := v.Calib.Get(result.LimitDirect1M)
	if cell == nil || !ok {
		return nil
	}
	per := wirePerRecord(cell, producedWindow)
	if per <= 0 {
		return nil
	}
	return []chart.Rule{{Value: l.Value / per, Label: "O_DIRECT " + chart.ByteRate(l.Value)}}
}

// cellName is a cell's short name in a legend.
func cellName(e *dataset.Experiment, c *dataset.Cell) string {
	group, label := rowName(c)
	switch {
	case c.Base && len(e.Cells) == 1 && c.Label != "":
		return c.Label
	case group != "" && group != "several at once":
		return group + "=" + label
	}
	return label
}

func middle(r result.Row) float64 { return (float64(r.TMs) - float64(r.LengthMs)/2) / 1000 }

func perSecond(n int64, r result.Row) float64 { return float64(n) / float64(r.LengthMs) * 1000 }

func second(t *Table, cell string, block int, r result.Row) {
	if r.LengthMs <= 0 {
		return
	}
	acked, consumed := perSecond(r.Acked, r), perSecond(r.Consumed, r)
	wire := perSecond(r.WireBytes, r) / 1e6
	rss := float64(r.BrokerRSS) / (1 << 20)
	debt := nan
	if r.Debt >= 0 {
		debt = float64(r.Debt)
	}
	t.add("", word(cell), number(float64(block), fmt.Sprint(block)), number(float64(r.TMs)/1000, fmt.Sprintf("%.2f", float64(r.TMs)/1000)), word(r.Phase),
		number(acked, chart.Count(acked)), number(consumed, chart.Count(consumed)), number(wire, chart.Plain(wire)), number(rss, chart.Plain(rss)), number(debt, chart.Count(debt)))
}
