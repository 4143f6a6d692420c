package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"tidemark/replication"
	"tidemark/replication/sim"
)

// writeSimTable prints what the seeds came to and what they reached, a column a
// strategy.
func writeSimTable(w io.Writer, reports []simReport) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	header := table.Row{""}
	for _, r := range reports {
		header = append(header, r.Strategy)
	}
	t.AppendHeader(header)
	row := func(name string, value func(simReport) any) {
		line := table.Row{name}
		for _, r := range reports {
			line = append(line, value(r))
		}
		t.AppendRow(line)
	}
	row("seeds", func(r simReport) any { return r.Seeds })
	row("events a seed", func(r simReport) any { return r.Events / int64(max(1, r.Seeds)) })
	row("events a second", func(r simReport) any { return count(float64(r.Events) / max(r.Seconds, 1e-9)) })
	row("seeds with three kinds of fault or more", func(r simReport) any { return share(r.ThreeKinds, r.Seeds) })
	row("seeds with faults beyond the promise", func(r simReport) any { return share(r.Exceeded, r.Seeds) })
	row("records acknowledged", func(r simReport) any { return r.Acked })
	row("seeds that lost some of acks=all", func(r simReport) any { return r.Losing })
	row("seeds that lost some of acks=1", func(r simReport) any { return r.LosingLeader })
	row("violations", func(r simReport) any { return len(r.Violations) })
	t.AppendSeparator()
	for _, reach := range sim.Reaches() {
		row(reach.String(), func(r simReport) any { return r.Reached[reach.String()] })
	}
	t.AppendFooter(table.Row{"the lower part counts seeds that reached it"})
	t.Render()
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d (%d %%)", n, 100*n/of)
}

// shown is how many violations are shrunk and printed in full.
const shown = 3

// writeViolations prints the violations of one strategy: a few with their
// settings and the smaller run, the others as a line.
func writeViolations(ctx context.Context, w io.Writer, known replication.Catalog, f simFlags, r simReport) {
	for i, v := range r.Violations {
		fmt.Fprintf(w, "\n%s:%d %s: %s\n  %s\n", r.Strategy, v.Seed, v.Invariant, v.Text, v.Replay)
		if i >= shown || ctx.Err() != nil {
			continue
		}
		s := f.scenario
		spec, err := known.Find(r.Strategy)
		if err != nil {
			continue // it was found a moment ago
		}
		s.Spec = spec
		small, result := sim.Shrink(ctx, v.Seed, s, r.Total.Violations[i])
		fmt.Fprintf(w, "  go test ./replication/sim -run TestReplay -seed %d -strategy %s\n", v.Seed, r.Strategy)
		fmt.Fprintf(w, "settings: %s\n", r.Total.Violations[i].Options)
		if result.Violation == nil {
			continue
		}
		fmt.Fprintf(w, "shrunk to %d of %d faults, %d brokers, %d producers: %s\nsettings: %s\nits last events:\n", len(small.Keep),
			len(r.Total.Violations[i].Options.Faults), result.Options.Brokers, result.Options.Producers, result.Violation.Text, result.Options)
		tail := sim.NewTail(200)
		sim.Record(ctx, v.Seed, small, tail)
		fmt.Fprintf(w, "  %s\n", strings.Join(tail.Lines(), "\n  "))
	}
}
