package result

// Compare is compare.json: every cell's figures over its runs, and every cell
// against the base cell of its experiment, paired by block. `bench compare A B`
// writes the same with the two folders as the sides of each row.
type Compare struct {
	Schema string `json:"schema"`
	// A and B name the two folders; both empty inside a run folder, where the
	// base is a cell.
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
	// NoiseRatio is the largest floor of produced records per second as a share,
	// 0 when no A/A ran. Noise says it of every figure.
	NoiseRatio float64 `json:"noise_ratio"`
	// Noise are the noise floors, one for each figure and experiment with an A/A
	// cell; empty where none ran, nil in a file of before they were told apart.
	Noise []Noise     `json:"noise"`
	Cells []CellStats `json:"cells"`
	Pairs []Pair      `json:"pairs"`
	Notes []string    `json:"notes"`
}

// Noise is what one figure of a base cell differs by from the same cell under a
// second name (A/A).
type Noise struct {
	Experiment string `json:"experiment"`
	Kind       Kind   `json:"kind"`
	Metric     string `json:"metric"`
	// Ratio is the second ÷ the first with its 95 % interval.
	Ratio Interval `json:"ratio"`
	// Floor is the end of that interval further from 1, as a factor above 1: between
	// 1 ÷ Floor and Floor no effect is called faster or slower.
	Floor float64 `json:"floor"`
}

// CellStats is one cell and metric over its usable runs.
type CellStats struct {
	Experiment string `json:"experiment"`
	Cell       string `json:"cell"`
	Label      string `json:"label"`
	Kind       Kind   `json:"kind"`
	// Metric is one of the Metric… constants.
	Metric   string   `json:"metric"`
	Interval Interval `json:"interval"`
	// Valid is the same of the valid runs alone, where some are degraded and enough are
	// not for a verdict; else nil.
	Valid    *Interval `json:"valid,omitempty"`
	Degraded int       `json:"degraded"` // runs used although degraded
	Invalid  int       `json:"invalid"`  // runs left out
}

// Interval is an estimate with its 95 % interval, or the extremes when n < 6.
type Interval struct {
	N int `json:"n"`
	// Median is the estimate, and Center what it is: median, or geometric_mean of the
	// ratios of fewer than ten blocks and of two folders. Center is empty in files from
	// before 12/2026.
	Median float64 `json:"median"`
	Center string  `json:"center,omitempty"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// How is order_statistic, min_max, paired_t, welch_t or bootstrap.
	How string `json:"how"`
}

// Centers of an Interval.
const (
	CenterMedian = "median"
	CenterMean   = "geometric_mean"
)

// Metrics of CellStats and Pair. Throughput is records per second, latency
// nanoseconds, cost broker core-seconds per million records.
const (
	MetricProduce     = "produce_acked_per_s"
	MetricFetch       = "fetch_records_per_s"
	MetricProduceWire = "produce_wire_bytes_per_s"
	MetricFetchWire   = "fetch_wire_bytes_per_s"
	MetricP50         = "response_p50_ns"
	MetricP99         = "response_p99_ns"
	MetricE2EP99      = "e2e_p99_ns"
	MetricProduceCost = "produce_broker_core_s_per_million"
	MetricFetchCost   = "fetch_broker_core_s_per_million"
)

// Verdict is what an interval allows to say.
type Verdict string

// Verdicts. Faster and slower are of the metric's own direction: more records
// per second is faster, fewer nanoseconds or core-seconds are faster.
const (
	Faster     Verdict = "faster"
	Slower     Verdict = "slower"
	Equivalent Verdict = "equivalent" // the interval lies inside ±5 %
	Undecided  Verdict = "undecided"
	TooFew     Verdict = "too_few" // n < 6 blocks in common
)

// Withheld is why a verdict of faster or slower is not given.
type Withheld string

// Reasons to withhold a verdict.
const (
	ByInterval   Withheld = "interval"    // the interval holds 1
	ByCorrection Withheld = "correction"  // it does not, but the corrected p is too large
	ByNoiseFloor Withheld = "noise_floor" // the ratio lies within the noise floor
)

// Pair is one cell against its base in one metric.
type Pair struct {
	Experiment string `json:"experiment"`
	Cell       string `json:"cell"`
	Label      string `json:"label"`
	BaseCell   string `json:"base_cell"`
	BaseLabel  string `json:"base_label"`
	Metric     string `json:"metric"`
	N          int    `json:"n"` // blocks in common
	// Ratio is cell ÷ base with its 95 % interval.
	Ratio Interval `json:"ratio"`
	// Valid is the ratio over the blocks in which both runs are valid, where there are
	// others and enough of these for a verdict; else nil. No verdict rests on it.
	Valid *Interval `json:"valid,omitempty"`
	// P is the two-sided p of no difference, of the test that the interval is made
	// of (Ratio.How): paired t below ten blocks, a bootstrap from ten on, Welch's t
	// between folders. PHolm is P after Holm's correction over all pairs of one
	// metric, so never below it. A verdict of a difference needs the interval to
	// exclude 1 and PHolm < 0.05. Both are 1 when n is too small.
	P       float64 `json:"p"`
	PHolm   float64 `json:"p_holm"`
	Verdict Verdict `json:"verdict"`
	// Withheld are the reasons why an undecided pair is neither faster nor slower,
	// every one that holds.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Floor is the noise floor that the verdict had to pass, a factor above 1, and
	// FloorOf the experiment whose A/A cell gave it; 0 and empty where none did.
	Floor   float64 `json:"floor,omitempty"`
	FloorOf string  `json:"floor_of,omitempty"`
	// NeedN estimates the blocks needed to decide by the rule of the verdicts, had
	// every comparison as many more and went on as it began. 0 when decided; where
	// Verdict is undecided, 0 says that no number would. Above 1000 it says "more".
	NeedN int `json:"need_n"`
}
