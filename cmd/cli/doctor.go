package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"tidemark/bench/calibrate"
	"tidemark/bench/env"
	"tidemark/bench/result"
)

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	Env   *result.Env   `json:"env"`
	Calib *result.Calib `json:"calib,omitempty"`
}

// newDoctorCommand is `tidemark doctor`.
func newDoctorCommand(app *App) *cobra.Command {
	var dir string
	var limits bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Describe this machine, what would make figures steadier, and its limits",
		Long: `Describe this machine and what would make figures steadier. Nothing is changed.
--calibrate also measures, in about 20 seconds, what the machine does without a
broker: the limits that benches are compared with.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := diagnosis{Env: env.Collect(dir)}
			if limits {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return fmt.Errorf("directory for calibration: %w", err)
				}
				var err error
				if d.Calib, err = calibrate.Run(c.Context(), calibrate.Options{Dir: dir, Env: d.Env.Comparable}); err != nil {
					return err
				}
			}
			return app.Print(d, func(w io.Writer) error { return printDiagnosis(w, d) })
		},
	}
	c.Flags().StringVar(&dir, "data", ".", "folder on the file system that will hold data")
	c.Flags().BoolVar(&limits, "calibrate", false, "measure the machine's limits as well")
	return c
}

func printDiagnosis(w io.Writer, d diagnosis) error {
	e := d.Env
	t := newTable()
	for _, r := range []table.Row{
		{"processor", fmt.Sprintf("%s, %d logical, hypervisor %s, governor %s", e.CPU.Model, e.CPU.Logical,
			cmp.Or(e.CPU.Hypervisor, "none seen"), cmp.Or(e.CPU.Governor, "not shown here"))},
		{"memory", fmt.Sprintf("%s, %s available, huge pages %s", gigabytes(e.Memory.TotalBytes), gigabytes(e.Memory.AvailableBytes), e.Memory.TransparentHugePages)},
		{"kernel", fmt.Sprintf("%s %s, %s, clock %s", e.Kernel.OS, e.Kernel.Release, e.Kernel.Distro, e.Kernel.ClockSource)},
		{"disk", fmt.Sprintf("%s on %s at %s (%s), %s free", e.Disk.FileSystem, e.Disk.Device, e.Disk.Mount, e.Disk.Options, gigabytes(e.Disk.FreeBytes))},
		{"load", fmt.Sprintf("others take %.0f %% of the machine, busiest %v; average %.2f over a minute", 100*e.Load.OthersRatio, e.Load.Processes, e.Load.Load1)},
		{"program", fmt.Sprintf("%s, commit %s, GOMAXPROCS %d", e.Build.Go, e.Build.Commit, e.Build.GOMAXPROCS)},
		{"comparable", e.Comparable},
	} {
		t.AppendRow(r)
	}
	if err := render(w, t, 2); err != nil {
		return err
	}
	if len(e.Advice) == 0 {
		fmt.Fprintln(w, "\nnothing to advise")
	}
	for _, a := range e.Advice {
		fmt.Fprintf(w, "\n! %s\n  why: %s\n  expect: %s\n  test: %s\n", a.Fact, a.Why, a.Effect, a.Test)
	}
	if len(e.Unknown) > 0 {
		var names []string
		for name := range e.Unknown {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(w, "\nunknown here: %v\n", names)
	}
	if d.Calib == nil {
		return nil
	}
	fmt.Fprintln(w)
	t = newTable()
	t.AppendHeader(table.Row{"limit", "median", "lowest", "highest", "what"})
	for _, l := range d.Calib.Limits {
		if l.Unavailable != "" {
			t.AppendRow(table.Row{l.ID, "-", "-", "-", l.Unavailable})
			continue
		}
		t.AppendRow(table.Row{l.ID, limitValue(l, l.Value), limitValue(l, l.Low), limitValue(l, l.High), l.What})
	}
	return render(w, t, 5)
}

// limitValue writes a value in its limit's unit.
func limitValue(l result.Limit, v float64) string {
	switch l.Unit {
	case result.UnitBytesPerS:
		return fmt.Sprintf("%.2f GB/s", v/1e9)
	case result.UnitNs:
		return nanoseconds(int64(v))
	}
	return count(v) + "/s"
}
