package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// watchGroups prints a line for each change of a group until ctx ends.
func watchGroups(ctx context.Context, app *App, client *kgo.Client, names []string, interval time.Duration) error {
	w := &groupWatch{app: app, last: map[string]string{}, describe: func(name string) (describedGroup, error) {
		groups, err := describeGroups(ctx, client, []string{name})
		if err != nil {
			return describedGroup{}, err
		}
		return groups[0], nil
	}}
	return every(ctx, interval, func() error {
		for _, name := range names {
			if err := w.look(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// groupWatch knows what was printed last of each group.
type groupWatch struct {
	app      *App
	last     map[string]string
	describe func(name string) (describedGroup, error)
}

// look prints a line if the group has changed. One that is not there yet, or whose
// coordinator is not, is waited for.
func (w *groupWatch) look(name string) error {
	g, err := w.describe(name)
	if err != nil && !comes(err) {
		return err
	}
	now := ""
	if err == nil {
		now = outline(&g)
	}
	last, seen := w.last[name]
	if seen && last == now {
		return nil
	}
	w.last[name] = now
	if err != nil {
		_, err = fmt.Fprintf(w.app.Err, "%v; waiting\n", err)
		return err
	}
	return printChange(w.app.Out, w.app.JSON, &g)
}

// comes says whether an error goes away by itself, with the first member of a group at
// the latest.
func comes(err error) bool { return passes(err) || errors.Is(err, kerr.GroupIDNotFound) }

// printChange prints one line, in both forms.
func printChange(w io.Writer, asJSON bool, g *describedGroup) error {
	at := time.Now()
	if asJSON {
		return json.NewEncoder(w).Encode(struct {
			Time time.Time `json:"time"`
			*describedGroup
		}{at, g})
	}
	_, err := fmt.Fprintf(w, "%s  %s\n", at.Format("15:04:05.000"), groupLine(g))
	return err
}

// outline is what must change for a line to be printed: all but how long it lasts.
func outline(g *describedGroup) string {
	var b strings.Builder
	fmt.Fprint(&b, g.State, " ", g.Pending)
	if g.Generation != nil {
		fmt.Fprint(&b, " ", *g.Generation)
	}
	for _, m := range g.Members {
		fmt.Fprint(&b, " ", m.Member, m.WaitedFor)
	}
	return b.String()
}

// groupLine is a group in one line: state and for how long, generation, members, and
// who is waited for.
func groupLine(g *describedGroup) string {
	line := fmt.Sprintf("%s  %s", g.Group, g.State)
	if g.InStateMs != nil {
		line += fmt.Sprintf(" for %s", time.Duration(*g.InStateMs)*time.Millisecond)
	}
	if g.Generation != nil {
		line += fmt.Sprintf(", generation %d", *g.Generation)
	}
	if g.Protocol != "" {
		line += ", " + g.Protocol
	}
	line += fmt.Sprintf(", %d members", len(g.Members))
	if g.Pending > 0 {
		line += fmt.Sprintf(", %d about to join", g.Pending)
	}
	var waited []string
	for _, m := range g.Members {
		switch {
		case m.WaitedFor && m.SilentMs != nil:
			waited = append(waited, fmt.Sprintf("%s (silent for %s)", m.Member, time.Duration(*m.SilentMs)*time.Millisecond))
		case m.WaitedFor:
			waited = append(waited, m.Member)
		}
	}
	if len(waited) > 0 {
		slices.Sort(waited)
		line += ", waiting for " + strings.Join(waited, ", ")
	}
	return line
}
