package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/internal/nearest"
	"tidemark/internal/trace"
)

func newLogTraceCommand(app *App) *cobra.Command {
	var only, tp, jsonl string
	c := &cobra.Command{
		Use:   "trace DIR|FILE...",
		Short: "Print the traces of brokers as one, in the order of their times",
		Long: `Print the traces of brokers as one, in the order of their times, with the causes
of events on other brokers. "tidemark broker --trace DIR" and "tidemark cluster up
--trace" write traces; faults made by "tidemark cluster" stand among the events.
Each line is the time since the first event, who told it and its number, the
partition and its leader epoch, what happened, and what led to it:

  1.5ms b2:7 orders-0@3 truncate from=9 to=7 hw=6 why="diverged" <- b1:4

A line that is not what schema/trace-v1.json says is exit code 2; half a line at the
end, as a kill leaves it, is skipped.`,
		Example: `  tidemark log trace tidemark-cluster/local/traces
  tidemark log trace traces --only leader,isr,truncate,fault --partition orders-0
  tidemark log trace traces --jsonl trace.jsonl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			kinds, err := wanted(only)
			if err != nil {
				return err
			}
			return mergeTraces(app, args, jsonl, traceFilter{kinds: kinds, tp: tp})
		},
	}
	c.Flags().StringVar(&only, "only", "", "print the events of these kinds only, with commas: isr,leader,truncate")
	c.Flags().StringVar(&tp, "partition", "", "print the events of this partition only, and those of none: orders-0")
	c.Flags().StringVar(&jsonl, "jsonl", "", "write the merged events to this file instead, as schema/trace-v1.json has them")
	return c
}

// wanted are kinds of events, by name, with commas in between.
func wanted(list string) (map[string]bool, error) {
	names, known := map[string]bool{}, trace.KindNames()
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		if slices.Contains(known, name) {
			names[name] = true
			continue
		}
		if near := nearest.Name(name, known, 2); near != "" {
			return nil, Usagef("--only: no event is a %q; did you mean %q?", name, near)
		}
		return nil, Usagef("--only: no event is a %q (there are: %s)", name, strings.Join(known, ", "))
	}
	return names, nil
}

// traceFilter says which events are printed.
type traceFilter struct {
	kinds map[string]bool // empty is all
	tp    string
}

func (f traceFilter) passes(e *trace.Event) bool {
	return (len(f.kinds) == 0 || f.kinds[e.Kind.String()]) && (f.tp == "" || e.TopicPartition == "" || e.TopicPartition == f.tp)
}

// mergeTraces prints, or writes to a file.
func mergeTraces(app *App, paths []string, jsonl string, filter traceFilter) error {
	if jsonl == "" {
		return printTraces(app.Out, app.Err, app.JSON, paths, filter)
	}
	file, err := os.Create(jsonl)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // closed below; a second close does nothing
	if err := printTraces(file, app.Err, true, paths, filter); err != nil {
		return err
	}
	return file.Close()
}

// printTraces writes to one and says to the other where the filter leaves nothing.
func printTraces(to, errw io.Writer, asJSON bool, paths []string, filter traceFilter) error {
	out := bufio.NewWriterSize(to, 64<<10)
	var line []byte
	seen, printed := 0, 0
	err := trace.MergeFiles(paths, func(e *trace.Event) error {
		seen++
		if !filter.passes(e) {
			return nil
		}
		printed++
		if asJSON {
			line = trace.AppendJSON(line[:0], e)
		} else {
			line = trace.AppendText(line[:0], e)
		}
		_, err := out.Write(append(line, '\n'))
		return err
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	var bad *trace.LineError
	switch {
	case err == nil && seen > 0 && printed == 0:
		fmt.Fprintf(errw, "none of %d events is of what --only and --partition ask for\n", seen)
	case errors.As(err, &bad):
		return WithCode(ExitInvalid, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; brokers write traces that are started with --trace", err)
	}
	return err
}
