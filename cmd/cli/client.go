package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/api"
)

// defaultBootstrap is where a broker listens unless it is told otherwise, and the first
// one of a cluster.
const defaultBootstrap = "127.0.0.1:9092"

// clientFlags are what every command that talks to a broker takes.
type clientFlags struct {
	bootstrap string // empty is defaultBootstrap, and the local cluster that has it
	timeout   time.Duration
}

func (f *clientFlags) bind(c *cobra.Command) {
	c.PersistentFlags().StringVar(&f.bootstrap, "bootstrap", "", "host:port[,host:port…] of brokers to ask (default "+defaultBootstrap+", and where "+clustersDir+"/"+localName+" has that one, whichever of its brokers run)")
	c.PersistentFlags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for the answer")
}

// admin calls do with a connected admin client.
func (f *clientFlags) admin(ctx context.Context, do func(context.Context, *kadm.Client) error) error {
	return f.client(ctx, func(ctx context.Context, c *kgo.Client) error {
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		return do(ctx, kadm.NewClient(c))
	})
}

// client calls do with a connected client, once it was answered within the timeout.
func (f *clientFlags) client(ctx context.Context, do func(context.Context, *kgo.Client) error) error {
	local := findLocalCluster()
	addresses := local.addresses(f.bootstrap)
	client, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.RequestRetries(2),
		kgo.RetryTimeout(f.timeout), kgo.ClientID(api.OwnClientID))
	if err != nil {
		return Usagef("--bootstrap %s: %w", f.bootstrap, err)
	}
	defer client.Close()
	pinged, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := client.Ping(pinged); err != nil {
		return fmt.Errorf("no broker answers at %s (%s): %w", strings.Join(addresses, ","), local.hint(addresses), err)
	}
	return do(ctx, client)
}
