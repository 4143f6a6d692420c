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
