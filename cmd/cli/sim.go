package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/replication"
	"tidemark/replication/sim"
)

// simFlags are the settings a simulation can be held to.
type simFlags struct {
	strategy string
	seeds    int
	from     uint64
	hw       bool
	scenario sim.Scenario
}

func newSimCommand(app *App) *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim",
		Short: "Play replication strategies against faults, seed by seed",
		Long: `Play a simulated cluster against faults, one run a seed, and look at every
invariant after every event. What the seeds reached is printed as a table; a
violation is printed with its settings, a smaller run that shows it too, and the
command that replays it. Ctrl-C keeps the table.

By default faults stay within what the settings promise to survive, and nothing
acknowledged may be lost. What faults set off takes a few seeds beyond it all the
same: the table counts those, and what they lost is no violation. With --unsafe
faults exceed the promise, and losses are counted.`,
		Example: `  tidemark sim --strategy isr --seeds 10000
  tidemark sim --strategy quorum --flush os --unsafe
  tidemark sim replay isr:1234`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			specs, err := f.specs(app.Strategies)
			if err != nil {
				return err
			}
			return runSim(cmd.Context(), app, f, specs)
		},
	}
	f.bind(c)
	c.Flags().StringVar(&f.strategy, "strategy", "", "async, sync, isr or quorum; all of them if not given")
	c.Flags().IntVar(&f.seeds, "seeds", 10000, "how many seeds of each strategy")
	c.Flags().Uint64Var(&f.from, "from", 1, "the first seed")
	c.AddCommand(newSimReplayCommand(app))
	return c
}

// bind adds the flags that a replay needs too.
func (f *simFlags) bind(c *cobra.Command) {
	s := &f.scenario
	c.Flags().StringVar(&s.Acks, "acks", "", "0, 1 or all; a mixture if not given")
	c.Flags().StringVar(&s.Flush, "flush", "", "os or batch; either if not given")
	c.Flags().StringVar(&s.ISRUpdate, "isr-update", "", "controller or zookeeper; either if not given")
	c.Flags().StringVar(&s.ELR, "elr", "", "on or off; either if not given")
	c.Flags().IntVar(&s.MinISR, "min-isr", 0, "min.insync.replicas; 1 or 2 if not given")
	c.Flags().BoolVar(&f.hw, "truncate-to-hw", false, "followers truncate to their high watermark, the scheme that loses")
	c.Flags().BoolVar(&s.UncleanElection, "unclean", false, "allow unclean leader election")
	c.Flags().BoolVar(&s.Unsafe, "unsafe", false, "let faults exceed what the settings promise to survive")
	c.Flags().StringVar(&s.Row, "row", "", "play a row of the list of faults instead of random ones: "+strings.Join(sim.Rows(), " "))
}

// check looks at the words among the flags.
func (f *simFlags) check() error {
	s := &f.scenario
	for _, flag := range []struct {
		name, value string
		known       []string
	}{
		{"acks", s.Acks, []string{"0", "1", "all"}}, {"flush", s.Flush, []string{"os", "batch"}}, {"elr", s.ELR, []string{"on", "off"}},
		{"isr-update", s.ISRUpdate, []string{"controller", "zookeeper"}}, {"row", s.Row, sim.Rows()},
	} {
		if flag.value != "" && !slices.Contains(flag.known, flag.value) {
			return Usagef("--%s %q: want one of %s", flag.name, flag.value, strings.Join(flag.known, ", "))
		}
	}
	if s.MinISR < 0 || s.MinISR > 3 {
		return Usagef("--min-isr %d: there are 3 replicas", s.MinISR)
	}
	if f.hw {
		s.Truncation = replication.ByHighWatermark
	}
	return nil
}

// specs are the strategies asked for.
func (f *simFlags) specs(known replication.Catalog) ([]replication.Spec, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.seeds < 1 {
		return nil, Usagef("--seeds %d: want at least one", f.seeds)
	}
	if f.strategy == "" {
		return known.Specs(), nil
	}
	spec, err := known.Find(f.strategy)
	if err != nil {
		return nil, WithCode(ExitUsage, err)
	}
	return []replication.Spec{spec}, nil
}

// simReport is the JSON document of a simulation.
type simReport struct {
	Strategy string  `json:"strategy"`
	From     uint64  `json:"from"`
	Seconds  float64 `json:"seconds"`
	sim.Total
	Reached    map[string]int `json:"reached"`
	Violations []simViolation `json:"violations"`
}

type simViolation struct {
	Seed      uint64 `json:"seed"`
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
	Replay    string `json:"replay"`
}

func runSim(ctx context.Context, app *App, f simFlags, specs []replication.Spec) error {
	var reports []simReport
	violated, played := 0, 0
	progress := newSeedProgress(app.Err, f.seeds*len(specs))
	for _, spec := range specs {
		s := f.scenario
		s.Spec = spec
		began := time.Now()
		total := sim.Many{Scenario: s, From: f.from, Seeds: f.seeds, StopAfter: 20, Done: progress.done}.Run(ctx)
		reports = append(reports, reportOf(f, s, total, time.Since(began)))
		violated += len(total.Violations)
		played += total.Seeds
	}
	progress.close()
	err := app.Print(reports, func(w io.Writer) error {
		writeSimTable(w, reports)
		for _, r := range reports {
			writeViolations(ctx, w, app.Strategies, f, r)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case violated > 0:
		return fmt.Errorf("violations: %d in %d seeds", violated, played)
	case ctx.Err() != nil:
		return WithCode(ExitInvalid, fmt.Errorf("interrupted after %d of %d seeds", played, f.seeds*len(specs)))
	}
	return nil
}

func reportOf(f simFlags, s sim.Scenario, total sim.Total, took time.Duration) simReport {
	r := simReport{Strategy: s.Spec.Name, From: f.from, Seconds: took.Seconds(), Total: total, Reached: map[string]int{}, Violations: []simViolation{}}
	for _, reach := range sim.Reaches() {
		r.Reached[reach.String()] = total.ReachedIn[reach]
	}
	sort.Slice(total.Violations, func(a, b int) bool { return total.Violations[a].Seed < total.Violations[b].Seed })
	for _, v := range total.Violations {
		r.Violations = append(r.Violations, simViolation{
			Seed: v.Seed, Invariant: v.Violation.Invariant, Text: v.Violation.Text, Replay: replayLine(s, v.Seed),
		})
	}
	return r
}

// replayLine is the command that plays one seed again.
func replayLine(s sim.Scenario, seed uint64) string {
	line := fmt.Sprintf("tidemark sim replay %s:%d", s.Spec.Name, seed)
	for _, flag := range []struct{ name, value string }{
		{"acks", s.Acks}, {"flush", s.Flush}, {"isr-update", s.ISRUpdate}, {"elr", s.ELR}, {"row", s.Row},
	} {
		if flag.value != "" {
			line += " --" + flag.name + " " + flag.value
		}
	}
	if s.MinISR > 0 {
		line += fmt.Sprintf(" --min-isr %d", s.MinISR)
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"truncate-to-hw", s.Truncation == replication.ByHighWatermark}, {"unclean", s.UncleanElection}, {"unsafe", s.Unsafe}} {
		if flag.on {
			line += " --" + flag.name
		}
	}
	return line
}
