package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"time"

	"tidemark/bench/result"
)

// maxCells bounds an experiment: more is a mistake in the matrix.
const maxCells = 4096

// expand resolves the experiment's settings and lists its cells.
func (e *Experiment) expand(d Defaults) error {
	base, err := e.baseConfig(d)
	if err != nil {
		return err
	}
	if e.Blocks == 0 {
		e.Blocks = max(1, d.Blocks)
	}
	if e.Blocks < 0 || e.Blocks > 1000 {
		return errorAt(e.Name.token, "experiment %s: blocks %d: want 1 to 1000", e.Name.Value, e.Blocks)
	}
	axes, err := e.resolveAxes(base)
	if err != nil {
		return err
	}
	configs, err := e.design(base, axes)
	if err != nil {
		return err
	}
	if configs, err = e.exclude(configs); err != nil {
		return err
	}
	if configs, err = e.include(base, configs); err != nil {
		return err
	}
	return e.makeCells(base, configs)
}

// baseConfig lays the built-in defaults, the suite's and the experiment's over
// each other.
func (e *Experiment) baseConfig(d Defaults) (map[string]string, error) {
	config := map[string]string{}
	for _, s := range Settings {
		config[s.Name] = s.Default
	}
	layers := []struct {
		section string
		entries Entries
	}{{"workload", d.Workload}, {"client", d.Client}, {"topic", d.Topic}, {"broker", d.Broker},
		{"workload", e.Workload}, {"client", e.Client}, {"topic", e.Topic}, {"broker", e.Broker}}
	for _, layer := range layers {
		for _, entry := range layer.entries {
			k, err := key(layer.section, entry.Name)
			if err != nil {
				return nil, err
			}
			if err := set(config, k, entry.Value); err != nil {
				return nil, err
			}
		}
	}
	return config, nil
}

// set checks a value and puts it in its canonical form.
func set(config map[string]string, k string, value Text) error {
	if s := find(k); s != nil {
		if err := s.check(value.Value); err != nil {
			return errorAt(value.token, "%s: %v", k, err)
		}
	}
	config[k] = canonical(k, value.Value)
	return nil
}

// canonical makes equal settings equal strings, so that they hash alike.
func canonical(k, value string) string {
	switch k {
	case "record.size", "bytes", "batch.size", "fetch.max.bytes":
		if n, err := ParseSize(value); err == nil {
			return FormatSize(n)
		}
	case "warmup", "window", "fetch", "interval", "drain":
		if d, err := time.ParseDuration(value); err == nil {
			return d.String()
		}
	case "acks":
		if value == "-1" {
			return "all"
		}
	}
	return value
}

func (e *Experiment) resolveAxes(base map[string]string) ([]result.Axis, error) {
	var axes []result.Axis
	for _, a := range e.Matrix.Axes {
		k, err := resolve(a.Name)
		if err != nil {
			return nil, err
		}
		axis := result.Axis{Name: k}
		probe := map[string]string{}
		for _, v := range a.Values {
			if err := set(probe, k, v); err != nil {
				return nil, err
			}
			for _, seen := range axis.Values {
				if seen == probe[k] {
					return nil, errorAt(v.token, "axis %s has %q twice", k, seen)
				}
			}
			axis.Values = append(axis.Values, probe[k])
		}
		base[k] = axis.Values[0]
		axes = append(axes, axis)
	}
	e.axes = axes
	return axes, nil
}

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

// pairwise covers every pair of values of two axes, greedily: each row takes the
// values that cover most pairs still open.
func pairwise(base map[string]string, axes []result.Axis) []map[string]string {
	type pair struct{ a, av, b, bv int }
	open := map[pair]bool{}
	for a := range axes {
		for b := a + 1; b < len(axes); b++ {
			for av := range axes[a].Values {
				for bv := range axes[b].Values {
					open[pair{a, av, b, bv}] = true
				}
			}
		}
	}
	cover := func(row []int) {
		for a := range row {
			for b := a + 1; b < len(row); b++ {
				delete(open, pair{a, row[a], b, row[b]})
			}
		}
	}
	gain := func(row []int, upTo int) (n int) {
		for a := range upTo {
			for b := a + 1; b <= upTo; b++ {
				if open[pair{a, row[a], b, row[b]}] {
					n++
				}
			}
		}
		return n
	}
	configs := []map[string]string{base}
	cover(make([]int, len(axes)))
	for len(open) > 0 {
		// Start from the first pair still open, so that every row covers one.
		first := pair{a: -1}
		for p := range open {
			if first.a < 0 || p.a < first.a || p.a == first.a && (p.b < first.b || p.b == first.b && (p.av < first.av || p.av == first.av && p.bv < first.bv)) {
				first = p
			}
		}
		row := make([]int, len(axes))
		for a := range axes {
			best := -1
			for v := range axes[a].Values {
				if a == first.a && v != first.av || a == first.b && v != first.bv {
					continue
				}
				row[a] = v
				if g := gain(row, a); best < 0 || g > gain(withIndex(row, a, best), a) {
					best = v
				}
			}
			row[a] = best
		}
		cover(row)
		config := base
		for a, v := range row {
			config = with(config, axes[a].Name, axes[a].Values[v])
		}
		configs = append(configs, config)
	}
	return configs
}

