package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
	"tidemark/bench/process"
	"tidemark/broker/api"
	"tidemark/internal/nearest"
)

func newClusterStatusCommand(app *App, f *clusterFlags) *cobra.Command {
	var watch, all bool
	var interval time.Duration
	c := &cobra.Command{
		Use:   "status [TOPIC…]",
		Short: "Show brokers and partitions: leaders, in-sync replicas, offsets, lags, and what is waited for",
		Long: `Show brokers and partitions: leaders, in-sync replicas, offsets, lags, and what is
waited for. ★ leads, ● is in sync, ○ is not. LEO, the log end offset, and HW, the
high watermark, are what each broker itself says; LAG is what the leader knows of
it. Below a partition stands why its high watermark is behind its log end.`,
		RunE: func(c *cobra.Command, topics []string) error {
			cl, err := f.open()
			if err != nil {
				return err
			}
			look := func() (*cluster.Status, error) { return clusterStatus(c.Context(), cl) }
			if watch { // what is not there may come
				return watchCluster(c.Context(), app, interval, func() (*cluster.Status, error) {
					s, err := look()
					return onlyTopics(s, topics, all), err
				})
			}
			s, err := look()
			if err == nil {
				err = missingTopic(s, topics)
			}
			if err != nil {
				return err
			}
			s = onlyTopics(s, topics, all)
			return app.Print(s, func(w io.Writer) error { return printClusterStatus(w, s, time.Now(), screenBehind(w).columns) })
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "show it again and again until interrupted; with --json a line each time")
	c.Flags().DurationVar(&interval, "interval", 500*time.Millisecond, "how often --watch looks")
	c.Flags().BoolVar(&all, "all", false, "internal topics too")
	return c
}

// clusterStatus is what the brokers tell, and what clients are told where no broker
// tells anything.
func clusterStatus(ctx context.Context, c *cluster.Cluster) (*cluster.Status, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	addMetadata(ctx, c, s)
	return s, nil
}

// onlyTopics leaves out the partitions of other topics; without topics, those of
// internal ones unless all are asked for.
func onlyTopics(s *cluster.Status, topics []string, all bool) *cluster.Status {
	if s == nil {
		return nil
	}
	s.Partitions = slices.DeleteFunc(s.Partitions, func(p cluster.PartitionStatus) bool {
		if len(topics) > 0 {
			return !slices.Contains(topics, p.Topic)
		}
		return !all && strings.HasPrefix(p.Topic, "__")
	})
	return s
}

// missingTopic is an error for a topic that no broker knows, and nil where no broker
// tells anything.
func missingTopic(s *cluster.Status, topics []string) error {
	told := func(b cluster.BrokerStatus) bool { return b.State == process.Running && b.Error == "" }
	if !slices.ContainsFunc(s.Brokers, told) {
		return nil
	}
	var known []string
	for _, p := range s.Partitions {
		known = append(known, p.Topic)
	}
	for _, name := range topics {
		if !slices.Contains(known, name) {
			return Usagef("there is no topic %q (--watch waits for it)%s", name, nearest.Suggest(name, known))
		}
	}
	return nil
}

// metadataWithin is how long the cluster may take to tell clients' view: with nobody
// in office it may not tell at all.
const metadataWithin = time.Second

// addMetadata adds the controller and the partitions that no broker has told of.
// A cluster that does not answer shows by what else is printed.
func addMetadata(ctx context.Context, c *cluster.Cluster, s *cluster.Status) {
	state, err := c.State()
	if err != nil {
		return
	}
	var seeds []string
	for _, b := range state.Brokers {
		if b.State() == process.Running {
			seeds = append(seeds, b.Listener)
		}
	}
	if len(seeds) == 0 {
		return
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ClientID(api.OwnClientID), kgo.RequestRetries(0), kgo.DialTimeout(metadataWithin))
	if err != nil {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, metadataWithin)
	defer cancel()
	metadata, err := kadm.NewClient(client).Metadata(ctx)
	if err != nil {
		return
	}
	if s.Controller < 0 {
		s.Controller = metadata.Controller
	}
	for _, t := range metadata.Topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			known := slices.ContainsFunc(s.Partitions, func(q cluster.PartitionStatus) bool { return q.Topic == p.Topic && q.Partition == p.Partition })
			if !known {
				s.Partitions = append(s.Partitions, fromMetadata(&p))
			}
		}
	}
}

// fromMetadata is a partition as clients are told of it: without offsets.
func fromMetadata(d *kadm.PartitionDetail) cluster.PartitionStatus {
	p := cluster.PartitionStatus{
		Topic: d.Topic, Partition: d.Partition, Leader: d.Leader, LeaderEpoch: d.LeaderEpoch, PartitionEpoch: -1, ISR: slices.Sorted(slices.Values(d.ISR)), OSR: []int32{},
		Waiting: "no broker tells more; this is what clients are told",
	}
	for _, broker := range slices.Sorted(slices.Values(d.Replicas)) {
		in := slices.Contains(d.ISR, broker)
		if !in {
			p.OSR = append(p.OSR, broker)
		}
		p.Replicas = append(p.Replicas, cluster.ReplicaStatus{Broker: broker, InSync: in, LeaderEpoch: -1, End: -1, Watermark: -1, Lag: -1})
	}
	return p
}

// watchCluster shows the status until ctx ends. On a terminal it stays in place.
func watchCluster(ctx context.Context, app *App, interval time.Duration, look func() (*cluster.Status, error)) error {
	inPlace := onTerminal(app.Out)
	if inPlace && !app.JSON {
		fmt.Fprint(app.Out, "\x1b[2J")
	}
	return every(ctx, interval, func() error {
		s, err := look()
		if err != nil || ctx.Err() != nil {
			return err
		}
		return showStatus(app, s, inPlace)
	})
}

// watched is a line of `cluster status --watch --json`.
type watched struct {
	Time time.Time `json:"time"`
	*cluster.Status
}

func showStatus(app *App, s *cluster.Status, inPlace bool) error {
	now := time.Now()
	if app.JSON {
		return json.NewEncoder(app.Out).Encode(watched{now, s})
	}
	var b bytes.Buffer
	at := screenBehind(app.Out)
	if err := printClusterStatus(&b, s, now, at.columns); err != nil {
		return err
	}
	text := b.String()
	if inPlace { // home, each line to its end, and nothing below
		text = at.within(text)
		text = "\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J"
	} else {
		text = now.Format("15:04:05.000") + "  " + text + "\n"
	}
	_, err := io.WriteString(app.Out, text)
	return err
}
