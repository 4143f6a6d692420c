package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// createdTopic is the result of `topics create`.
type createdTopic struct {
	Topic             string `json:"topic"`
	ID                string `json:"id"`
	Partitions        int32  `json:"partitions"`
	ReplicationFactor int16  `json:"replication_factor"`
}

func newTopicsCreateCommand(app *App, f *clientFlags) *cobra.Command {
	var partitions int32
	var factor int16
	var configs []string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a topic",
		Example: `  tidemark topics create orders --partitions 8
  tidemark topics create fast --config storage.append.engine=mapped --config retention.ms=3600000`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, values, err := parsePairs("config", configs)
			if err != nil {
				return err
			}
			overrides := make(map[string]*string, len(values))
			for name, value := range values {
				overrides[name] = &value
			}
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				r, err := admin.CreateTopic(ctx, partitions, factor, overrides, args[0])
				if err != nil {
					return fmt.Errorf("create topic %s: %w", args[0], refusal(err, r.ErrMessage))
				}
				t := createdTopic{r.Topic, topicID(r.ID), r.NumPartitions, r.ReplicationFactor}
				return app.Print(t, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "created %s: partitions %d, replication factor %d, id %s\n",
						t.Topic, t.Partitions, t.ReplicationFactor, t.ID)
					return err
				})
			})
		},
	}
	c.Flags().Int32Var(&partitions, "partitions", -1, "number of partitions; -1 takes the broker's num.partitions")
	c.Flags().Int16Var(&factor, "replication-factor", -1, "replicas of each partition; -1 takes the broker's default.replication.factor")
	c.Flags().StringArrayVar(&configs, "config", nil, "one topic setting as name=value; may be repeated")
	return c
}
