package result

import "fmt"

// DurabilitySchema is the schema of durability.json.
const DurabilitySchema = "durability/v1"

// Durability is durability.json: what the trials of trials.csv say of each cell,
// and whether that is what it has to be.
type Durability struct {
	Schema string `json:"schema"`
	// Experiment is the one whose cells were tested; its runs are the throughput.
	Experiment string `json:"experiment"`
	Fault      string `json:"fault"`
	Planned    int    `json:"planned"` // faults
	Done       int    `json:"done"`
	// Failed are the faults after which there was no outcome.
	Failed []FailedTrial `json:"failed,omitempty"`
	Cells  []CellLoss    `json:"cells"`
	// Gates are what must hold; a failed one fails the invocation.
	Gates []Gate `json:"gates"`
}

// FailedTrial is a fault without an outcome: the broker did not start again, or
// what it held could not be read.
type FailedTrial struct {
	Number int    `json:"trial"`
	Seed   uint64 `json:"seed"`
	Error  string `json:"error"`
}

// CellLoss is one cell over its trials.
type CellLoss struct {
	Cell  string `json:"cell"`
	Label string `json:"label"`
	// Keeps is true where no acknowledged record may be lost.
	Keeps bool `json:"keeps"`
	// Trials is n, Lossy is k: in how many of them an acknowledged record was lost.
	Trials int `json:"trials"`
	Lossy  int `json:"lossy"`
	// Loss is the probability that a fault loses an acknowledged record.
	Loss  Probability `json:"loss"`
	Acked int64       `json:"acked"` // over all trials
	// Records and LossWindowMs are what a trial lost, those that lost nothing
	// included as 0.
	Records       Spread `json:"lost_records"`
	LossWindowMs  Spread `json:"loss_window_ms"`
	UnavailableMs Spread `json:"unavailable_ms"`
	// Debt is the broker's count at the fault; its Known is how many trials have
	// one. Beyond is in how many of them more was lost than that.
	Debt   Spread `json:"debt_records"`
	Known  int    `json:"debt_known"`
	Beyond int    `json:"beyond_debt"`
	// DebtPerLoss is mean debt ÷ mean loss, 0 where nothing was lost.
	DebtPerLoss float64 `json:"debt_per_loss"`
	// Wrong counts duplicate, reordered, corrupt, phantom and inconsistent records.
	Wrong int64 `json:"wrong"`
}

// Probability is k of n with its 95 % interval.
type Probability struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// How is clopper_pearson, or one_sided where nothing or everything was seen:
	// then the other end is the bound.
	How string `json:"how"`
}

// Spread is how a figure varies over trials.
type Spread struct {
	Median float64 `json:"median"`
	// Low and High bound the median: its order-statistic 95 % interval, or the
	// extremes of fewer than six trials.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	P95  float64 `json:"p95"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Gate is a statement that must hold.
type Gate struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"`
	// Why says what was seen.
	Why string `json:"why"`
}

// Counted is k of n with its interval, as every table shows it: "0 of 60 (≤ 4.9 %)",
// "60 of 60 (≥ 95.1 %)", "37 of 60 (48.2 to 73.9 %)". What was never seen is a
// bound, not zero.
func (c *CellLoss) Counted() string {
	of := fmt.Sprintf("%d of %d", c.Lossy, c.Trials)
	switch {
	case c.Trials == 0:
		return "not tested"
	case c.Lossy == 0:
		return fmt.Sprintf("%s (≤ %.1f %%)", of, 100*c.Loss.High)
	case c.Lossy == c.Trials:
		return fmt.Sprintf("%s (≥ %.1f %%)", of, 100*c.Loss.Low)
	}
	return fmt.Sprintf("%s (%.1f to %.1f %%)", of, 100*c.Loss.Low, 100*c.Loss.High)
}
