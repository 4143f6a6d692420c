package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// WriteRunsCSV writes runs.csv: one line for each run with its main figures, for
// spreadsheets.
func WriteRunsCSV(w io.Writer, runs []Run) error {
	out := csv.NewWriter(w)
	err := out.Write([]string{"order", "experiment", "kind", "cell", "label", "block", "status", "bound_by",
		"produce_acked_per_s", "produce_wire_bytes_per_s", "response_p50_ns", "response_p99_ns",
		"fetch_records_per_s", "fetch_wire_bytes_per_s", "produce_broker_cpu_ns", "fetch_broker_cpu_ns"})
	if err != nil {
		return err
	}
	for _, r := range runs {
		line := []string{strconv.Itoa(r.Order), r.Experiment, string(r.Kind), r.Cell, r.Label, strconv.Itoa(r.Block), string(r.Status), r.BoundBy}
		p, f := r.Produce, r.Fetch
		if p == nil {
			p = &Window{}
		}
		if f == nil {
			f = &Window{}
		}
		numbers := []int64{p.AckedPerS, p.WirePerS, 0, 0, f.AckedPerS, f.WirePerS, p.CPU.TargetNs(), f.CPU.TargetNs()}
		if p.ResponseNs != nil {
			numbers[2], numbers[3] = p.ResponseNs.P50, p.ResponseNs.P99
		}
		for _, n := range numbers {
			line = append(line, strconv.FormatInt(n, 10))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteBenchText writes bench.txt in Go's benchmark format: benchstat compares
// cells with -col /PROPERTY, and folders with one another.
func WriteBenchText(w io.Writer, p Plan, e *Env, runs []Run) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "suite: %s\ncommit: %s\n", p.Suite, p.Commit)
	if e != nil {
		fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\nhost: %s\nfs: %s\n", e.Kernel.OS, e.Kernel.Arch, e.CPU.Model, e.Host, e.Disk.FileSystem)
	}
	b.WriteString("\n")
	for _, r := range runs {
		if r.Status == Invalid {
			continue
		}
		name := benchName(r)
		for _, side := range []struct {
			name   string
			window *Window
		}{{"produce", r.Produce}, {"fetch", r.Fetch}} {
			wd := side.window
			if wd == nil || wd.Acked == 0 {
				continue
			}
			fmt.Fprintf(&b, "Benchmark%s/phase=%s 1 %g ns/op %d records/s %g MB/s", name, side.name,
				float64(wd.WindowNs)/float64(wd.Acked), wd.AckedPerS, float64(wd.WirePerS)/1e6)
			if r.Kind == Paced && wd.ResponseNs != nil {
				fmt.Fprintf(&b, " %d p50-ns %d p99-ns", wd.ResponseNs.P50, wd.ResponseNs.P99)
			}
			if cpu := wd.CPU.TargetNs(); cpu > 0 {
				fmt.Fprintf(&b, " %g broker-ns/op", float64(cpu)/float64(wd.Acked))
			}
			b.WriteString("\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// benchName is the experiment and, as sub-benchmark keys, the driver and what
// the cell changes.
func benchName(r Run) string {
	name := strings.ToUpper(r.Experiment[:1]) + r.Experiment[1:] + "/driver=" + r.Driver
	keys := make([]string, 0, len(r.Axes))
	for k := range r.Axes {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	clean := strings.NewReplacer(" ", "_", "/", "_", "=", "_", "%", "pct")
	for _, k := range keys {
		name += "/" + clean.Replace(k) + "=" + clean.Replace(r.Axes[k])
	}
	return strings.ReplaceAll(name, "-", "_") // a trailing -N would be read as GOMAXPROCS
}
