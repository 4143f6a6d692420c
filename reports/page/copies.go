package page

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// strategySpectra are the response times of every strategy, solid with both
// followers well, dashed with one slow.
func (v *view) strategySpectra(e *dataset.Experiment) (Figure, error) {
	c := spectrumChart(heading(e)+": response time of every strategy", "response time")
	for _, cell := range byStrategy(e) {
		points, err := v.Spectrum(cell, result.HistResponse)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Figure{}, err
		}
		s := spectrumSeries(valueOf(e, cell, strategyAxis), points, 0)
		s.Ink = strategyInk(e, cell)
		if slowed(e, cell) {
			s.Name, s.Dashes = s.Name+", slow", []float64{5, 4}
		}
		c.Series = append(c.Series, s)
	}
	keys := []chart.Key{
		{Label: "both followers well", Ink: chart.Text, Shape: chart.None, Line: true},
		{Label: "one follower slow", Ink: chart.Text, Shape: chart.None, Line: true, Dashes: []float64{5, 4}},
	}
	return draw(heading(e)+" · response time", keys, c), nil
}

// strategyTable is the data behind strategyChart.
func strategyTable(e *dataset.Experiment) Table {
	t := Table{Name: heading(e), Columns: []Column{text("strategy"), text("followers"), num("throughput", "records/s"), num("low", ""), num("high", ""),
		num("of both well", "paired, per block"), num("low", ""), num("high", ""), num("broker CPU", "core-s per GB"), num("n", "runs")}}
	for _, c := range byStrategy(e) {
		i := c.Interval(dataset.Produce)
		t.add("", append(append(strategyCells(e, c), estimateCells(i, chart.Count)...),
			append(shareCells(e, c, dataset.Produce), plain(c.Interval(dataset.ProduceCostGB).Median), number(float64(i.N), fmt.Sprint(i.N)))...)...)
	}
	return t
}

// overtaking is the share of the offered rate beyond which what was due before the
// window was acknowledged in it.
const overtaking = 1.01

// strategyLatencies is the table of the paced cells.
func strategyLatencies(e *dataset.Experiment) Table {
	t := Table{Name: heading(e), About: "Response times count from the instant at which a record was due. Where less than the offered rate was acknowledged they are those of a queue that grows.",
		Columns: []Column{text("strategy"), text("followers"), num("offered", "records/s"), num("acknowledged", "share"),
			lasting("p50"), lasting("low"), lasting("high"), lasting("p99"), lasting("low"), lasting("high"), num("p99 of both well", "paired, per block"), num("low", ""), num("high", ""), num("n", "runs")}}
	most := 0.0
	for _, c := range byStrategy(e) {
		taken, _ := achieved(c)
		p50, p99 := c.Interval(dataset.P50), c.Interval(dataset.P99)
		most = max(most, taken)
		line := append(strategyCells(e, c), number(offered(c), chart.Count(offered(c))), number(taken, chart.Percent(taken)))
		line = append(append(line, estimateCells(p50, chart.Nanoseconds)...), estimateCells(p99, chart.Nanoseconds)...)
		t.add("", append(append(line, shareCells(e, c, dataset.P99)...), number(float64(p99.N), fmt.Sprint(p99.N)))...)
	}
	if most > overtaking {
		t.About += " More than all of it was acknowledged where records that were due during the warm-up had waited for the slow follower, and had their answers within the window."
	}
	return t
}

func strategyCells(e *dataset.Experiment, c *dataset.Cell) []Cell {
	return []Cell{word(valueOf(e, c, strategyAxis)), word(followers(e, c))}
}

// estimateCells are an estimate and its bounds.
func estimateCells(i result.Interval, f chart.Format) []Cell {
	if i.N == 0 {
		return []Cell{number(nan, ""), number(nan, ""), number(nan, "")}
	}
	return []Cell{number(i.Median, f(i.Median)), number(i.Low, f(i.Low)), number(i.High, f(i.High))}
}

// shareCells are a cell's ratio to its twin, with bounds.
func shareCells(e *dataset.Experiment, c *dataset.Cell, m dataset.Metric) []Cell {
	t := twin(e, c)
	if t == nil {
		return estimateCells(result.Interval{}, nil)
	}
	return estimateCells(dataset.Ratio(c, t, m), func(v float64) string { return fmt.Sprintf("%.3f", v) })
}

// copiesTable is what each number of replicas takes and costs.
func copiesTable(e *dataset.Experiment) Table {
	t := Table{Name: heading(e), About: e.About, Columns: []Column{num(replicasAxis, ""), num("throughput", "records/s"), num("low", ""), num("high", ""),
		num("broker CPU", "core-s per GB produced"), num("low", ""), num("high", ""), num("CPU against base", "paired, per block"), num("low", ""), num("high", ""), num("n", "runs")}}
	for _, c := range along(e, replicasAxis) {
		line := []Cell{word(valueOf(e, c, replicasAxis))}
		line = append(append(line, estimateCells(c.Interval(dataset.Produce), chart.Count)...), estimateCells(c.Interval(dataset.ProduceCostGB), chart.Plain)...)
		ratio := result.Interval{}
		if !c.Base {
			ratio = dataset.Ratio(c, e.Base, dataset.ProduceCost)
		}
		line = append(line, estimateCells(ratio, func(v float64) string { return fmt.Sprintf("%.2f", v) })...)
		n := c.Interval(dataset.ProduceCost).N
		t.add(baseClass(c), append(line, number(float64(n), fmt.Sprint(n)))...)
	}
	return t
}

// copiesWords says what copies cost in processor time.
func copiesWords(e *dataset.Experiment) string {
	for _, c := range along(e, replicasAxis) {
		if c.Base {
			continue
		}
		if i := dataset.Ratio(c, e.Base, dataset.ProduceCost); i.N > 0 {
			of, base := valueOf(e, c, replicasAxis), valueOf(e, e.Base, replicasAxis)
			if !differs(i) {
				return fmt.Sprintf("no difference is shown between the processor time of %s replicas and of %s (%s; %s)", of, base, times(i.Median), bounds(i, times))
			}
			return fmt.Sprintf("%s replicas cost %s (%s) the processor time of %s", of, times(i.Median), bounds(i, times), base)
		}
	}
	return ""
}

// copiesNote is the same with its interval.
func copiesNote(e *dataset.Experiment) string {
	for _, c := range along(e, replicasAxis) {
		if c.Base {
			continue
		}
		if i := dataset.Ratio(c, e.Base, dataset.ProduceCost); i.N > 0 {
			return fmt.Sprintf("%s: %s (%s), %s and per GB produced.", e.Name, copiesWords(e), how(i), cmp.Or(whoseTime(e), "of the broker"))
		}
	}
	return ""
}

// replication are the sentences of the conclusion on copies and slow followers.
func replication(v *view) []Statement {
	title := replicationTitle(v)
	if title == "" {
		return nil
	}
	return []Statement{{Subject: "replication", Kind: "measured", Text: title + "."}}
}
