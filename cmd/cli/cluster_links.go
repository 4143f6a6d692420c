package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
	"tidemark/bench/workload"
)

// everybody stands for all other ends of links.
const everybody = "all"

// linkFlags are what every command about links takes.
type linkFlags struct {
	oneWay  bool
	lasting time.Duration
}

func (l *linkFlags) bind(c *cobra.Command) {
	c.Flags().BoolVar(&l.oneWay, "one-way", false, "only what A sends to B")
	c.Flags().DurationVar(&l.lasting, "for", 0, "heal by itself after this time, as 30s; 0 waits for \"cluster heal\"")
}

// flows are those between the two ends that a line names.
func (l *linkFlags) flows(s *cluster.State, a, b string) ([]proxy.Flow, error) {
	if l.lasting < 0 {
		return nil, Usagef("--for %s: want a time to come", l.lasting)
	}
	from, err := ends(s, a, b)
	if err != nil {
		return nil, err
	}
	to, err := ends(s, b, a)
	if err != nil {
		return nil, err
	}
	var flows []proxy.Flow
	for _, x := range from {
		for _, y := range to {
			flows = append(flows, proxy.Flow{From: x, To: y})
			if !l.oneWay {
				flows = append(flows, proxy.Flow{From: y, To: x})
			}
		}
	}
	return flows, nil
}

// ends are the names that a word stands for: everybody is all but the other end.
func ends(s *cluster.State, word, other string) ([]proxy.Name, error) {
	var known []string
	for _, b := range s.Brokers {
		known = append(known, strconv.Itoa(int(b.Broker)))
	}
	brokers := len(known)
	known = append(known, string(proxy.Store), string(proxy.Client))
	switch {
	case word == other:
		return nil, Usagef("%s and %s: want two ends", word, other)
	case word == everybody:
		if !slices.Contains(known[:brokers], other) {
			return nil, Usagef("%s %s: %s goes with a broker", word, other, everybody)
		}
		var names []proxy.Name
		for _, k := range known {
			if k != other {
				names = append(names, proxy.Name(k))
			}
		}
		return names, nil
	case !slices.Contains(known, word):
		return nil, Usagef("%q: no end of a link; there are %s and %s", word, strings.Join(known, ", "), everybody)
	}
	if word != everybody && other != everybody && !slices.Contains(known[:brokers], word) && !slices.Contains(known[:brokers], other) {
		return nil, Usagef("%s and %s: one of them must be a broker", word, other)
	}
	return []proxy.Name{proxy.Name(word)}, nil
}

func newClusterCutCommand(app *App, f *clusterFlags) *cobra.Command {
	var l linkFlags
	c := &cobra.Command{
		Use:   "cut A B",
		Short: "Cut a link: what is sent hangs, nobody sees an error",
		Long: `Cut a link: what is sent hangs, nobody sees an error, until "cluster heal" or for
the time that --for says. A and B are broker ids, "zk" (the metadata store),
"client" (everybody else) or "all" (all that the other end talks to).`,
		Example: `  tidemark cluster cut 1 2                    # two brokers
  tidemark cluster cut 1 all --for 30s        # isolate broker 1
  tidemark cluster cut 2 1 --one-way          # only what 2 sends to 1
  tidemark cluster cut 1 zk                   # a broker that will lose its session`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: f.completeEnds(true),
		RunE: func(c *cobra.Command, args []string) error {
			return f.runLink(app, c, &l, args, proxy.Rule{Mode: proxy.Hang})
		},
	}
	l.bind(c)
	return c
}