func withIndex(row []int, i, v int) []int {
	out := append([]int(nil), row...)
	out[i] = v
	return out
}

func with(config map[string]string, k, v string) map[string]string {
	out := make(map[string]string, len(config)+1)
	for name, value := range config {
		out[name] = value
	}
	out[k] = v
	return out
}

// exclude drops the configs that match every entry of a rule; the base stays.
func (e *Experiment) exclude(configs []map[string]string) ([]map[string]string, error) {
	for _, rule := range e.Matrix.Exclude {
		want := map[string]string{}
		for _, entry := range rule {
			k, err := resolve(entry.Name)
			if err != nil {
				return nil, err
			}
			if err := set(want, k, entry.Value); err != nil {
				return nil, err
			}
		}
		kept := configs[:1:1]
		for _, c := range configs[1:] {
			if !matches(c, want) {
				kept = append(kept, c)
			}
		}
		configs = kept
	}
	return configs, nil
}

func matches(config, want map[string]string) bool {
	for k, v := range want {
		if config[k] != v {
			return false
		}
	}
	return true
}

// include adds configs given as differences from the base.
func (e *Experiment) include(base map[string]string, configs []map[string]string) ([]map[string]string, error) {
	for _, entries := range e.Matrix.Include {
		config := with(base, "driver", base["driver"])
		for _, entry := range entries {
			k, err := resolve(entry.Name)
			if err != nil {
				return nil, err
			}
			if err := set(config, k, entry.Value); err != nil {
				return nil, err
			}
		}
		configs = append(configs, config)
	}
	return configs, nil
}

func (e *Experiment) makeCells(base map[string]string, configs []map[string]string) error {
	settle(base)
	seen := map[string]bool{}
	for _, config := range configs {
		settle(config)
		c := Cell{ID: cellID(e.Name.Value, config), Axes: differences(base, config), Config: config, Load: newLoad(config)}
		c.Base = len(c.Axes) == 0
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		c.Label = label(c.Axes)
		if c.Base {
			c.Label += e.baseRate(base)
		}
		if c.Load.Target == "external" && c.Load.Bootstrap == "" {
			return errorAt(e.Name.token, "experiment %s: target external needs bootstrap", e.Name.Value)
		}
		if err := c.Load.checkCluster(); err != nil {
			return errorAt(e.Name.token, "experiment %s: cell %s: %v", e.Name.Value, c.Label, err)
		}
		e.cells = append(e.cells, c)
	}
	if len(e.cells) > maxCells {
		return errorAt(e.Name.token, "experiment %s has more than %d cells", e.Name.Value, maxCells)
	}
	if e.Matrix.AA {
		double := e.cells[0]
		double.Base, double.AA, double.Label = false, true, "base again (A/A)"
		double.ID = cellID(e.Name.Value+" A/A", double.Config)
		e.cells = append(e.cells, double)
	}
	e.kind = KindOf(e.cells[0].Load)
	return nil
}

// baseRate is what a base cell's label needs beside "base" where the others differ in
// the offered rate: each of them is a point of a curve, and so is the base.
func (e *Experiment) baseRate(base map[string]string) string {
	for _, a := range e.axes {
		if a.Name == "rate" && len(a.Values) > 1 {
			return " rate=" + base["rate"]
		}
	}
	return ""
}

// settle fills in what follows from other settings.
func settle(config map[string]string) {
	if config["target"] == "auto" {
		switch config["driver"] {
		case "null":
			config["target"] = "none"
		case "log":
			config["target"] = "inproc"
		default:
			config["target"] = "process"
			if config["bootstrap"] != "" {
				config["target"] = "external"
			}
		}
	}
}

// KindOf says how a load is offered.
func KindOf(l Load) result.Kind {
	switch {
	case !l.Rate.Saturating():
		return result.Paced
	case l.Window >= time.Minute:
		return result.Sustained
	}
	return result.Burst
}

func differences(base, config map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range config {
		if base[k] != v {
			out[k] = v
		}
	}
	return out
}

func label(axes map[string]string) string {
	if len(axes) == 0 {
		return "base"
	}
	names := make([]string, 0, len(axes))
	for k := range axes {
		names = append(names, k)
	}
	sort.Strings(names)
	for i, k := range names {
		names[i] = k + "=" + axes[k]
	}
	return strings.Join(names, " ")
}

func cellID(experiment string, config map[string]string) string {
	names := make([]string, 0, len(config))
	for k, value := range config {
		if !slices.Contains(later, k) || value != find(k).Default {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	h := sha256.New()
	h.Write([]byte(experiment))
	for _, k := range names {
		h.Write([]byte{0})
		h.Write([]byte(k + "=" + config[k]))
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}
