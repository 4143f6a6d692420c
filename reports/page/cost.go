package page

import (
	"fmt"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// cost shows the broker's processor time per million records and per 10⁹ bytes.
func cost(v *view) (Panel, error) {
	exps := v.experiments(func(e *dataset.Experiment) bool { return saturating(e) && measured(e, dataset.ProduceCost) })
	if len(exps) == 0 {
		return Panel{}, &MissingError{"no saturating cell of this invocation has the broker's processor time"}
	}
	p := Panel{
		Title: seen(exps, dataset.ProduceCost, "broker processor time per record produced"),
		Lead:  "User and system time of the broker within the measured window. Less is better. The client's own time is in the table.",
	}
	var cells []*dataset.Cell
	for _, e := range exps {
		for _, f := range []struct {
			m     dataset.Metric
			label string
		}{
			{dataset.ProduceCost, "produce: core-seconds per million records"},
			{dataset.ProduceCostGB, "produce: core-seconds per GB on the wire"},
			{dataset.FetchCost, "fetch: core-seconds per million records"},
			{dataset.FetchCostGB, "fetch: core-seconds per GB on the wire"},
		} {
			if measured(e, f.m) {
				p.Figures = append(p.Figures, halfChart(e, f.m, f.label, chart.Plain))
			}
		}
		p.Notes = noted(p.Notes, outliers(e, dataset.ProduceCost, chart.Plain))
		p.Tables = append(p.Tables, costTable(e))
		cells = append(cells, e.Cells...)
	}
	p.Notes = noted(p.Notes, whoseNote(exps))
	p.Notes = noted(p.Notes, beforehandNote(v, exps))
	p.Caption = caption(cells, dataset.ProduceCost) + " Marks show the verdict against the base; costs per GB are shown without a verdict. 1 GB is 10⁹ bytes of batches."
	return p, nil
}

func costTable(e *dataset.Experiment) Table {
	t := Table{Name: heading(e), Columns: []Column{
		text("cell"),
		num("produce", "core-s per M records"), num("low", ""), num("high", ""), num("produce", "core-s per GB"),
		num("fetch", "core-s per M records"), num("fetch", "core-s per GB"),
		num("client, produce", "core-s per M records"), num("n", "runs"), paired("verdict, produce"),
	}}
	for _, c := range ordered(e) {
		i := c.Interval(dataset.ProduceCost)
		if i.N == 0 {
			continue
		}
		client := median(c, func(r result.Run) float64 {
			if r.Produce == nil || r.Produce.Acked == 0 {
				return 0
			}
			return float64(r.Produce.CPU.ClientNs()) / 1e3 / float64(r.Produce.Acked)
		})
		said := word("not compared")
		if p, ok := c.Pair(dataset.ProduceCost); ok {
			said = word(verdict(dataset.ProduceCost.Name, p)).class(string(p.Verdict))
		} else if c.Base {
			said = word("base")
		}
		t.add(baseClass(c), nameCell(e, c), plain(i.Median), plain(i.Low), plain(i.High),
			plain(c.Interval(dataset.ProduceCostGB).Median), plain(c.Interval(dataset.FetchCost).Median), plain(c.Interval(dataset.FetchCostGB).Median),
			plain(client), number(float64(i.N), fmt.Sprint(i.N)), said)
	}
	return t
}

func plain(v float64) Cell {
	if v <= 0 {
		return number(nan, "")
	}
	return number(v, chart.Plain(v))
}

// seenAlong is the heading for one axis: the largest effect shown along it.
func seenAlong(e *dataset.Experiment, axis, quantity string) string {
	part := *e
	part.Cells = along(e, axis)
	return seen([]*dataset.Experiment{&part}, dataset.Produce, quantity)
}
