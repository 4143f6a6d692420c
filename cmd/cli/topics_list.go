package cli

import (
	"context"
	"fmt"
	"io"
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
	// Records is the number of offsets between log start and end.
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
				if err != nil {
					return err
				}
				return app.Print(rows, func(w io.Writer) error {
					t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
					fmt.Fprintln(t, "TOPIC\tPARTITIONS\tREPLICAS\tRECORDS\tID")
					for _, r := range rows {
						fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", r.Topic, r.Partitions, r.Replicas, r.Records, r.ID)
					}
					return t.Flush()
				})
			})
		},
	}
}

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
	if err != nil {
		return nil, err
	}
	for _, t := range topics.Sorted() {
		row := listedTopic{Topic: t.Topic, ID: topicID(t.ID), Partitions: len(t.Partitions), Replicas: t.Partitions.NumReplicas()}
		for p := range t.Partitions {
			start, okStart := starts.Lookup(t.Topic, p)
			end, okEnd := ends.Lookup(t.Topic, p)
			if okStart && okEnd && start.Err == nil && end.Err == nil {
				row.Records += end.Offset - start.Offset
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// listBounds are the log start and log end offsets of topics' partitions.
func listBounds(ctx context.Context, admin *kadm.Client, topics ...string) (starts, ends kadm.ListedOffsets, err error) {
	if starts, err = admin.ListStartOffsets(ctx, topics...); err != nil {
		return nil, nil, fmt.Errorf("list start offsets: %w", err)
	}
	if ends, err = admin.ListEndOffsets(ctx, topics...); err != nil {
		return nil, nil, fmt.Errorf("list end offsets: %w", err)
	}
	return starts, ends, nil
}
