package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// Row is one line of series.csv: what happened in one interval, usually a
// second. Counts are of this interval, memory is at its end.
type Row struct {
	// TMs is the end of the interval since the start of the produce phase.
	TMs int64
	// Phase is warmup, window, drain or fetch.
	Phase string
	// LengthMs is the length of the interval; the last of a phase is shorter.
	LengthMs    int64
	Offered     int64 // records due; equal to Accepted when saturating
	Accepted    int64 // records sent
	Acked       int64
	Failed      int64
	Consumed    int64 // records read
	WireBytes   int64
	P50Ns       int64 // response time; 0 where there is none
	P99Ns       int64
	MaxNs       int64
	BrokerCPUNs int64 // user and system
	ClientCPUNs int64
	BrokerRSS   int64 // anonymous bytes
	// Debt is the durability debt at the end of the interval: records that were
	// acknowledged and not synced. −1 is unknown.
	Debt int64
}

// columns is the header of series.csv and the order of Row.
var columns = []string{"t_ms", "phase", "length_ms", "offered", "accepted", "acked", "failed", "consumed",
	"wire_bytes", "p50_ns", "p99_ns", "max_ns", "broker_cpu_ns", "client_cpu_ns", "broker_rss_anon_bytes",
	"durability_debt_records"}

// firstColumns is how many columns a series has at least; the others came later.
const firstColumns = 15

func (r *Row) numbers() []*int64 {
	return []*int64{&r.TMs, &r.LengthMs, &r.Offered, &r.Accepted, &r.Acked, &r.Failed, &r.Consumed,
		&r.WireBytes, &r.P50Ns, &r.P99Ns, &r.MaxNs, &r.BrokerCPUNs, &r.ClientCPUNs, &r.BrokerRSS, &r.Debt}
}

// WriteSeries writes series.csv.
func WriteSeries(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for _, r := range rows {
		fields := make([]string, 0, len(columns))
		for i, n := range r.numbers() {
			fields = append(fields, strconv.FormatInt(*n, 10))
			if i == 0 {
				fields = append(fields, r.Phase)
			}
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// ReadSeries reads series.csv. Columns behind the known ones are later
// additions and ignored; of the first, a missing or renamed one is an error.
func ReadSeries(r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("header of series: %w", err)
	}
	known := max(firstColumns, min(len(columns), len(head)))
	for i, want := range columns[:known] {
		if i >= len(head) || head[i] != want {
			return nil, fmt.Errorf("column %d of series is not %q", i+1, want)
		}
	}
	var rows []Row
	for {
		fields, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("series: %w", err)
		}
		row := Row{Phase: fields[1], Debt: -1}
		numbers := append(fields[:1:1], fields[2:]...)
		for i, n := range row.numbers()[:known-1] {
			if *n, err = strconv.ParseInt(numbers[i], 10, 64); err != nil {
				return nil, fmt.Errorf("series row %d: %w", len(rows)+1, err)
			}
		}
		rows = append(rows, row)
	}
}
