package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"tidemark/bench/cluster"
	"tidemark/broker"
	"tidemark/broker/config"
)

// firstPort is Kafka's.
const firstPort = 9092

func newClusterUpCommand(app *App, f *clusterFlags) *cobra.Command {
	var o cluster.Options
	var foreground bool
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster and print where it is",
		Long: `Start a cluster and print where it is. It runs on in the background until
"tidemark cluster down"; with --foreground until Ctrl-C.

Topics get three replicas and min.insync.replicas=2 unless they or --set say
otherwise. Data and traces of an earlier "down --keep" are gone on with, by as many
brokers as there were and with their metadata store; traces that stayed after a
plain "down" are set aside, in traces-1 and so on. With --proxy every link between
brokers, clients and the metadata store goes through a proxy, so that "cluster cut"
and "cluster link" can act on it.`,
		Example: `  tidemark cluster up
  tidemark cluster up --brokers 5 --proxy --set replication.strategy=quorum
  tidemark cluster up --name second --zookeeper 127.0.0.1:2181 --foreground`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkSettings(app, o.Set); err != nil {
				return WithCode(ExitUsage, err)
			}
			o.Dir, o.Outlive = f.path(), !foreground
			f.asBefore(c, &o)
			if err := o.Check(); err != nil {
				return WithCode(ExitUsage, err)
			}
			busy := 0
			if !c.Flags().Changed("port") {
				if busy = taken(firstPort, o.Brokers); busy != 0 {
					o.Port = 0
				}
			}
			return runClusterUp(c.Context(), app, f, o, busy)
		},
	}
	c.Flags().IntVar(&o.Brokers, "brokers", 3, "number of brokers; their ids are 1 and up")
	c.Flags().StringVar(&o.Zookeeper, "zookeeper", cluster.Embedded, "metadata store: "+cluster.Embedded+", "+cluster.Real+" (Apache ZooKeeper, if installed), or host:port[/chroot] of one that runs")
	c.Flags().StringArrayVar(&o.Set, "set", nil, "one setting of every broker as name=value; may be repeated")
	c.Flags().IntVar(&o.Port, "port", firstPort, "port of the first broker, the others come after it; 0 takes free ones, as the default does where any is taken")
	c.Flags().BoolVar(&o.Proxy, "proxy", false, "put proxies on all links, so that they can be cut")
	c.Flags().BoolVar(&o.Trace, "trace", false, "have every broker write what happens inside it, for \"tidemark log trace\"")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the proxies' jitter")
	c.Flags().BoolVar(&foreground, "foreground", false, "stay, and shut the cluster down at Ctrl-C, keeping its data")
	return c
}

// asBefore takes from the cluster that is gone on with what its data depend on, where
// no flag says it.
func (f *clusterFlags) asBefore(c *cobra.Command, o *cluster.Options) {
	_, s, ok := f.state()
	if !ok || !s.HasData() {
		return // Start says so where it matters
	}
	if !c.Flags().Changed("brokers") {
		o.Brokers = len(s.Brokers)
	}
	if !c.Flags().Changed("zookeeper") {
		o.Zookeeper = s.Zookeeper
	}
}

// checkSettings refuses what would keep each broker from starting.
func checkSettings(app *App, set []string) error {
	cfg, err := config.Load("", set)
	if err != nil {
		return err
	}
	_, err = broker.New(broker.Options{Config: cfg, Engines: app.Engines, Strategies: app.Strategies})
	return err
}

// taken is the first of n ports that somebody listens on, or 0.
func taken(first, n int) int {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return port
		}
		_ = l.Close() // nobody has connected
	}
	return 0
}

// runClusterUp starts a cluster and says where it is; busy is the port that kept it
// from Kafka's own, or 0.
func runClusterUp(ctx context.Context, app *App, f *clusterFlags, o cluster.Options, busy int) error {
	c, err := cluster.Start(ctx, o)
	if errors.Is(err, cluster.ErrRuns) {
		return fmt.Errorf("%w; `tidemark cluster status%s` shows it, `tidemark cluster down%s` ends it, --name starts another beside it", err, f.which(), f.which())
	}
	if errors.Is(err, cluster.ErrUnfit) {
		return Usagef("%w; `tidemark cluster down%s` deletes it, --name starts another cluster beside it", err, f.which())
	}
	if errors.Is(err, cluster.ErrInterrupted) {
		return fmt.Errorf("%w; `tidemark cluster up%s` goes on with its data, `tidemark cluster down%s` deletes it", err, f.which(), f.which())
	}
	if err != nil {
		return err
	}
	if busy != 0 {
		fmt.Fprintf(app.Err, "port %d is taken, so free ones were chosen; --bootstrap takes them, --port chooses others\n", busy)
	}
	s, err := c.State()
	if err == nil {
		err = announceCluster(app, f, c.Dir(), s, o.Outlive)
	}
	if o.Outlive {
		return err
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, c.Down(true))
}
