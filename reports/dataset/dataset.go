// Package dataset turns run folders into what a report shows: invocations grouped
// by the machine they ran on, experiments with their cells, and for every cell
// its usable runs, its intervals and its verdicts against the base.
//
// It reads what bench/result wrote and computes no statistic of its own: intervals
// and verdicts are those of compare.json, or what bench/stats makes of the runs where
// an interrupted invocation left no such file. Figures that are shown but not judged
// get their median with the smallest and largest value, and say so in Interval.How.
// Outliers are named and stay in every figure.
// Values are immutable once loaded.
package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"

	"tidemark/bench/result"
	"tidemark/bench/stats"
)

// Set is everything a report is made of.
type Set struct {
	// Groups hold invocations that may be compared with each other: same
	// hardware, kernel and file system. In the order in which they were first met.
	Groups []Group
	// Problems are folders that could not be read.
	Problems []error
}

// Group is the invocations of one comparability key.
type Group struct {
	// Key is Env.Comparable, or "unknown" where env.json is missing.
	Key         string
	Invocations []*Invocation
}

// LeastBlocks is how many blocks a difference needs to be told as one.
const LeastBlocks = stats.LeastN

// UnknownKey stands for a missing env.json: nothing is comparable with it, not
// even another unknown.
const UnknownKey = "unknown"

// Invocation is one run folder.
type Invocation struct {
	*result.Folder
	// Name is the folder's last path element, which holds time, commit and host.
	Name        string
	Experiments []*Experiment
	// Computed is true where the comparison was made of the runs on loading: the
	// folder had no compare.json, or, Former, one by a rule that verdicts no longer
	// follow.
	Computed, Former bool
}

// Experiment is cells that are compared with each other.
type Experiment struct {
	result.PlanExperiment
	Cells []*Cell
	// Base is the cell that the others are compared with; nil when it has none.
	Base *Cell
}

// Cell is one assignment of all axes with everything known about it.
type Cell struct {
	result.PlanCell
	Kind result.Kind
	// Runs are in block order, invalid ones included; Usable are the others.
	Runs   []result.Run
	Usable []result.Run
	// Failures are why planned runs of the cell left no run.json.
	Failures []string
	stats    map[string]result.CellStats
	pairs    map[string]result.Pair
}

// ErrNothing is returned when no folder could be read; it wraps the reasons.
var ErrNothing = errors.New("no run folder could be read")

// Load reads folders. A folder that cannot be read becomes a problem of the set;
// only when none can be read is there an error.
func Load(folders ...string) (*Set, error) {
	s := &Set{}
	for _, dir := range folders {
		f, err := result.Load(dir)
		if err != nil {
			s.Problems = append(s.Problems, err) // it names the folder
			continue
		}
		s.put(Of(f))
	}
	if len(s.Groups) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrNothing, errors.Join(s.Problems...))
	}
	return s, nil
}

func (s *Set) put(inv *Invocation) {
	key := UnknownKey
	if inv.Env != nil && inv.Env.Comparable != "" {
		key = inv.Env.Comparable
	}
	for i := range s.Groups {
		if key != UnknownKey && s.Groups[i].Key == key {
			s.Groups[i].Invocations = append(s.Groups[i].Invocations, inv)
			return
		}
	}
	s.Groups = append(s.Groups, Group{Key: key, Invocations: []*Invocation{inv}})
}

