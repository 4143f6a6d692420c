// Package result is the run folder: the types of every file in it, how they are
// written (beside and renamed, so that a reader never sees half a file) and how
// they are read back. Reports and comparisons see nothing else of a run.
//
// Integers are integers in base units, the unit last in the name. A schema
// version only gains optional fields; the JSON Schemas are in the schema folder.
// The layout of a folder:
//
//	results/<suite>/<utc>-<commit>-<host>/
//	  spec.yaml resolved.json plan.jsonl state.json env.json calib.json
//	  cells/<cell>/label.txt
//	  cells/<cell>/<block>/ run.json series.csv hist/<metric>.hgrm hist/all.hlog
//	                        broker/{config.properties,metrics.prom,log.tail}
//	  runs.csv compare.json bench.txt MANIFEST.sha256 report.html
//	  trials.csv durability.json  where the suite has trials
package result

import "tidemark/bench/hist"

// Schema names of the files.
const (
	RunSchema     = "run/v1"
	EnvSchema     = "env/v1"
	CalibSchema   = "calib/v1"
	PlanSchema    = "plan/v1"
	StateSchema   = "state/v1"
	CompareSchema = "compare/v1"
)

// Status says what a run is worth.
type Status string

// Statuses of a run.
const (
	Valid    Status = "valid"
	Degraded Status = "degraded" // usable with its reasons in view
	Invalid  Status = "invalid"  // not used in any statistic
)

// Kind says how a cell offers its load.
type Kind string

// Kinds of a cell.
const (
	// Burst saturates for a bounded number of bytes; its figure is what the
	// page cache takes, not what the disk sustains.
	Burst Kind = "burst"
	// Sustained saturates for 60 s and more.
	Sustained Kind = "sustained"
	// Paced offers a fixed rate on an open-loop schedule; only its latencies
	// are meaningful.
	Paced Kind = "paced"
)

// Run is run.json: one cell measured once, with a fresh process and data
// directory. Latencies of a saturating run (Kind burst or sustained) describe
// the queue that the harness built, not the broker.
type Run struct {
	Schema     string `json:"schema"`
	Suite      string `json:"suite"`
	Experiment string `json:"experiment"`
	Kind       Kind   `json:"kind"`
	Cell       string `json:"cell"`
	Label      string `json:"label"`
	// Base is true for the cell that its experiment is compared against.
	Base bool `json:"base"`
	// Axes are the properties in which the cell differs from the base cell.
	Axes map[string]string `json:"axes"`
	// Block is the position of the run's block in its experiment, from 0.
	Block int `json:"block"`
	// Order is the position of the run in its invocation, from 0.
	Order      int      `json:"order"`
	Seed       uint64   `json:"seed"`
	Status     Status   `json:"status"`
	Reasons    []string `json:"reasons"`
	Warnings   []string `json:"warnings,omitempty"`
	BoundBy    string   `json:"bound_by"` // broker_cpu, client_cpu, schedule, others (other programs), waiting (on disk or each other), unknown
	StartedUTC string   `json:"started_utc"`
	Phases     Phases   `json:"phases_ns"`
	// WarmUp is fixed, converged, not_converged or none.
	WarmUp string `json:"warmup"`
	Driver string `json:"driver"` // null, log, raw, franz
	Target string `json:"target"` // none, inproc, process, memory, external
	// Config holds every resolved setting: topic and broker properties under
	// Kafka's names, client and workload settings under the suite's.
	Config  map[string]string `json:"config"`
	Records Records           `json:"records"`
	// Produce and Fetch are the two measured windows; nil when not run.
	Produce *Window `json:"produce,omitempty"`
	Fetch   *Window `json:"fetch,omitempty"`
	// RSSAnonPeakBytes is the largest anonymous memory of the broker seen.
	RSSAnonPeakBytes int64 `json:"broker_rss_anon_peak_bytes"`
	DiskBytes        int64 `json:"disk_bytes"`
	// Ledger balances, or the run is invalid.
	Ledger Ledger `json:"ledger"`
	// Check is what consumers that followed the load showed.
	Check Check `json:"check"`
	// StealRatio is the share of CPU time the hypervisor withheld.
	StealRatio float64 `json:"steal_ratio"`
	// OthersRatio is the share of the machine's CPU time that went to neither
	// the broker nor the harness: other programs, and the kernel's own threads.
	OthersRatio float64 `json:"others_ratio"`
	Env         string  `json:"env"`    // sha256:… of the comparable part of env.json
	Binary      string  `json:"binary"` // sha256:… of the executable
	Spec        string  `json:"spec"`   // sha256:… of spec.yaml
}

// Phases are the lengths of the parts of a run.
type Phases struct {
	Memory int64 `json:"memory"` // making what the log will take present
	Start  int64 `json:"start"`  // process start to ready
	WarmUp int64 `json:"warmup"`
	Window int64 `json:"window"`
	Drain  int64 `json:"drain"`
	Fetch  int64 `json:"fetch"`
	Stop   int64 `json:"stop"`
}

