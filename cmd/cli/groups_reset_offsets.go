package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// resetOffset is one row of `groups reset-offsets`.
type resetOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// From is -1 where nothing was committed.
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// resetTarget is where offsets are moved to; exactly one is given.
type resetTarget struct {
	earliest, latest, current bool
	offset, shift             int64
	when                      string
	execute                   bool
	topics                    []string
}

func newGroupsResetOffsetsCommand(app *App, f *clientFlags) *cobra.Command {
	var r resetTarget
	c := &cobra.Command{
		Use:   "reset-offsets GROUP --topic TOPIC {--to-earliest|--to-latest|--to-current|--to-offset N|--shift-by N|--to-datetime TIME} [--execute]",
		Short: "Move the committed offsets of a group without members; without --execute, show where to",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(c.Flags().Changed); err != nil {
				return err
			}
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				rows, err := r.plan(ctx, admin, args[0], c.Flags().Changed)
				if err != nil {
					return err
				}
				if r.execute {
					if err := commitRows(ctx, admin, args[0], rows); err != nil {
						return err
					}
				}
				return app.Print(rows, func(w io.Writer) error { return r.print(w, rows) })
			})
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&r.topics, "topic", nil, "topics whose offsets to move, all partitions of each")
	flags.BoolVar(&r.earliest, "to-earliest", false, "to the first record kept")
	flags.BoolVar(&r.latest, "to-latest", false, "to the end")
	flags.BoolVar(&r.current, "to-current", false, "to what is committed, or the end where nothing is")
	flags.Int64Var(&r.offset, "to-offset", 0, "to an offset, or the nearest there is")
	flags.Int64Var(&r.shift, "shift-by", 0, "by so many records, back where negative")
	flags.StringVar(&r.when, "to-datetime", "", "to the first record of that time or later (2006-01-02T15:04:05Z)")
	flags.BoolVar(&r.execute, "execute", false, "do it")
	return c
}

// targets are the flags of which one is given.
var targets = []string{"to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime"}

func (r *resetTarget) check(given func(string) bool) error {
	count := 0
	for _, flag := range targets {
		if given(flag) {
			count++
		}
	}
	switch {
	case count != 1:
		return Usagef("where to? give one of --%s", strings.Join(targets, ", --"))
	case len(r.topics) == 0:
		return Usagef("of which topics? give --topic")
	}
	return nil
}

// known is what moving offsets has to know of the topics.
type known struct {
	starts, ends, at kadm.ListedOffsets
	committed        kadm.OffsetResponses
}

// look asks the brokers.
func (r *resetTarget) look(ctx context.Context, admin *kadm.Client, group string) (k known, err error) {
	if k.starts, err = admin.ListStartOffsets(ctx, r.topics...); err == nil {
		err = k.starts.Error()
	}
	if err != nil {
		return k, fmt.Errorf("list start offsets: %w", err)
	}
	if k.ends, err = admin.ListEndOffsets(ctx, r.topics...); err == nil {
		err = k.ends.Error()
	}
	if err != nil {
		return k, fmt.Errorf("list end offsets: %w", err)
	}
	err = coordinated(ctx, admin, []string{group}, func() (err error) {
		k.committed, err = admin.FetchOffsets(ctx, group)
		return err
	})
	if err != nil {
		return k, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	if r.when == "" {
		return k, nil
	}
	when, err := time.Parse(time.RFC3339, r.when)
	if err != nil {
		return k, Usagef("--to-datetime %s: %w", r.when, err)
	}
	if k.at, err = admin.ListOffsetsAfterMilli(ctx, when.UnixMilli(), r.topics...); err != nil {
		return k, fmt.Errorf("list offsets of %s: %w", r.when, err)
	}
	return k, nil
}

// plan computes the new offsets, within what the log keeps.
func (r *resetTarget) plan(ctx context.Context, admin *kadm.Client, group string, given func(string) bool) ([]resetOffset, error) {
	k, err := r.look(ctx, admin, group)
	if err != nil {
		return nil, err
	}
	rows := []resetOffset{}
	for _, end := range k.ends.Offsets().Sorted() {
		start, _ := k.starts.Lookup(end.Topic, end.Partition)
		row := resetOffset{Topic: end.Topic, Partition: end.Partition, From: -1, To: end.At}
		if c, ok := k.committed.Lookup(end.Topic, end.Partition); ok && c.Err == nil {
			row.From = c.At
		}
		if given("shift-by") && row.From < 0 {
			return nil, fmt.Errorf("shift %s-%d: nothing is committed", row.Topic, row.Partition)
		}
		r.aim(&row, start.Offset, k.at, given)
		row.To = min(max(row.To, start.Offset), end.At)
		rows = append(rows, row)
	}
	return rows, nil
}

// aim sets where a row moves to, but for the end, where it stands.
func (r *resetTarget) aim(row *resetOffset, start int64, at kadm.ListedOffsets, given func(string) bool) {
	switch {
	case r.earliest:
		row.To = start
	case r.current && row.From >= 0:
		row.To = row.From
	case given("to-offset"):
		row.To = r.offset
	case given("shift-by"):
		row.To = row.From + r.shift
	case r.when != "":
		if o, ok := at.Lookup(row.Topic, row.Partition); ok && o.Offset >= 0 {
			row.To = o.Offset
		}
	}
}

// commitRows commits as nobody, which the coordinator allows while the group has no
// members.
func commitRows(ctx context.Context, admin *kadm.Client, group string, rows []resetOffset) error {
	offsets := kadm.Offsets{}
	for _, r := range rows {
		offsets.Add(kadm.Offset{Topic: r.Topic, Partition: r.Partition, At: r.To, LeaderEpoch: -1})
	}
	if err := admin.CommitAllOffsets(ctx, group, offsets); err != nil {
		return fmt.Errorf("move offsets of group %s (it must have no members): %w", group, err)
	}
	return nil
}

func (r *resetTarget) print(w io.Writer, rows []resetOffset) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOPIC\tPARTITION\tFROM\tTO")
	for _, row := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", row.Topic, row.Partition, row.From, row.To)
	}
	if !r.execute {
		fmt.Fprintln(t, "nothing was moved; --execute does it")
	}
	return t.Flush()
}
