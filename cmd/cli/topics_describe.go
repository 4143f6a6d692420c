package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/internal/nearest"
)

// describedTopic is one topic of `topics describe`.
type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"id"`
	Partitions []describedPartition `json:"partitions"`
	Config     []configRow          `json:"config"`
}

type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leader_epoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	// Start and End are -1 where the leader does not tell.
	Start int64  `json:"log_start_offset"`
	End   int64  `json:"high_watermark"`
	Error string `json:"error,omitempty"`
}

func newTopicsDescribeCommand(app *App, f *clientFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME…",
		Short: "Show partitions, leaders, offsets and settings of topics",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				topics, err := describeTopics(ctx, admin, args)
				if err != nil && !partial(err) {
					return err
				}
				printed := app.Print(topics, func(w io.Writer) error { return printDescribed(w, topics) })
				return errors.Join(printed, unanswered(err))
			})
		},
	}
}

// meantTopic asks whether a topic with nearly that name was meant, if there is one.
func meantTopic(ctx context.Context, admin *kadm.Client, name string) string {
	all, err := admin.ListTopics(ctx)
	if err != nil || all.Has(name) {
		return ""
	}
	return meant(name, all.Names(), "topics")
}

// meant asks for the nearest name of a kind, or says which command lists them.
func meant(name string, all []string, kind string) string {
	if near := nearest.Name(name, all, len(name)/3); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return fmt.Sprintf(" `tidemark %s list` shows what there is", kind)
}

// noTopic adds to a broker's error that it does not have a topic which one was meant.
func noTopic(ctx context.Context, admin *kadm.Client, name string, err error) error {
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return err
	}
	return fmt.Errorf("%w%s", err, meantTopic(ctx, admin, name))
}

// describeTopics describes topics; a partial error leaves offsets unknown.
func describeTopics(ctx context.Context, admin *kadm.Client, names []string) ([]describedTopic, error) {
	details, err := admin.ListTopics(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	for _, d := range details.Sorted() {
		if d.Err != nil {
			return nil, fmt.Errorf("describe topic %s: %w", d.Topic, noTopic(ctx, admin, d.Topic, d.Err))
		}
	}
	starts, ends, silent := listBounds(ctx, admin, names...)
	if silent != nil && !partial(silent) {
		return nil, silent
	}
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("describe settings: %w", err)
	}
	var topics []describedTopic
	for _, d := range details.Sorted() {
		t := describedTopic{Topic: d.Topic, ID: topicID(d.ID)}
		for _, p := range d.Partitions.Sorted() {
			row := describedPartition{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR}
			if p.Err != nil {
				row.Error = p.Err.Error()
			}
			row.Start, row.End = offsetOf(starts, d.Topic, p.Partition), offsetOf(ends, d.Topic, p.Partition)
			t.Partitions = append(t.Partitions, row)
		}
		rc, err := configs.On(d.Topic, nil)
		if err != nil || rc.Err != nil {
			return nil, fmt.Errorf("describe settings of %s: %w", d.Topic, firstError(err, rc.Err))
		}
		for _, entry := range rc.Configs {
			t.Config = append(t.Config, configRow{entry.Key, entry.MaybeValue(), entry.Source.String()})
		}
		sort.Slice(t.Config, func(i, j int) bool { return t.Config[i].Name < t.Config[j].Name })
		topics = append(topics, t)
	}
	return topics, silent
}

// offsetOf is a listed offset, -1 where the leader does not tell.
func offsetOf(listed kadm.ListedOffsets, topic string, partition int32) int64 {
	if o, ok := listed.Lookup(topic, partition); ok && o.Err == nil {
		return o.Offset
	}
	return -1
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func printDescribed(w io.Writer, topics []describedTopic) error {
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  id %s\n", t.Topic, t.ID)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "  PARTITION\tLEADER\tEPOCH\tREPLICAS\tISR\tSTART\tEND")
		for _, p := range t.Partitions {
			fmt.Fprintf(tw, "  %d\t%d\t%d\t%v\t%v\t%s\t%s\t%s\n", p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, orUnknown(p.Start), orUnknown(p.End), p.Error)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(tw, "  SETTING\tVALUE\tSOURCE")
		for _, c := range t.Config {
			fmt.Fprintf(tw, "  %s\t%s\t%s\n", c.Name, c.Value, c.Source)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}
