package workload

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/bench/result"
)

// design lists the configs of the matrix, the base first.
func (e *Experiment) design(base map[string]string, axes []result.Axis) ([]map[string]string, error) {
	switch e.Matrix.Design.Value {
	case "", "oneway":
		configs := []map[string]string{base}
		for _, a := range axes {
			for _, v := range a.Values[1:] {
				configs = append(configs, with(base, a.Name, v))
			}
		}
		return configs, nil
	case "full":
		configs := []map[string]string{base}
		for _, a := range axes {
			var next []map[string]string
			for _, c := range configs {
				for _, v := range a.Values {
					next = append(next, with(c, a.Name, v))
				}
			}
			if configs = next; len(configs) > maxCells {
				return nil, errorAt(e.Name.token, "experiment %s has more than %d cells", e.Name.Value, maxCells)
			}
		}
		return configs, nil
	case "pairwise":
		return pairwise(base, axes), nil
	case "list":
		return []map[string]string{base}, nil
	}
	designs := []string{"oneway", "full", "pairwise", "list"}
	return nil, errorAt(e.Matrix.Design.token, "unknown design %q%s", e.Matrix.Design.Value, didYouMean(e.Matrix.Design.Value, designs))
}

func with(config map[string]string, k, v string) map[string]string {
	out := maps.Clone(config)
	out[k] = v
	return out
}

// pairwise covers every pair of values of two axes, greedily: each row takes the
// values that cover most pairs still open.
func pairwise(base map[string]string, axes []result.Axis) []map[string]string {
	open := allPairs(axes)
	configs := []map[string]string{base}
	open.cover(make([]int, len(axes)))
	for len(open) > 0 {
		row := open.row(axes)
		open.cover(row)
		config := base
		for a, v := range row {
			config = with(config, axes[a].Name, axes[a].Values[v])
		}
		configs = append(configs, config)
	}
	return configs
}

// pair is a value of one axis together with one of a later axis, by their indexes.
type pair struct{ a, av, b, bv int }

// compare orders pairs by their axes, then by their values.
func (p pair) compare(q pair) int {
	return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b), cmp.Compare(p.av, q.av), cmp.Compare(p.bv, q.bv))
}

// pairs are those that no row covers yet. A row has the index of a value per axis.
type pairs map[pair]bool

func allPairs(axes []result.Axis) pairs {
	open := pairs{}
	for a := range axes {
		for b := a + 1; b < len(axes); b++ {
			for av := range axes[a].Values {
				for bv := range axes[b].Values {
					open[pair{a, av, b, bv}] = true
				}
			}
		}
	}
	return open
}

func (open pairs) cover(row []int) {
	for a := range row {
		for b := a + 1; b < len(row); b++ {
			delete(open, pair{a, row[a], b, row[b]})
		}
	}
}

// gain is how many pairs a row would cover with the axis given and those before it.
func (open pairs) gain(row []int, axis int) (n int) {
	for a := range axis {
		if open[pair{a, row[a], axis, row[axis]}] {
			n++
		}
	}
	return n
}

// row chooses the next row. It starts from the first pair still open, so that every
// row covers one.
func (open pairs) row(axes []result.Axis) []int {
	first := slices.MinFunc(slices.Collect(maps.Keys(open)), pair.compare)
	row := make([]int, len(axes))
	for a := range axes {
		best, most := -1, -1
		for v := range axes[a].Values {
			if a == first.a && v != first.av || a == first.b && v != first.bv {
				continue
			}
			row[a] = v
			if n := open.gain(row, a); n > most {
				best, most = v, n
			}
		}
		row[a] = best
	}
	return row
}
