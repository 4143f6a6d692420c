package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/internal/nearest"
)

// listedGroup is one row of `groups list`.
type listedGroup struct {
	Group       string `json:"group"`
	State       string `json:"state"`
	Protocol    string `json:"protocol_type"`
	Coordinator int32  `json:"coordinator"`
}

// groupStates are the states of groups; the last two are of KIP-848.
var groupStates = []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling"}

func newGroupsListCommand(app *App, f *clientFlags) *cobra.Command {
	var states []string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the groups with their states",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, state := range states {
				if !slices.Contains(groupStates, state) {
					return Usagef("--state: no group is %q (there are: %s)%s", state, strings.Join(groupStates, ", "), nearest.Suggest(state, groupStates))
				}
			}
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				groups, err := admin.ListGroups(ctx, states...)
				if err != nil && !partial(err) {
					return fmt.Errorf("list groups: %w", err)
				}
				if printed := printGroupList(app, groups); printed != nil {
					return printed
				}
				return unanswered(err)
			})
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "only groups in these states: "+strings.Join(groupStates, ", "))
	return c
}

func printGroupList(app *App, groups kadm.ListedGroups) error {
	rows := []listedGroup{}
	for _, g := range groups.Sorted() {
		rows = append(rows, listedGroup{g.Group, g.State, g.ProtocolType, g.Coordinator})
	}
	return app.Print(rows, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "GROUP\tSTATE\tPROTOCOL TYPE\tCOORDINATOR")
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", r.Group, r.State, orDash(r.Protocol), r.Coordinator)
		}
		return t.Flush()
	})
}

// orDash shows that there is nothing to show.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
