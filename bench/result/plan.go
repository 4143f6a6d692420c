package result

import "strings"

// Plan is resolved.json: what an invocation set out to do, every default filled
// in, before anything ran.
type Plan struct {
	Schema      string           `json:"schema"`
	Suite       string           `json:"suite"`
	About       string           `json:"about"`
	CreatedUTC  string           `json:"created_utc"`
	Command     []string         `json:"command"`
	Seed        uint64           `json:"seed"`
	Commit      string           `json:"commit"` // git revision of the binary, or "unknown"
	Dirty       bool             `json:"dirty"`
	Spec        string           `json:"spec"` // sha256:… of spec.yaml
	Experiments []PlanExperiment `json:"experiments"`
	// Trials are the faults that follow the runs; nil where there are none.
	Trials *PlanTrials `json:"trials,omitempty"`
	Totals Totals      `json:"totals"`
}

// PlanTrials are faults that one broker meets with the cells of an experiment as
// its topics.
type PlanTrials struct {
	// Of names the experiment.
	Of    string `json:"of"`
	Count int    `json:"count"`
	Fault string `json:"fault"`
	// RecordsPerS is the load of each cell.
	RecordsPerS int64 `json:"records_per_s"`
	RecordBytes int64 `json:"record_bytes"`
	// LeastNs and MostNs bound how long the load runs before the fault.
	LeastNs int64 `json:"least_ns"`
	MostNs  int64 `json:"most_ns"`
	// SecondsPerTrial is the estimate the plan is made with.
	SecondsPerTrial float64 `json:"seconds_per_trial"`
}

// PlanExperiment is one group of cells that are compared with each other.
type PlanExperiment struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Kind   Kind   `json:"kind"`
	Design string `json:"design"` // oneway, full, pairwise, list
	Blocks int    `json:"blocks"`
	// Axes are the varied properties in the order of the suite, with their
	// values in order; the first value of each is the base cell's.
	Axes  []Axis     `json:"axes"`
	Cells []PlanCell `json:"cells"`
}

// NameOf names a cell by its values on all axes, "os · buffered"; a cell of an
// experiment without axes keeps its label. Where no cell is the measure of the
// others, "base" would say nothing.
func (e *PlanExperiment) NameOf(c PlanCell) string {
	var values []string
	for _, a := range e.Axes {
		values = append(values, c.Config[a.Name])
	}
	if len(values) == 0 {
		return c.Label
	}
	return strings.Join(values, " · ")
}

// Axis is a varied property and its values.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// PlanCell is one assignment of all axes. ID is a short hash of the resolved
// config, so that renaming a label keeps the history.
type PlanCell struct {
	ID     string            `json:"id"`
	Label  string            `json:"label"`
	Base   bool              `json:"base"`
	AA     bool              `json:"aa,omitempty"` // the base cell a second time, for the noise
	Axes   map[string]string `json:"axes"`         // differences from the base cell
	Driver string            `json:"driver"`
	Target string            `json:"target"`
	Config map[string]string `json:"config"`
	// SecondsPerRun and BytesPerRun are the estimates the plan is made with.
	SecondsPerRun float64 `json:"seconds_per_run"`
	BytesPerRun   int64   `json:"bytes_per_run"`
}

// Totals is what plan prints before anything starts.
type Totals struct {
	Cells        int     `json:"cells"`
	Runs         int     `json:"runs"`
	Seconds      float64 `json:"seconds"`
	BytesWritten int64   `json:"bytes_written"`
	PeakBytes    int64   `json:"peak_bytes"`
}

// PlannedRun is one line of plan.jsonl, in the order of execution.
type PlannedRun struct {
	Order      int    `json:"order"`
	Experiment string `json:"experiment"`
	Block      int    `json:"block"`
	Cell       string `json:"cell"`
	Label      string `json:"label"`
}

// RunState is where a planned run stands.
type RunState string

// States of a planned run.
const (
	Planned RunState = "planned"
	Running RunState = "running"
	Done    RunState = "done"   // run.json written, status valid or degraded
	Voided  RunState = "void"   // run.json written, status invalid
	Failed  RunState = "failed" // no run.json
)

// State is state.json.
type State struct {
	Schema string      `json:"schema"`
	Runs   []StateLine `json:"runs"`
	// Finished is true once every planned run was tried and the closing files
	// were written.
	Finished bool `json:"finished"`
	// Interrupted is true when the invocation was asked to stop early.
	Interrupted bool `json:"interrupted"`
	// Trials is where the faults stand; nil where none are planned.
	Trials *TrialState `json:"trials,omitempty"`
}

// TrialState is how many of the planned faults were done. The next one has the
// number Done + len(Failed).
type TrialState struct {
	Planned int           `json:"planned"`
	Done    int           `json:"done"`
	Failed  []FailedTrial `json:"failed,omitempty"`
}

// StateLine is the state of one planned run.
type StateLine struct {
	Order int      `json:"order"`
	Cell  string   `json:"cell"`
	Block int      `json:"block"`
	State RunState `json:"state"`
	Error string   `json:"error,omitempty"`
}