func newClusterLinkCommand(app *App, f *clusterFlags) *cobra.Command {
	var l linkFlags
	var r proxy.Rule
	var rate string
	var reset, halfOpen bool
	c := &cobra.Command{
		Use:   "link A B",
		Short: "Slow a link down, or break its connections",
		Long: `Slow a link down, or break its connections. A and B are as in "cluster cut". The
flags replace all that held for the link before; without any of them it passes again.`,
		Example: `  tidemark cluster link 1 2 --delay 20ms --jitter 5ms
  tidemark cluster link client 1 --rate 1MiB --for 1m
  tidemark cluster link 1 3 --reset            # every connection, old and new
  tidemark cluster link 1 3 --half-open        # 3 forgets, 1 goes on sending into the void`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: f.completeEnds(true),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case reset && halfOpen:
				return Usagef("--reset and --half-open: want one of them")
			case reset:
				r.Mode = proxy.Reset
			case halfOpen:
				r.Mode, l.oneWay = proxy.HalfOpen, true
			}
			if rate != "" {
				n, err := workload.ParseSize(rate)
				if err != nil || n > math.MaxInt {
					return Usagef("--rate %s: want bytes each second, as 512KiB", rate)
				}
				r.BytesPerSecond = n
			}
			if err := r.Check(); err != nil {
				return WithCode(ExitUsage, err)
			}
			return f.runLink(app, c, &l, args, r)
		},
	}
	l.bind(c)
	c.Flags().DurationVar(&r.Delay, "delay", 0, "how much longer every byte takes, in each direction")
	c.Flags().DurationVar(&r.Jitter, "jitter", 0, "up to how much longer still, at random")
	c.Flags().StringVar(&rate, "rate", "", "bytes each second that a connection carries, as 512KiB")
	c.Flags().IntVar(&r.SliceBytes, "slice", 0, "bytes that arrive at once, at most")
	c.Flags().BoolVar(&reset, "reset", false, "reset connections, and each new one")
	c.Flags().BoolVar(&halfOpen, "half-open", false, "reset B's end only, so that A goes on sending to nobody")
	return c
}

// runLink gives the links between two ends a rule.
func (f *clusterFlags) runLink(app *App, c *cobra.Command, l *linkFlags, args []string, r proxy.Rule) error {
	return f.run(app, func(cl *cluster.Cluster) (string, error) {
		s, err := cl.State()
		if err != nil {
			return "", err
		}
		flows, err := l.flows(s, args[0], args[1])
		if err != nil {
			return "", err
		}
		return linkSaid(l, args, r), cl.Rule(c.Context(), r, l.lasting, flows...)
	})
}

// linkWords are the words of the command that makes a rule.
func linkWords(r proxy.Rule) string {
	var words []string
	switch r.Mode {
	case proxy.Hang:
		words = append(words, "cut")
	case proxy.Reset:
		words = append(words, "--reset")
	case proxy.HalfOpen:
		words = append(words, "--half-open")
	}
	if r.Delay > 0 {
		words = append(words, "--delay "+r.Delay.String())
	}
	if r.Jitter > 0 {
		words = append(words, "--jitter "+r.Jitter.String())
	}
	if r.BytesPerSecond > 0 {
		words = append(words, "--rate "+workload.FormatSize(r.BytesPerSecond))
	}
	if r.SliceBytes > 0 {
		words = append(words, "--slice "+strconv.Itoa(r.SliceBytes))
	}
	if len(words) == 0 {
		return "passes"
	}
	return strings.Join(words, " ")
}

func linkSaid(l *linkFlags, args []string, r proxy.Rule) string {
	arrow := "↔"
	if l.oneWay {
		arrow = "→"
	}
	said := fmt.Sprintf("%s %s %s: %s", args[0], arrow, args[1], linkWords(r))
	if l.lasting > 0 {
		return said + " for " + l.lasting.String()
	}
	if r == (proxy.Rule{}) {
		return said
	}
	return said + "; `tidemark cluster heal` ends it"
}

func newClusterHealCommand(app *App, f *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use: "heal", Short: "Make every link pass again", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(app, func(cl *cluster.Cluster) (string, error) { return "every link passes", cl.Heal(c.Context()) })
		},
	}
}

// newClusterMeshCommand is the process that `cluster up --proxy` starts.
func newClusterMeshCommand(app *App) *cobra.Command {
	var o cluster.MeshOptions
	c := &cobra.Command{
		Use: "mesh", Short: "Run the proxies of a cluster", Args: cobra.NoArgs, Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return cluster.ServeMesh(c.Context(), o, func(r cluster.MeshReady) error { return json.NewEncoder(app.Out).Encode(r) })
		},
	}
	c.Flags().StringVar(&o.Timeline, "timeline", "", "file for the timeline")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the jitter")
	c.Flags().StringVar(&o.Store, "store", "", "host:port[,host:port...] of the metadata store")
	c.Flags().StringArrayVar(&o.Brokers, "broker", nil, "id=address=listener of a broker; may be repeated")
	return c
}
