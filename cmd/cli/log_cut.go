package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/commitlog/inspect"
	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// startRecorder begins the record of `tidemark broker --powercut-record`.
func startRecorder(dir string, logDirs []string, logger *slog.Logger) (*powercut.Recorder, error) {
	start := time.Now()
	r, err := powercut.Start(powercut.Options{Dir: dir, Roots: logDirs, RootLock: checkpoint.LockFile})
	if err != nil {
		var locked *vfs.LockedError
		if errors.As(err, &locked) {
			err = fmt.Errorf("%w: stop that process, or use another directory", err)
		}
		return nil, WithCode(ExitUsage, err)
	}
	logger.Warn("recording what is durable; syncs, new files and renames cost more, so do not compare these figures with others",
		"record", r.Dir(), "found", r.Found(), "took", time.Since(start).Round(time.Millisecond))
	return r, nil
}

func newLogCutCommand(app *App) *cobra.Command {
	var seed uint64
	torn := string(powercut.Page)
	c := &cobra.Command{
		Use:   "cut RECORD",
		Short: "Do to a killed broker's data what a power cut would have done",
		Long: `Rewrite the data of a broker that ran with --powercut-record RECORD and was killed
to what a disk might hold had the power failed at that moment. What was synced
stays. Of what was not, the seed decides: pages survive or not, names of new files
vanish, removed files return. The same seed gives the same outcome.

It tells per file what was kept and lost, and per partition the durability debt:
the records that were acknowledged and not durable when the broker died.

A record can be cut once. It is refused while the broker lives, and when the log
directories were opened since without the record.`,
		Example: `  tidemark broker --powercut-record /tmp/record --set log.dirs=/tmp/data   # kill -9 it
  tidemark log cut /tmp/record --seed 7
  tidemark broker --powercut-record /tmp/record --set log.dirs=/tmp/data   # recovers`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o := powercut.CutOptions{Seed: seed, Torn: powercut.Torn(torn)}
			if o.Torn != powercut.Page && o.Torn != powercut.Sector {
				return Usagef("--torn %q: want %s or %s", torn, powercut.Sector, powercut.Page)
			}
			return cutLog(app, args[0], o)
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "decides what survives of what was not synced")
	c.Flags().StringVar(&torn, "torn", torn, "the unit that survives whole or not: page (4 KiB) or sector (512 bytes)")
	return c
}

// cutResult is what `tidemark log cut --json` prints.
type cutResult struct {
	powercut.Report
	// Debt is per partition, taken before the cut; DebtRecords its sum.
	Debt        []partitionDebt `json:"debt"`
	DebtRecords int64           `json:"debt_records"`
}

// partitionDebt is what a partition owed when its broker died.
type partitionDebt struct {
	Partition string `json:"partition"`
	Dir       string `json:"dir"`
	// AckedEnd is the offset after the last record that was acknowledged,
	// DurableEnd that after the last one a power cut cannot take.
	AckedEnd   int64 `json:"acked_end"`
	DurableEnd int64 `json:"durable_end"`
	// DebtRecords is the difference, 0 where it is negative.
	DebtRecords int64 `json:"debt_records"`
}

func cutLog(app *App, dir string, o powercut.CutOptions) (err error) {
	record, err := powercut.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, record.Close()) }()
	var result cutResult
	if result.Debt, err = debtOf(record); err != nil {
		return err
	}
	for _, d := range result.Debt {
		result.DebtRecords += d.DebtRecords
	}
	if result.Report, err = record.Cut(o); err != nil {
		return err
	}
	return app.Print(result, result.print)
}

// debtOf holds what was acknowledged against what the files durably hold.
func debtOf(record *powercut.Record) ([]partitionDebt, error) {
	debts := []partitionDebt{}
	for _, ack := range record.Acks() {
		var segments []inspect.Prefix
		for _, f := range record.Durable(ack.Dir) {
			if base, suffix, ok := commitlog.ParseFileName(f.Name); ok && suffix == commitlog.LogSuffix {
				segments = append(segments, inspect.Prefix{Base: base, Path: f.Path, Bytes: f.Durable, Whole: f.Durable >= f.End})
			}
		}
		end, err := inspect.EndOffset(segments)
		if err != nil {
			return nil, fmt.Errorf("durable end of %s: %w", ack.Dir, err)
		}
		debts = append(debts, partitionDebt{
			Partition: filepath.Base(ack.Dir), Dir: ack.Dir, AckedEnd: ack.End, DurableEnd: end, DebtRecords: max(0, ack.End-end),
		})
	}
	return debts, nil
}

func (r cutResult) print(w io.Writer) error {
	fmt.Fprintf(w, "power cut, seed %d, torn by the %s: unsynced pages and names survived with a chance of %.0f %%\n", r.Seed, r.Torn, 100*r.Keep)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Files) > 0 {
		fmt.Fprint(t, "\nfile\tfate\tsynced bytes\tkept beyond\tlost\tsize\n")
	}
	for _, f := range r.Files {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d → %d\n", f.Path, f.Fate, f.DurableBytes, f.KeptBytes, f.LostBytes, f.SizeBefore, f.SizeAfter)
	}
	if len(r.Names) > 0 {
		fmt.Fprint(t, "\nname\tchange\tsurvived\n")
	}
	for _, n := range r.Names {
		name := n.Path
		if n.To != "" {
			name += " → " + n.To
		}
		fmt.Fprintf(t, "%s\t%s\t%v\n", name, n.Change, n.Happened)
	}
	if len(r.Debt) > 0 {
		fmt.Fprint(t, "\npartition\tacknowledged end\tdurable end\tdebt (records)\n")
	}
	for _, d := range r.Debt {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", d.Partition, d.AckedEnd, d.DurableEnd, d.DebtRecords)
	}
	fmt.Fprintf(t, "\nkept %d and lost %d unsynced bytes; durability debt %d records\n", r.KeptBytes, r.LostBytes, r.DebtRecords)
	return t.Flush()
}
