package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tidemark/bench/run"
	"tidemark/bench/stats"
	"tidemark/reports/page"
)

// benchFlags are the flags of `tidemark bench run`.
type benchFlags struct {
	results, data     string
	noCalib, noReport bool
}

func newBenchRunCommand(app *App) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "run SUITE",
		Short: "Run a suite and write its run folder and report",
		Long: `Run a suite. Ctrl-C finishes the run in progress, writes table and report of
what there is, and stops; a second Ctrl-C aborts at once.

The exit code is 2 when runs failed or are invalid, and 1 when stopped early or
when what the trials of a suite show is not what it has to be.`,
		Example: "  tidemark bench run quick\n  tidemark bench run ./mine.yaml --results /data/results",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			spec, text, err := loadSuite(args[0])
			if err != nil {
				return err
			}
			o := run.Options{Spec: spec, Text: text, Results: f.results, Data: f.data, Engines: app.Engines,
				Command: os.Args, Calibrate: !f.noCalib}
			progress, done := newProgress(app, o.Calibrate)
			o.Progress = progress
			if !f.noReport {
				o.Report = func(folder string) (string, error) { return page.Write(folder) }
			}
			summary, err := run.Run(c.Context(), o)
			done()
			if summary == nil {
				return err
			}
			if printed := app.Print(summary, func(w io.Writer) error { return printSummary(w, summary) }); printed != nil {
				return errors.Join(err, printed)
			}
			if err == nil {
				err = outcomeOf(summary)
			}
			return err
		},
	}
	c.Flags().StringVar(&f.results, "results", "results", "folder of run folders")
	c.Flags().StringVar(&f.data, "data", "", "folder for the data of runs, deleted after each (default: the results folder)")
	c.Flags().BoolVar(&f.noCalib, "no-calibration", false, "do not measure the machine's limits first")
	c.Flags().BoolVar(&f.noReport, "no-report", false, "do not write report.html")
	return c
}

// outcomeOf is an error where a suite did not end as it should have.
func outcomeOf(s *run.Summary) error {
	if s.Failed+s.Invalid > 0 {
		return WithCode(ExitInvalid, fmt.Errorf("%d runs failed and %d are invalid", s.Failed, s.Invalid))
	}
	if s.Durability != nil {
		if ok, why := stats.GatesHold(s.Durability); !ok {
			return WithCode(ExitFailed, fmt.Errorf("a gate failed: %s", why))
		}
	}
	if !s.Interrupted {
		return nil
	}
	err := fmt.Errorf("stopped after %d of %d runs", s.Done, s.Planned)
	if d := s.Durability; d != nil {
		err = fmt.Errorf("%w and %d of %d trials", err, d.Done, d.Planned)
	}
	return err
}
