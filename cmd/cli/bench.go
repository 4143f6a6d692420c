package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"tidemark/bench/driver/memserver"
	"tidemark/bench/result"
	"tidemark/bench/run"
	"tidemark/bench/stats"
	"tidemark/bench/suites"
	"tidemark/bench/workload"
)

// newBenchCommand is `tidemark bench`.
func newBenchCommand(app *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure the broker, its engines and its clients on this machine",
		Long: `Measure on this machine. A suite is a YAML file of experiments; some come with
the program (tidemark bench list). Every run has a fresh broker process and data
directory; runs of all cells alternate in blocks, so that a drift of the machine
hits all of them.`,
	}
	c.AddCommand(newBenchListCommand(app), newBenchPlanCommand(app), newBenchRunCommand(app), newBenchCompareCommand(app),
		newBenchSettingsCommand(app), newMemoryServerCommand(app))
	return c
}

// loadSuite reads and checks a suite; a mistake in it is an error of usage.
func loadSuite(name string) (*workload.Spec, []byte, error) {
	text, err := suites.Read(name)
	if err != nil {
		return nil, nil, WithCode(ExitUsage, err)
	}
	spec, err := workload.Parse(text)
	if err != nil {
		return nil, nil, Usagef("suite %s:%w", name, err)
	}
	return spec, text, nil
}

func newBenchListCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the suites that come with the program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			type line struct {
				Name    string  `json:"name"`
				About   string  `json:"about"`
				Runs    int     `json:"runs"`
				Seconds float64 `json:"seconds"`
			}
			var lines []line
			for _, name := range suites.Names() {
				spec, text, err := loadSuite(name)
				if err != nil {
					return err
				}
				plan, _ := run.Plan(spec, text, nil)
				lines = append(lines, line{name, spec.About, plan.Totals.Runs, plan.Totals.Seconds})
			}
			return app.Print(lines, func(w io.Writer) error {
				t := newTable()
				t.AppendHeader(table.Row{"suite", "runs", "takes about", "what for"})
				for _, l := range lines {
					t.AppendRow(table.Row{l.Name, l.Runs, minutes(l.Seconds), l.About})
				}
				return render(w, t, 4)
			})
		},
	}
}

func newBenchPlanCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "plan SUITE",
		Short:   "Say what a suite would run, how long it takes and how much it writes",
		Example: "  tidemark bench plan quick\n  tidemark bench plan ./mine.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, text, err := loadSuite(args[0])
			if err != nil {
				return err
			}
			plan, _ := run.Plan(spec, text, os.Args)
			return app.Print(plan, func(w io.Writer) error { return printPlan(w, plan) })
		},
	}
}

func newBenchSettingsCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "settings",
		Short: "List the workload and client properties that a suite may set or vary",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return app.Print(workload.Settings, func(w io.Writer) error {
				t := newTable()
				t.AppendHeader(table.Row{"section", "property", "default", "meaning"})
				for _, s := range workload.Settings {
					t.AppendRow(table.Row{s.Section, s.Name, s.Default, s.Doc})
				}
				if err := render(w, t, 4); err != nil {
					return err
				}
				_, err := fmt.Fprintln(w, "topic and broker take any property of Kafka's or of the broker (tidemark broker --print-config)")
				return err
			})
		},
	}
}

func newBenchCompareCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Compare the same cells in two run folders, B against A",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			var folders [2]*result.Folder
			for i, dir := range args {
				var err error
				if folders[i], err = result.Load(dir); err != nil {
					return WithCode(ExitUsage, err)
				}
			}
			c := stats.Between(folders[0], folders[1])
			if len(c.Pairs) == 0 {
				return WithCode(ExitInvalid, errors.New("the two folders have no usable runs of the same cell"))
			}
			return app.Print(c, func(w io.Writer) error { return printPairs(w, c, screenBehind(w).columns) })
		},
	}
}

// newMemoryServerCommand is what a run with target memory starts.
func newMemoryServerCommand(app *App) *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:    "memory-server",
		Short:  "Run the server that discards what it gets and serves from memory",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := memserver.Listen(c.Context(), listen)
			if err != nil {
				return fmt.Errorf("memory server: %w", err)
			}
			if address, ok := l.Addr().(*net.TCPAddr); !ok || !address.IP.IsLoopback() {
				_ = l.Close() // unused
				return Usagef("--listen %s: the memory server authenticates nobody and listens on loopback only", listen)
			}
			if err := json.NewEncoder(app.Out).Encode(map[string]string{"listener": l.Addr().String()}); err != nil {
				return err
			}
			return memserver.Run(c.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "loopback host:port")
	return c
}

// minutes rounds a plan's time for people.
func minutes(seconds float64) string {
	return (time.Duration(seconds) * time.Second).Round(time.Second).String()
}
