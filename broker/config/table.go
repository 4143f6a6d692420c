package config

import (
	"fmt"
	"slices"

	"tidemark/internal/nearest"
)

// table holds every row; names and topicNames index it.
var table = slices.Concat(brokerDefs, topicDefs, cleanerDefs, groupDefs, transactionDefs, replicationDefs, ownDefs, ownReplicationDefs)

// entry is a row as found under one of its names.
type entry struct {
	def    *Def
	rank   int // 0 for the main name, then Others in order
	factor int64
}

var names, topicNames = index()

func index() (map[string]entry, map[string]*Def) {
	names, topicNames := map[string]entry{}, map[string]*Def{}
	for i := range table {
		d := &table[i]
		names[d.Name] = entry{def: d, factor: 1}
		for j, o := range d.Others {
			names[o.Name] = entry{def: d, rank: j + 1, factor: o.Factor}
		}
		if d.TopicName != "" {
			topicNames[d.TopicName] = d
		}
	}
	return names, topicNames
}

// Defs returns every row, Kafka's names first; the slice is the caller's.
func Defs() []Def { return slices.Clone(table) }

// TopicDefs returns the rows that a topic can override.
func TopicDefs() []Def {
	return slices.DeleteFunc(Defs(), func(d Def) bool { return d.TopicName == "" })
}

// Find returns the row of a broker name or of one of its other names.
func Find(name string) (Def, bool) {
	e, ok := names[name]
	if !ok {
		return Def{}, false
	}
	return *e.def, true
}

// FindTopic returns the row of a topic name.
func FindTopic(name string) (Def, bool) {
	d, ok := topicNames[name]
	if !ok {
		return Def{}, false
	}
	return *d, true
}

// UnknownNameError is the error for a name that is neither honoured nor known
// to Kafka.
type UnknownNameError struct {
	// Name is what was asked for, Nearest the closest right name or "".
	Name, Nearest string
}

func (e *UnknownNameError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("unknown configuration name %q", e.Name)
	}
	return fmt.Sprintf("unknown configuration name %q; did you mean %q?", e.Name, e.Nearest)
}

func unknown(name string, candidates []string) error {
	return &UnknownNameError{Name: name, Nearest: nearest.Name(name, candidates, len(name)/3)}
}

func brokerNames() []string { return keys(names) }

func allTopicNames() []string { return keys(topicNames) }

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
