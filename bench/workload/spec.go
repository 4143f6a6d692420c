// Package workload is what to measure: the suite file (strict YAML, every error
// with line and column and the nearest known name), the list of settings, and
// the matrix that turns them into cells. It measures nothing itself.
package workload

import (
	"sort"

	"tidemark/bench/result"
)

// APIVersion is the version of suite files.
const APIVersion = "bench/v1"

// Spec is a suite file: several experiments that run interleaved in one
// invocation.
type Spec struct {
	APIVersion Text   `yaml:"apiVersion"`
	Name       Text   `yaml:"name"`
	About      string `yaml:"about"`
	// Seed orders the runs and fills the payloads; 0 means 1.
	Seed uint64 `yaml:"seed"`
	// Defaults apply to every experiment that does not say otherwise.
	Defaults    Defaults     `yaml:"defaults"`
	Experiments []Experiment `yaml:"experiments"`
	// Trials, where given, follow the runs: faults, and what they lose.
	Trials *Trials `yaml:"trials"`
}

// Defaults are settings shared by the experiments of a suite.
type Defaults struct {
	Blocks   int     `yaml:"blocks"`
	Workload Entries `yaml:"workload"`
	Client   Entries `yaml:"client"`
	Topic    Entries `yaml:"topic"`
	Broker   Entries `yaml:"broker"`
}

// Experiment is a group of cells that are compared with each other.
type Experiment struct {
	Name  Text   `yaml:"name"`
	About string `yaml:"about"`
	// Blocks is how often every cell is run; fewer blocks than the suite's most
	// are the last ones.
	Blocks   int     `yaml:"blocks"`
	Workload Entries `yaml:"workload"`
	Client   Entries `yaml:"client"`
	Topic    Entries `yaml:"topic"`
	Broker   Entries `yaml:"broker"`
	Matrix   Matrix  `yaml:"matrix"`

	cells []Cell
	kind  result.Kind
	axes  []result.Axis
}

// Matrix varies settings. The first value of every axis is the base cell's.
type Matrix struct {
	// Design is oneway (the default: the base cell, then one axis at a time),
	// full (every combination), pairwise (every pair of values at least once)
	// or list (the base cell and the included ones).
	Design  Text      `yaml:"design"`
	Axes    Axes      `yaml:"axes"`
	Exclude []Entries `yaml:"exclude"`
	Include []Entries `yaml:"include"`
	// AA runs the base cell a second time under another name: what then looks
	// like a difference is the machine's noise.
	AA bool `yaml:"aa"`
}

// Cell is one assignment of all settings.
type Cell struct {
	// ID is a short hash of the resolved config and the experiment.
	ID    string
	Label string
	Base  bool
	// AA marks the base cell's double.
	AA bool
	// Axes are the settings in which the cell differs from the base cell.
	Axes   map[string]string
	Config map[string]string
	Load   Load
}

// Parse reads and checks a suite file and expands its experiments. The error is
// an *Error where it has a place in the file.
func Parse(data []byte) (*Spec, error) {
	s := &Spec{}
	if err := decode(data, s); err != nil {
		return nil, err
	}
	if s.APIVersion.Value != APIVersion {
		return nil, errorAt(s.APIVersion.token, "apiVersion %q, this program reads %q", s.APIVersion.Value, APIVersion)
	}
	if !isName(s.Name.Value) {
		return nil, errorAt(s.Name.token, "name %q: want letters, digits, - and _", s.Name.Value)
	}
	if len(s.Experiments) == 0 {
		return nil, errorAt(s.Name.token, "suite %s has no experiments", s.Name.Value)
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	seen := map[string]bool{}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		if !isName(e.Name.Value) {
			return nil, errorAt(e.Name.token, "experiment %d: name %q: want letters, digits, - and _", i+1, e.Name.Value)
		}
		if seen[e.Name.Value] {
			return nil, errorAt(e.Name.token, "experiment %q appears twice", e.Name.Value)
		}
		seen[e.Name.Value] = true
		if err := e.expand(s.Defaults); err != nil {
			return nil, err
		}
	}
	if err := s.checkRates(); err != nil {
		return nil, err
	}
	if s.Trials != nil {
		if err := s.Trials.resolve(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkRates makes sure that a relative rate refers to a saturating experiment.
func (s *Spec) checkRates() error {
	kinds := map[string]result.Kind{}
	for _, e := range s.Experiments {
		kinds[e.Name.Value] = e.kind
	}
	for _, e := range s.Experiments {
		for _, c := range e.cells {
			for _, of := range c.Load.refers() {
				if err := e.checkRate(of, kinds); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (e *Experiment) checkRate(of string, kinds map[string]result.Kind) error {
	kind, ok := kinds[of]
	if !ok {
		names := make([]string, 0, len(kinds))
		for name := range kinds {
			names = append(names, name)
		}
		sort.Strings(names)
		return errorAt(e.Name.token, "experiment %s: rate refers to unknown experiment %q%s", e.Name.Value, of, didYouMean(of, names))
	}
	if kind == result.Paced {
		return errorAt(e.Name.token, "experiment %s: rate refers to %s, which does not saturate", e.Name.Value, of)
	}
	return nil
}

// Cells are the experiment's cells, the base cell first; the slice is shared.
func (e *Experiment) Cells() []Cell { return e.cells }

// Kind is the kind of the base cell.
func (e *Experiment) Kind() result.Kind { return e.kind }

// ResolvedAxes are the axes under their config keys.
func (e *Experiment) ResolvedAxes() []result.Axis { return e.axes }

// Dependent is true when a rate refers to another experiment.
func (e *Experiment) Dependent() bool {
	for _, c := range e.cells {
		if len(c.Load.refers()) > 0 {
			return true
		}
	}
	return false
}

func isName(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return s != ""
}
