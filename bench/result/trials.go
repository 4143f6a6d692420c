package result

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TrialsFile is the name of the trials in a run folder.
const TrialsFile = "trials.csv"

// Faults of a trial.
const (
	// PowerCut kills the broker and takes from its files what was not synced.
	PowerCut = "power_cut"
	// ProcessKill kills the broker and leaves its files.
	ProcessKill = "process_kill"
)

// FaultWords is a fault in words, "power cut".
func FaultWords(fault string) string { return strings.ReplaceAll(fault, "_", " ") }

// Trial is one line of trials.csv: what one fault did to one cell. The cells of one
// number were topics of one broker and met the same fault. A trial is the unit of
// every probability: records within one are not independent.
type Trial struct {
	// Number counts the faults from 0.
	Number int `json:"trial"`
	// Seed repeats the trial's random choices.
	Seed uint64 `json:"seed"`
	// Fault is PowerCut or ProcessKill.
	Fault string `json:"fault"`
	// Torn is sector or page: in what pieces unsynced data survived a power cut.
	Torn string `json:"torn"`
	Acks string `json:"acks"`
	// PhaseMs is how long the load had run when the fault came.
	PhaseMs int64 `json:"phase_ms"`
	// Cell and Label are those of the experiment whose cells the trial tested.
	Cell  string `json:"cell"`
	Label string `json:"label"`
	// The records: Sent = Acked + Failed + Unknown.
	Sent    int64 `json:"sent"`
	Acked   int64 `json:"acked"`
	Failed  int64 `json:"failed"`
	Unknown int64 `json:"unknown"`
	// Read and the rest are what a full read afterwards showed.
	Read         int64 `json:"read"`
	Lost         int64 `json:"lost"`
	Duplicate    int64 `json:"duplicate"`
	Reordered    int64 `json:"reordered"`
	Corrupt      int64 `json:"corrupt"`
	Phantom      int64 `json:"phantom"`
	Inconsistent int64 `json:"inconsistent"`
	// LossWindowMs is from the acknowledgement of the earliest lost record to
	// the fault, 0 where nothing was lost.
	LossWindowMs int64 `json:"loss_window_ms"`
	// UnavailableMs is from the restart to the first answer about the cell's
	// topic; the time that the harness took between fault and restart is not in it.
	UnavailableMs int64 `json:"unavailable_ms"`
	// Debt is how many acknowledged records the broker counted as not yet durable
	// at the fault, -1 where it did not say.
	Debt int64 `json:"debt"`
}

// Wrong is the number of records that were found and should not have been, or
// not so.
func (t *Trial) Wrong() int64 {
	return t.Duplicate + t.Reordered + t.Corrupt + t.Phantom + t.Inconsistent
}

// trialColumns are the columns of trials.csv in order; a later version may add
// further ones behind them.
var trialColumns = []struct {
	name   string
	text   func(t *Trial) *string
	number func(t *Trial) *int64
}{
	{name: "fault", text: func(t *Trial) *string { return &t.Fault }},
	{name: "torn", text: func(t *Trial) *string { return &t.Torn }},
	{name: "acks", text: func(t *Trial) *string { return &t.Acks }},
	{name: "phase_ms", number: func(t *Trial) *int64 { return &t.PhaseMs }},
	{name: "cell", text: func(t *Trial) *string { return &t.Cell }},
	{name: "label", text: func(t *Trial) *string { return &t.Label }},
	{name: "sent", number: func(t *Trial) *int64 { return &t.Sent }},
	{name: "acked", number: func(t *Trial) *int64 { return &t.Acked }},
	{name: "failed", number: func(t *Trial) *int64 { return &t.Failed }},
	{name: "unknown", number: func(t *Trial) *int64 { return &t.Unknown }},
	{name: "read", number: func(t *Trial) *int64 { return &t.Read }},
	{name: "lost", number: func(t *Trial) *int64 { return &t.Lost }},
	{name: "duplicate", number: func(t *Trial) *int64 { return &t.Duplicate }},
	{name: "reordered", number: func(t *Trial) *int64 { return &t.Reordered }},
	{name: "corrupt", number: func(t *Trial) *int64 { return &t.Corrupt }},
	{name: "phantom", number: func(t *Trial) *int64 { return &t.Phantom }},
	{name: "inconsistent", number: func(t *Trial) *int64 { return &t.Inconsistent }},
	{name: "loss_window_ms", number: func(t *Trial) *int64 { return &t.LossWindowMs }},
	{name: "unavailable_ms", number: func(t *Trial) *int64 { return &t.UnavailableMs }},
	{name: "debt", number: func(t *Trial) *int64 { return &t.Debt }},
}

// trialHead is the first line of trials.csv.
func trialHead() []string {
	head := []string{"trial", "seed"}
	for _, c := range trialColumns {
		head = append(head, c.name)
	}
	return head
}

// WriteTrials writes trials.csv.
func WriteTrials(w io.Writer, trials []Trial) error {
	out := csv.NewWriter(w)
	if err := out.Write(trialHead()); err != nil {
		return err
	}
	for i := range trials {
		t := &trials[i]
		line := []string{strconv.Itoa(t.Number), strconv.FormatUint(t.Seed, 10)}
		for _, c := range trialColumns {
			if c.text != nil {
				line = append(line, *c.text(t))
			} else {
				line = append(line, strconv.FormatInt(*c.number(t), 10))
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// ReadTrials reads trials.csv; columns that it does not know are skipped.
func ReadTrials(r io.Reader) ([]Trial, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("heading: %w", err)
	}
	place := map[string]int{}
	for i, name := range head {
		place[name] = i
	}
	for _, name := range trialHead() {
		if _, ok := place[name]; !ok {
			return nil, fmt.Errorf("no column %s", name)
		}
	}
	var out []Trial
	for {
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		t, err := parseTrial(place, line)
		if err != nil {
			return nil, fmt.Errorf("trial %d: %w", len(out), err)
		}
		out = append(out, t)
	}
}

func parseTrial(place map[string]int, line []string) (t Trial, err error) {
	if t.Number, err = strconv.Atoi(line[place["trial"]]); err != nil {
		return t, err
	}
	if t.Seed, err = strconv.ParseUint(line[place["seed"]], 10, 64); err != nil {
		return t, err
	}
	for _, c := range trialColumns {
		field := line[place[c.name]]
		if c.text != nil {
			*c.text(&t) = field
			continue
		}
		if *c.number(&t), err = strconv.ParseInt(field, 10, 64); err != nil {
			return t, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return t, nil
}
