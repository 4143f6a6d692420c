package page

import (
	"fmt"
	"sort"

	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// across builds the panels over several invocations.
func across(set *dataset.Set) []Panel {
	var out []Panel
	for n, g := range set.Groups {
		if len(g.Invocations) < 2 {
			continue
		}
		m := maker{fmt.Sprintf("across-%d", n+1), "Same machine, several invocations", "", func(*view) (Panel, error) { return repeated(g) }}
		out = append(out, m.build(nil))
	}
	if len(set.Groups) > 1 {
		m := maker{"machines", "What differs between the machines", "", func(*view) (Panel, error) { return differences(set) }}
		out = append(out, m.build(nil))
	}
	return out
}

// repeated puts cells of the same configuration from several invocations of one
// machine on one axis. It gives no verdict: the invocations were not interleaved.
func repeated(g dataset.Group) (Panel, error) {
	p := Panel{
		Title: fmt.Sprintf("%d invocations of one machine, cells of equal configuration side by side", len(g.Invocations)),
		Lead:  "These invocations ran one after the other, not interleaved, so a difference between them may be the machine's drift; no verdict is given. `tidemark bench compare` gives one of two of them, unpaired, with the same caution.",
	}
	c := chart.Rows{
		Title: "records per second by invocation", Describe: "One row per cell and invocation: median with its interval.",
		X: chart.AxisSpec{Label: "records per second acknowledged", Format: chart.Count},
	}
	t := Table{Name: "cells of equal configuration", Columns: []Column{text("experiment"), text("cell"), text("invocation"), num("median", "records/s"), num("low", "records/s"), num("high", "records/s"), num("n", "runs")}}
	var keys []chart.Key
	for n, inv := range g.Invocations {
		keys = append(keys, chart.Key{Label: inv.Name, Ink: chart.Series(n), Shape: chart.Shape(n % int(chart.Cross))})
	}
	for _, e := range g.Invocations[0].Experiments {
		for _, cell := range ordered(e) {
			if !everywhere(g, cell.ID) {
				continue
			}
			for n, inv := range g.Invocations {
				_, other := locate(inv, cell.ID)
				i := other.Interval(dataset.Produce)
				if i.N == 0 {
					continue
				}
				label := ""
				if n == 0 {
					label = cellName(e, cell)
				}
				c.Rows = append(c.Rows, chart.Row{Group: heading(e), Label: label, Value: estimate(i), Ink: chart.Series(n), Shape: keys[n].Shape, Tip: fmt.Sprintf("%s, %s: %s %s", inv.Name, cellName(e, cell), chart.Count(i.Median), bracket(i, chart.Count))})
				t.add("", word(e.Name), word(axes(cell, e.Axes)), word(inv.Name), number(i.Median, chart.Count(i.Median)), number(i.Low, chart.Count(i.Low)), number(i.High, chart.Count(i.High)), number(float64(i.N), fmt.Sprint(i.N)))
			}
		}
	}
	if len(c.Rows) == 0 {
		return Panel{}, &MissingError{"no cell has the same configuration in all of them"}
	}
	p.Figures, p.Tables = []Figure{draw("", keys, c)}, []Table{t}
	p.Caption = "Medians with the interval of each invocation."
	return p, nil
}

func everywhere(g dataset.Group, id string) bool {
	for _, inv := range g.Invocations {
		if _, c := locate(inv, id); c == nil {
			return false
		}
	}
	return true
}

func locate(inv *dataset.Invocation, id string) (*dataset.Experiment, *dataset.Cell) {
	for _, e := range inv.Experiments {
		if c := e.Cell(id); c != nil {
			return e, c
		}
	}
	return nil, nil
}

// differences lists the facts in which the machines of several groups differ, which
// is why their figures stand apart.
func differences(set *dataset.Set) (Panel, error) {
	p := Panel{
		Title: fmt.Sprintf("%d machines that must not be compared directly", len(set.Groups)),
		Lead:  "Hardware, kernel or file system differ, so each has its own panels below and no shared axis.",
		Open:  true,
	}
	t := Table{Name: "facts that differ", Columns: []Column{text("fact")}}
	values := map[string][]string{}
	var names []string
	for n, g := range set.Groups {
		t.Columns = append(t.Columns, text(g.Invocations[0].Name))
		env := g.Invocations[0].Env
		if env == nil {
			continue
		}
		for _, f := range facts(env) {
			name := f.part + ": " + f.name
			if values[name] == nil {
				values[name] = make([]string, len(set.Groups))
				names = append(names, name)
			}
			values[name][n] = f.value
		}
	}
	sort.Strings(names)
	for _, name := range names {
		line := []Cell{word(name)}
		differ := false
		for _, value := range values[name] {
			line = append(line, word(orUnknown(value)))
			differ = differ || value != values[name][0]
		}
		if differ {
			t.add("", line...)
		}
	}
	p.Tables = []Table{t}
	return p, nil
}
