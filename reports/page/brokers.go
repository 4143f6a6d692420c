package page

import (
	"strings"

	"tidemark/reports/dataset"
)

// clustered reports whether a cell runs on several brokers, whose metadata store is a
// process of its own; that of a single broker is part of it.
func clustered(c *dataset.Cell) bool {
	n := c.Config["brokers"]
	return n != "" && n != "1"
}

// storeCounted reports whether the processor time of an experiment's cells holds that of
// their metadata store in every run; clusters have had it since it is recorded.
func storeCounted(e *dataset.Experiment) bool {
	for _, c := range e.Cells {
		for _, r := range c.Usable {
			if clustered(c) && r.Produce != nil && r.Produce.CPU.StoreNs == nil {
				return false
			}
		}
	}
	return true
}

// whoseTime says of what an experiment's processor time is; empty where that is one
// broker and nothing beside it.
func whoseTime(e *dataset.Experiment) string {
	for _, c := range e.Cells {
		switch {
		case !clustered(c):
		case storeCounted(e):
			return "of all brokers and their metadata store"
		default:
			return "of all brokers without their metadata store"
		}
	}
	return ""
}

// costNoun is how a sentence speaks of it.
func costNoun(e *dataset.Experiment) string {
	if of := whoseTime(e); of != "" {
		return "CPU per record " + of
	}
	return "broker CPU per record"
}

// uncounted bounds what is said of clusters whose metadata store was not measured.
func uncounted(v *view) string {
	var names []string
	for _, e := range v.experiments(func(e *dataset.Experiment) bool { return measured(e, dataset.ProduceCost) && !storeCounted(e) }) {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return "Processor time in " + list(names) + " leaves out the metadata store, a process of its own: a cell that asks more of the store seems cheaper than it is."
}

// whoseNote says of what the processor time in clusters is.
func whoseNote(exps []*dataset.Experiment) string {
	var parts []string
	for _, e := range exps {
		if of := whoseTime(e); of != "" {
			parts = append(parts, e.Name+", "+of)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Processor time is: in " + strings.Join(parts, "; in ") + "; never of a proxy mesh."
}
