package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// clusterFlags say which cluster a command is about.
type clusterFlags struct{ name, dir string }

// clustersDir is where clusters are, by name; localName is that of one without a name.
const (
	clustersDir = "tidemark-cluster"
	localName   = "local"
)

func (f *clusterFlags) path() string {
	if f.dir != "" {
		return f.dir
	}
	return filepath.Join(clustersDir, f.name)
}

// state is what the cluster's directory says of it; ok is false where there is none that
// can be read, and the commands that need one say why.
func (f *clusterFlags) state() (c *cluster.Cluster, s *cluster.State, ok bool) {
	c, err := cluster.Open(f.path())
	if err == nil {
		s, err = c.State()
	}
	return c, s, err == nil
}

// check refuses a name that is a way to somewhere else.
func (f *clusterFlags) check() error {
	if f.dir == "" && (f.name == "" || f.name == "." || f.name == ".." || strings.ContainsRune(f.name, filepath.Separator)) {
		return Usagef("--name %q: want a plain name; --dir takes a directory", f.name)
	}
	return nil
}

// which are the flags that lead another command to the same cluster.
func (f *clusterFlags) which() string {
	switch {
	case f.dir != "":
		return " --dir " + f.dir
	case f.name != localName:
		return " --name " + f.name
	}
	return ""
}

// open finds the cluster, or says how to start one.
func (f *clusterFlags) open() (*cluster.Cluster, error) {
	c, err := cluster.Open(f.path())
	if errors.Is(err, cluster.ErrNone) {
		return nil, fmt.Errorf("%w; `tidemark cluster up` starts one, and --dir says where another is", err)
	}
	return c, err
}

// run opens the cluster, does something to it and says so.
func (f *clusterFlags) run(app *App, do func(*cluster.Cluster) (string, error)) error {
	c, err := f.open()
	if err != nil {
		return err
	}
	said, err := do(c)
	switch {
	case errors.Is(err, cluster.ErrNoMesh):
		return fmt.Errorf("%w: tidemark cluster up --proxy", err)
	case errors.Is(err, cluster.ErrDown):
		return fmt.Errorf("%w; `tidemark cluster up%s` goes on with its data", err, f.which())
	case err != nil:
		return err
	}
	return app.Print(map[string]string{"done": said}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, said)
		return err
	})
}

func newClusterCommand(app *App) *cobra.Command {
	f := &clusterFlags{}
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Run a cluster of brokers on this machine, look into it, and hurt it",
		Long: `Run a cluster of brokers on this machine, look into it, and hurt it.

Each broker is a process of its own. "up" starts them and returns; every other
command finds the cluster again by its directory, ` + clustersDir + `/NAME.`,
		Example: `  tidemark cluster up
  tidemark topics create clicks --partitions 3
  tidemark cluster status --watch
  tidemark cluster kill 2
  tidemark cluster restart 2
  tidemark cluster down`,
		PersistentPreRunE: func(*cobra.Command, []string) error { return f.check() },
	}
	c.PersistentFlags().StringVar(&f.name, "name", localName, "name of the cluster, where there are several")
	c.PersistentFlags().StringVar(&f.dir, "dir", "", "directory of the cluster, in place of "+clustersDir+"/NAME")
	c.AddCommand(newClusterUpCommand(app, f), newClusterStatusCommand(app, f),
		newClusterBrokerCommand(app, f, "kill", "End a broker at once, as kill -9 does", "broker %d is killed", (*cluster.Cluster).Kill),
		newClusterBrokerCommand(app, f, "stop", "Have a broker shut down cleanly", "broker %d has shut down", (*cluster.Cluster).Stop),
		newClusterBrokerCommand(app, f, "pause", "Stop a broker where it stands; its connections stay open", "broker %d is paused", (*cluster.Cluster).Pause),
		newClusterBrokerCommand(app, f, "resume", "Let a paused broker go on", "broker %d goes on", (*cluster.Cluster).Resume),
		newClusterRestartCommand(app, f), newClusterCutCommand(app, f), newClusterLinkCommand(app, f), newClusterHealCommand(app, f),
		newClusterDownCommand(app, f), newClusterMeshCommand(app))
	return c
}

// newClusterBrokerCommand is a command that does one thing to one broker.
func newClusterBrokerCommand(app *App, f *clusterFlags, name, short, said string, do func(*cluster.Cluster, int32) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " BROKER", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: f.completeEnds(false),
		RunE: func(_ *cobra.Command, args []string) error {
			id, err := brokerID(args[0])
			if err != nil {
				return err
			}
			return f.run(app, func(c *cluster.Cluster) (string, error) { return fmt.Sprintf(said, id), do(c, id) })
		},
	}
}

func newClusterRestartCommand(app *App, f *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use: "restart BROKER", Short: "Start a broker again; one that runs shuts down first", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.completeEnds(false),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := brokerID(args[0])
			if err != nil {
				return err
			}
			return f.run(app, func(cl *cluster.Cluster) (string, error) {
				return fmt.Sprintf("broker %d is up", id), cl.Restart(c.Context(), id)
			})
		},
	}
}

func newClusterDownCommand(app *App, f *clusterFlags) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use: "down", Short: "End the cluster and delete its data", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return f.run(app, func(c *cluster.Cluster) (string, error) {
				said := "the cluster is down and its data deleted"
				if keep {
					said = "the cluster is down; its data is in " + fromHere(c.Dir()) + ", and `tidemark cluster up" + f.which() + "` goes on with it"
				}
				if traces, err := os.Stat(c.TraceDir()); err == nil && traces.IsDir() {
					said += "; its traces stay: tidemark log trace " + fromHere(c.TraceDir())
				}
				return said, c.Down(keep)
			})
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "shut down cleanly and keep data and logs")
	return c
}

func brokerID(text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 1 {
		return 0, Usagef("broker %q: want its id, a number from 1 up", text)
	}
	return int32(id), nil
}

// completeEnds offers broker ids and, if asked, the other ends of links.
func (f *clusterFlags) completeEnds(others bool) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		if _, s, ok := f.state(); ok {
			for _, b := range s.Brokers {
				out = append(out, string(proxy.Broker(b.Broker)))
			}
		}
		if others {
			out = append(out, string(proxy.Store), string(proxy.Client), everybody)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
