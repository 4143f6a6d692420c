package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/broker/config"
	"tidemark/internal/nearest"
)

func newTopicsAlterCommand(app *App, f *clientFlags) *cobra.Command {
	var partitions int
	var configs, unset []string
	c := &cobra.Command{
		Use:   "alter NAME",
		Short: "Change a topic's settings, or add partitions",
		Example: `  tidemark topics alter orders --config retention.ms=60000 --unset segment.bytes
  tidemark topics alter orders --partitions 16`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			names, values, err := parsePairs("config", configs)
			if err != nil {
				return err
			}
			var changes []kadm.AlterConfig
			for _, name := range names {
				value := values[name]
				changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
			}
			for _, name := range unset {
				if err := knownSetting(name); err != nil {
					return err
				}
				changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
			}
			if len(changes) == 0 && partitions == 0 {
				return Usagef("nothing to change: give --config, --unset or --partitions")
			}
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				if err := alterTopic(ctx, admin, args[0], partitions, changes); err != nil {
					return err
				}
				return app.Print(map[string]string{"altered": args[0]}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "altered %s\n", args[0])
					return err
				})
			})
		},
	}
	c.Flags().IntVar(&partitions, "partitions", 0, "new number of partitions; it can only grow")
	c.Flags().StringArrayVar(&configs, "config", nil, "one topic setting as name=value; may be repeated")
	c.Flags().StringArrayVar(&unset, "unset", nil, "a setting that goes back to the broker's; may be repeated")
	return c
}

// knownSetting refuses a name that no topic can have: a broker takes away what is
// not there, as Kafka's does, and says nothing.
func knownSetting(name string) error {
	if _, ok := config.FindTopic(name); ok {
		return nil
	}
	var known []string
	for _, d := range config.TopicDefs() {
		known = append(known, d.TopicName)
	}
	if near := nearest.Name(name, known, len(name)/3); near != "" {
		return Usagef("--unset %s: no setting of topics; did you mean %q?", name, near)
	}
	return Usagef("--unset %s: no setting of topics; docs/reference/config.md lists them", name)
}

func alterTopic(ctx context.Context, admin *kadm.Client, topic string, partitions int, changes []kadm.AlterConfig) error {
	if len(changes) > 0 {
		responses, err := admin.AlterTopicConfigs(ctx, changes, topic)
		if err != nil {
			return fmt.Errorf("alter topic %s: %w", topic, err)
		}
		for _, r := range responses {
			if r.Err != nil {
				return fmt.Errorf("alter topic %s: %w", topic, noTopic(ctx, admin, topic, refusal(r.Err, r.ErrMessage)))
			}
		}
	}
	if partitions == 0 {
		return nil
	}
	responses, err := admin.UpdatePartitions(ctx, partitions, topic)
	if err != nil {
		return fmt.Errorf("add partitions to %s: %w", topic, err)
	}
	for _, r := range responses {
		if r.Err != nil {
			return fmt.Errorf("add partitions to %s: %w", topic, noTopic(ctx, admin, topic, refusal(r.Err, r.ErrMessage)))
		}
	}
	return nil
}
