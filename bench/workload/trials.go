package workload

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"tidemark/bench/result"
)

// Trials is the section of a suite that tests what its cells keep: the cells of
// one experiment become topics of one broker, which is put under load, meets a
// fault at a random moment and is restarted, Count times over.
type Trials struct {
	// Of names the experiment whose cells are tested; its runs are what the loss
	// is set against.
	Of Text `yaml:"of"`
	// Count is the number of faults; every cell meets each of them.
	Count Text `yaml:"count"`
	// Fault is power_cut or process_kill.
	Fault Text `yaml:"fault"`
	// Rate is records per second of each cell.
	Rate Text `yaml:"rate"`
	// Least and Most bound how long the load runs before the fault.
	Least Text `yaml:"least"`
	Most  Text `yaml:"most"`
	// RecordSize is bytes of a value.
	RecordSize Text `yaml:"record.size"`

	resolved ResolvedTrials
}

// trialFields are the fields of the section in the order of the reference page.
var trialFields = []Setting{
	{Name: "of", Doc: "the experiment whose cells are tested; each is a topic of one broker"},
	{Name: "count", Default: "60", Doc: "number of faults; every cell meets each of them"},
	{Name: "fault", Default: result.PowerCut, Doc: "power_cut (the broker is killed and loses what it had not synced) or process_kill (its files stay)"},
	{Name: "rate", Default: "2k/s", Doc: "records per second of each cell"},
	{Name: "least", Default: "200ms", Doc: "shortest load before the fault"},
	{Name: "most", Default: "1s", Doc: "longest load before the fault; the seed chooses between the two"},
	{Name: "record.size", Default: "500B", Doc: "bytes of a record's value, at least the 32 of its header"},
}

// ResolvedTrials is the section with types and defaults.
type ResolvedTrials struct {
	// Experiment is the one whose cells are tested.
	Experiment  *Experiment
	Count       int
	Fault       string
	PerSecond   float64
	Least, Most time.Duration
	RecordBytes int
}

// Cells are those that meet the faults: all but the base's double, whose loss is the
// base's.
func (t ResolvedTrials) Cells() []Cell {
	return slices.DeleteFunc(slices.Clone(t.Experiment.Cells()), func(c Cell) bool { return c.AA })
}

// Resolved is the checked section.
func (t *Trials) Resolved() ResolvedTrials { return t.resolved }

// Bounds of a suite's trials.
const (
	maxTrials       = 10_000
	leastTrialBytes = 32 // a record's header
)

// resolve checks the section against the suite.
func (t *Trials) resolve(s *Spec) error {
	r := &t.resolved
	for i := range s.Experiments {
		if s.Experiments[i].Name.Value == t.Of.Value {
			r.Experiment = &s.Experiments[i]
		}
	}
	if r.Experiment == nil {
		names := make([]string, len(s.Experiments))
		for i, e := range s.Experiments {
			names[i] = e.Name.Value
		}
		return errorAt(t.Of.token, "trials: of names no experiment: %q%s", t.Of.Value, didYouMean(t.Of.Value, names))
	}
	for _, c := range r.Experiment.cells {
		if c.Load.Target != "process" {
			return errorAt(t.Of.token, "trials: cell %s of experiment %s has target %s; trials start a broker of their own", c.Label, t.Of.Value, c.Load.Target)
		}
		if c.Load.Brokers > 1 {
			return errorAt(t.Of.token, "trials: cell %s of experiment %s has %d brokers; trials are of one", c.Label, t.Of.Value, c.Load.Brokers)
		}
	}
	for _, c := range r.Experiment.cells {
		if !maps.Equal(c.Load.Broker, r.Experiment.cells[0].Load.Broker) {
			return errorAt(t.Of.token, "trials: the cells of experiment %s differ in a broker property; one broker holds all of them", t.Of.Value)
		}
	}
	r.Fault = or(t.Fault, "fault")
	if err := oneOf(result.PowerCut, result.ProcessKill)(r.Fault); err != nil {
		return errorAt(t.Fault.token, "trials: fault: %v", err)
	}
	var err error
	if r.Count, err = strconv.Atoi(or(t.Count, "count")); err != nil || r.Count < 1 || r.Count > maxTrials {
		return errorAt(t.Count.token, "trials: count %q: want 1 to %d", t.Count.Value, maxTrials)
	}
	rate, err := ParseRate(or(t.Rate, "rate"))
	if err != nil || rate.Of != "" || rate.Saturating() {
		return errorAt(t.Rate.token, "trials: rate %q: want a number of records per second", t.Rate.Value)
	}
	r.PerSecond = rate.PerSecond
	if r.Least, err = time.ParseDuration(or(t.Least, "least")); err != nil || r.Least < 0 {
		return errorAt(t.Least.token, "trials: least %q: want a time", t.Least.Value)
	}
	if r.Most, err = time.ParseDuration(or(t.Most, "most")); err != nil || r.Most < r.Least {
		return errorAt(t.Most.token, "trials: most %q: want a time not below least", t.Most.Value)
	}
	size, err := ParseSize(or(t.RecordSize, "record.size"))
	if err != nil || size < leastTrialBytes || size > 1<<20 {
		return errorAt(t.RecordSize.token, "trials: record.size %q: want %d bytes to 1 MiB", t.RecordSize.Value, leastTrialBytes)
	}
	r.RecordBytes = int(size)
	return nil
}

// or is the text of the file, or the field's default where it has none.
func or(t Text, field string) string {
	if t.Value != "" {
		return t.Value
	}
	for _, f := range trialFields {
		if f.Name == field {
			return f.Default
		}
	}
	return ""
}
