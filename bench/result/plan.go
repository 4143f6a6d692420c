package result

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
	Totals      Totals           `json:"totals"`
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
}

// StateLine is the state of one planned run.
type StateLine struct {
	Order int      `json:"order"`
	Cell  string   `json:"cell"`
	Block int      `json:"block"`
	State RunState `json:"state"`
	Error string   `json:"error,omitempty"`
}
