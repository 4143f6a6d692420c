package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/trace"
	"tidemark/replication"
	"tidemark/replication/sim"
)

func newSimReplayCommand(app *App) *cobra.Command {
	var f simFlags
	var jsonl, only string
	var plain bool
	c := &cobra.Command{
		Use:   "replay STRATEGY:SEED",
		Short: "Step through the events of one seed",
		Long: `Play one seed again and print its events. On a terminal it steps: Enter or n
goes on, p goes back, a number jumps to that event, /TEXT to the next event with
that text, q ends. The flags are those the seed was found with.`,
		Example: `  tidemark sim replay isr:1234
  tidemark sim replay quorum:7 --jsonl trace.jsonl --plain | less`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			seed, err := f.seed(app.Strategies, args[0])
			if err != nil {
				return err
			}
			kinds, err := wanted(only)
			if err != nil {
				return err
			}
			return replay(cmd.Context(), app, f, seed, replayTo{jsonl: jsonl, kinds: kinds, plain: plain})
		},
	}
	f.bind(c)
	c.Flags().StringVar(&jsonl, "jsonl", "", "also write the events to this file, as schema/trace-v1.json has them")
	c.Flags().StringVar(&only, "only", "", "print the events of these kinds only, with commas: isr,leader,truncate")
	c.Flags().BoolVar(&plain, "plain", false, "print all events instead of stepping")
	return c
}

// seed takes STRATEGY:SEED apart.
func (f *simFlags) seed(known replication.Catalog, arg string) (uint64, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	name, number, ok := strings.Cut(arg, ":")
	seed, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return 0, Usagef("%q: want STRATEGY:SEED, as in isr:1234", arg)
	}
	spec, err := known.Find(name)
	if err != nil {
		return 0, WithCode(ExitUsage, err)
	}
	f.scenario.Spec = spec
	return seed, nil
}

// replayTo is where the events of a replay go.
type replayTo struct {
	jsonl string
	kinds map[string]bool // empty is all
	plain bool
}

func replay(ctx context.Context, app *App, f simFlags, seed uint64, to replayTo) error {
	sink := &replaySink{wanted: to.kinds}
	if app.JSON {
		sink.json = trace.NewWriter(app.Out)
	}
	if to.jsonl != "" {
		file, err := os.Create(to.jsonl)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // closed below; a second close does nothing
		sink.file = trace.NewWriter(file)
		r := sim.Record(ctx, seed, f.scenario, sink)
		if err := sink.file.Flush(); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
		return show(app, sink, r, to.plain)
	}
	return show(app, sink, sim.Record(ctx, seed, f.scenario, sink), to.plain)
}

// replaySink keeps the events as text, and passes them on as JSON.
type replaySink struct {
	wanted     map[string]bool
	lines      []string
	file, json *trace.Writer
}

// Write implements trace.Sink.
func (s *replaySink) Write(e *trace.Event) {
	if s.file != nil {
		s.file.Write(e)
	}
	if len(s.wanted) > 0 && !s.wanted[e.Kind.String()] {
		return
	}
	if s.json != nil {
		s.json.Write(e)
		return
	}
	s.lines = append(s.lines, string(trace.AppendText(nil, e)))
}

// show prints the events, or steps through them where somebody sits there.
func show(app *App, s *replaySink, r sim.Result, plain bool) error {
	switch {
	case s.json != nil:
		if err := s.json.Flush(); err != nil {
			return err
		}
	case !plain && onTerminal(app.Out) && onTerminal(os.Stdin):
		fmt.Fprintln(app.Out, r.Options)
		step(os.Stdin, app.Out, s.lines)
	default:
		fmt.Fprintln(app.Out, r.Options)
		for _, line := range s.lines {
			fmt.Fprintln(app.Out, line)
		}
	}
	if r.Violation != nil {
		return r.Violation
	}
	fmt.Fprintf(app.Err, "%d events, %d records acknowledged, no violation\n", r.Events, r.Acked)
	return nil
}

// step shows one event after another as the reader asks for them.
func step(in io.Reader, out io.Writer, lines []string) {
	keys := bufio.NewScanner(in)
	at := 0
	for at >= 0 && at < len(lines) {
		fmt.Fprintf(out, "%d/%d %s\n[Enter/n next, p back, NUMBER, /TEXT, q] ", at+1, len(lines), lines[at])
		if !keys.Scan() {
			return
		}
		key := strings.TrimSpace(keys.Text())
		if key == "q" {
			return
		}
		at = target(key, at, lines)
	}
}

// target is the event that a key leads to.
func target(key string, at int, lines []string) int {
	if text, ok := strings.CutPrefix(key, "/"); ok {
		for i := at + 1; i < len(lines); i++ {
			if strings.Contains(lines[i], text) {
				return i
			}
		}
		return at
	}
	if n, err := strconv.Atoi(key); err == nil {
		return min(max(n, 1), len(lines)) - 1
	}
	if key == "p" {
		return max(at-1, 0)
	}
	return at + 1
}