// Records describes the load's records.
type Records struct {
	SizeBytes    int64 `json:"size_bytes"`      // value
	PerBatch     int64 `json:"per_batch"`       // 0 where the client decides
	BatchBytes   int64 `json:"batch_bytes"`     // on the wire, 0 where the client decides
	CompressRate int64 `json:"compress_permil"` // wire bytes per 1000 uncompressed batch bytes, 0 if unknown
}

// LastPart is the share of a paced window at its end within which a target may be behind:
// what is due there is sent even after the end, and its response times count. What was
// due earlier and is unsent at the end is dropped, since the target did not keep up.
const LastPart = 0.001

// Window is one measured window: what was asked for, what came of it and what
// it cost. Counts are records, and of the window only: InFlightStart + Accepted
// = Acked + Failed + InFlightEnd. Of a fetch, Acked is what was read.
type Window struct {
	WindowNs      int64 `json:"window_ns"`
	OfferedPerS   int64 `json:"offered_per_s"` // 0 = as much as possible
	Accepted      int64 `json:"accepted"`
	Acked         int64 `json:"acked"`
	Failed        int64 `json:"failed"`
	InFlightStart int64 `json:"in_flight_start"`
	InFlightEnd   int64 `json:"in_flight_end"`
	Dropped       int64 `json:"dropped"` // due before LastPart, and never sent
	Requests      int64 `json:"requests"`
	AckedPerS     int64 `json:"acked_per_s"`
	PayloadBytes  int64 `json:"payload_bytes"` // record values
	WireBytes     int64 `json:"wire_bytes"`    // batches as sent or received
	PayloadPerS   int64 `json:"payload_bytes_per_s"`
	WirePerS      int64 `json:"wire_bytes_per_s"`
	// LatencyOf is batch or record: what one latency value stands for.
	LatencyOf  string        `json:"latency_of"`
	ResponseNs *hist.Summary `json:"response_ns,omitempty"` // intended send to ack
	ServiceNs  *hist.Summary `json:"service_ns,omitempty"`  // send to ack
	// LatenessNs is from intended send to send, waiting for the target included.
	LatenessNs *hist.Summary `json:"lateness_ns,omitempty"`
	// OwnLatenessNs is the harness's own part of it: to the send from the
	// intended send or, where the sender had to wait for the target since (for
	// room under the limit of requests in flight), from the end of that wait.
	OwnLatenessNs *hist.Summary `json:"own_lateness_ns,omitempty"`
	E2ENs         *hist.Summary `json:"e2e_ns,omitempty"` // intended send to consumer
	CPU           CPU           `json:"cpu"`
}

// CPU is processor time spent within a window.
type CPU struct {
	// BrokerUserNs and BrokerSysNs are of all brokers together.
	BrokerUserNs int64 `json:"broker_user_ns"`
	BrokerSysNs  int64 `json:"broker_sys_ns"`
	// StoreNs is the user and system time of a cluster's metadata store, nil where it
	// is not known. The store of a single broker is part of it, and in the figures above.
	StoreNs      *int64 `json:"store_ns,omitempty"`
	ClientUserNs int64  `json:"client_user_ns"`
	ClientSysNs  int64  `json:"client_sys_ns"`
	// ClientMaxThread is the busiest client thread's share of the window.
	ClientMaxThread float64 `json:"client_max_thread"`
}

// BrokerNs is the brokers' user and system time.
func (c CPU) BrokerNs() int64 { return c.BrokerUserNs + c.BrokerSysNs }

// TargetNs is what serving took: brokers and, where known, their metadata store, but
// no proxy mesh.
func (c CPU) TargetNs() int64 {
	if c.StoreNs == nil {
		return c.BrokerNs()
	}
	return c.BrokerNs() + *c.StoreNs
}

// ClientNs is the client's user and system time.
func (c CPU) ClientNs() int64 { return c.ClientUserNs + c.ClientSysNs }

// CoreSecondsPerMillion is the target's CPU cost of a million records.
func (w *Window) CoreSecondsPerMillion() float64 {
	if w == nil || w.Acked == 0 {
		return 0
	}
	return float64(w.CPU.TargetNs()) / 1e9 / (float64(w.Acked) / 1e6)
}

// Ledger accounts for every record of a run, warm-up and drain included:
// Accepted = Acked + Failed + InFlight. Accepted and Acked are counted apart.
type Ledger struct {
	Accepted int64 `json:"accepted"`
	Acked    int64 `json:"acked"`
	Failed   int64 `json:"failed"`
	// InFlight is what the driver still had no answer for at the deadline.
	InFlight int64 `json:"in_flight"`
	// Stored is how many records the log held afterwards, -1 if not known.
	Stored int64 `json:"stored"`
}

// Balanced is true when nothing is unaccounted for.
func (l Ledger) Balanced() bool { return l.Accepted == l.Acked+l.Failed+l.InFlight }

// Check counts what went wrong with acknowledged records when they were read: lost and
// duplicate by their offsets or their number. Contents are not compared.
type Check struct {
	// Read is how many records the followers read; 0 when none followed.
	Read      int64 `json:"read"`
	Lost      int64 `json:"lost"`
	Duplicate int64 `json:"duplicate"`
	Reordered int64 `json:"reordered"`
	Corrupt   int64 `json:"corrupt"`
}
