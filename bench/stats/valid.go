package stats

import "tidemark/bench/result"

// validOnly keeps the valid runs of usable ones; some is true where it left any out.
func validOnly(runs []result.Run) (valid []result.Run, some bool) {
	for _, r := range runs {
		if r.Status == result.Valid {
			valid = append(valid, r)
		}
	}
	return valid, len(valid) < len(runs)
}

// medianOf is a figure's median over runs with its interval; N is 0 where none has it.
func medianOf(runs []result.Run, m metric) result.Interval {
	var values []float64
	for i := range runs {
		if v, ok := m.value(&runs[i]); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return result.Interval{How: "none"}
	}
	i, ok := MedianInterval(values)
	how := "order_statistic"
	if !ok {
		how = "min_max"
	}
	return result.Interval{N: len(values), Median: i.Center, Center: result.CenterMedian, Low: i.Low, High: i.High, How: how}
}

// medianOfValid is the same of the valid runs alone, beside that of all usable ones; nil
// where all are valid, and where too few are for a verdict.
func medianOfValid(runs []result.Run, m metric) *result.Interval {
	valid, some := validOnly(runs)
	return enough(medianOf(valid, m), some)
}

// ratioOfValid is a ratio over the blocks whose two runs are valid, likewise.
func ratioOfValid(cell, base []result.Run, m metric) *result.Interval {
	cell, some := validOnly(cell)
	base, others := validOnly(base)
	logs := logRatios(cell, base, m)
	if len(logs) == 0 {
		return nil
	}
	ratio, _ := paired(logs)
	return enough(ratio, some || others)
}

// enough is the interval of the valid runs where there are others beside them, and these
// could carry a verdict.
func enough(i result.Interval, beside bool) *result.Interval {
	if !beside || i.N < LeastN {
		return nil
	}
	return &i
}