// Of is the invocation of a folder that is loaded.
func Of(f *result.Folder) *Invocation {
	inv := &Invocation{Folder: f, Name: filepath.Base(filepath.Clean(f.Dir)), Computed: f.Compare == nil}
	if f.Compare != nil && f.Compare.Noise == nil {
		inv.Computed, inv.Former = true, true
	}
	for _, p := range f.Plan.Experiments {
		inv.Experiments = append(inv.Experiments, newExperiment(p))
	}
	for _, r := range f.Runs {
		inv.cellOf(r).Runs = append(inv.cellOf(r).Runs, r)
	}
	failures := map[string][]string{}
	for _, s := range f.State.Runs {
		if s.State == result.Failed {
			failures[s.Cell] = append(failures[s.Cell], s.Error)
		}
	}
	for _, e := range inv.Experiments {
		for _, c := range e.Cells {
			c.Failures = failures[c.ID]
			c.settle()
		}
	}
	if inv.Computed {
		f.Compare = stats.Summarise(f)
	}
	if f.Durability == nil {
		f.Durability = stats.OfFolder(f) // an interrupted invocation leaves trials alone
	}
	inv.compare(f.Compare)
	return inv
}

func newExperiment(p result.PlanExperiment) *Experiment {
	e := &Experiment{PlanExperiment: p}
	for _, c := range p.Cells {
		e.add(&Cell{PlanCell: c, Kind: p.Kind})
	}
	return e
}

func (e *Experiment) add(c *Cell) {
	c.stats, c.pairs = map[string]result.CellStats{}, map[string]result.Pair{}
	e.Cells = append(e.Cells, c)
	if c.Base && e.Base == nil {
		e.Base = c
	}
}

// Experiment returns the experiment of a name; nil when there is none.
func (inv *Invocation) Experiment(name string) *Experiment {
	for _, e := range inv.Experiments {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Cell returns the cell of an id; nil when there is none.
func (e *Experiment) Cell(id string) *Cell {
	for _, c := range e.Cells {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// cellOf finds the cell of a run, and makes one where the plan does not know it,
// so that no finished run is lost from view.
func (inv *Invocation) cellOf(r result.Run) *Cell {
	e := inv.Experiment(r.Experiment)
	if e == nil {
		e = &Experiment{PlanExperiment: result.PlanExperiment{Name: r.Experiment, Kind: r.Kind}}
		inv.Experiments = append(inv.Experiments, e)
	}
	c := e.Cell(r.Cell)
	if c == nil {
		c = &Cell{Kind: r.Kind, PlanCell: result.PlanCell{
			ID: r.Cell, Label: r.Label, Base: r.Base, Axes: r.Axes, Driver: r.Driver, Target: r.Target, Config: r.Config,
		}}
		e.add(c)
	}
	return c
}

// Only is the cell with those of its usable runs that keep says. Its intervals are
// taken of them, and it is compared with nothing.
func (c *Cell) Only(keep func(result.Run) bool) *Cell {
	some := &Cell{PlanCell: c.PlanCell, Kind: c.Kind, Runs: c.Runs, Failures: c.Failures}
	for _, r := range c.Usable {
		if keep(r) {
			some.Usable = append(some.Usable, r)
		}
	}
	return some
}

// settle sorts the runs and takes what needs no statistics.
func (c *Cell) settle() {
	sort.SliceStable(c.Runs, func(i, j int) bool { return c.Runs[i].Block < c.Runs[j].Block })
	for _, r := range c.Runs {
		if r.Status != result.Invalid {
			c.Usable = append(c.Usable, r)
		}
	}
}

// compare files the statistics of compare.json under their cells.
func (inv *Invocation) compare(cmp *result.Compare) {
	for _, s := range cmp.Cells {
		if c := inv.find(s.Experiment, s.Cell); c != nil {
			c.stats[s.Metric] = s
		}
	}
	for _, p := range cmp.Pairs {
		if c := inv.find(p.Experiment, p.Cell); c != nil {
			c.pairs[p.Metric] = p
		}
	}
}

func (inv *Invocation) find(experiment, cell string) *Cell {
	if e := inv.Experiment(experiment); e != nil {
		return e.Cell(cell)
	}
	return nil
}

// Noise are the noise floors of a figure, one for each experiment that ran its base
// twice.
func (inv *Invocation) Noise(m Metric) []result.Noise {
	var out []result.Noise
	for _, n := range inv.Compare.Noise {
		if n.Metric == m.Name {
			out = append(out, n)
		}
	}
	return out
}
