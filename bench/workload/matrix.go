package workload

import (
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
