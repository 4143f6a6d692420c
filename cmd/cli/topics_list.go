package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// listedTopic is one row of `topics list`.
type listedTopic struct {
	Topic      string `json:"topic"`
	ID         string `json:"id"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replication_factor"`
	// Records is the number of offsets between log start and end, -1 where the leader
	// of a partition does not tell.
	Records int64 `json:"records"`
}

func newTopicsListCommand(app *App, f *clientFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the topics with their sizes in records",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				rows, err := listTopics(ctx, admin)
				if err != nil && !partial(err) {
					return err
				}
				printed := app.Print(rows, func(w io.Writer) error {
					t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
					fmt.Fprintln(t, "TOPIC\tPARTITIONS\tREPLICAS\tRECORDS\tID")
					for _, r := range rows {
						fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", r.Topic, r.Partitions, r.Replicas, orUnknown(r.Records), r.ID)
					}
					return t.Flush()
				})
				return errors.Join(printed, unanswered(err))
			})
		},
	}
}

// orUnknown shows a number of which -1 means that nobody told.
func orUnknown(n int64) string {
	if n < 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// listTopics lists every topic; a partial error leaves sizes unknown.
func listTopics(ctx context.Context, admin *kadm.Client) ([]listedTopic, error) {
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	rows := make([]listedTopic, 0, len(topics))
	if len(topics) == 0 {
		return rows, nil
	}
	starts, ends, err := listBounds(ctx, admin, topics.Names()...)
	if err != nil && !partial(err) {
		return nil, err
	}
	for _, t := range topics.Sorted() {
		rows = append(rows, listedTopic{t.Topic, topicID(t.ID), len(t.Partitions), t.Partitions.NumReplicas(), sizeOf(&t, starts, ends)})
	}
	return rows, err
}

// sizeOf is a topic's Records.
func sizeOf(t *kadm.TopicDetail, starts, ends kadm.ListedOffsets) (records int64) {
	for p := range t.Partitions {
		start, end := offsetOf(starts, t.Topic, p), offsetOf(ends, t.Topic, p)
		if start < 0 || end < 0 {
			return -1
		}
		records += end - start
	}
	return records
}

// listBounds are the log start and log end offsets of topics' partitions; with a partial
// error, of those whose leaders answer.
func listBounds(ctx context.Context, admin *kadm.Client, topics ...string) (starts, ends kadm.ListedOffsets, err error) {
	starts, err = admin.ListStartOffsets(ctx, topics...)
	if err != nil && !partial(err) {
		return nil, nil, fmt.Errorf("list start offsets: %w", err)
	}
	ends, endErr := admin.ListEndOffsets(ctx, topics...)
	if err = firstError(err, endErr); err != nil {
		return starts, ends, fmt.Errorf("list offsets: %w", err)
	}
	return starts, ends, nil
}
