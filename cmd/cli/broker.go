package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker"
	"tidemark/broker/config"
)

// brokerFlags are the flags of `tidemark broker`.
type brokerFlags struct {
	file, listen, logLevel string
	set                    []string
	powercut, trace        string
	allowOpen, print       bool
}

func newBrokerCommand(app *App) *cobra.Command {
	var f brokerFlags
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run a broker until Ctrl-C",
		Long: `Run a broker until Ctrl-C. Without any flag it listens on 127.0.0.1:9092, keeps
its data in ./tidemark-data and runs its own metadata store.

Settings have Kafka's names (docs/reference/config.md). --set wins over --config.

--powercut-record keeps a record of what is on stable storage, so that after a
kill -9 "tidemark log cut" can do to the data what a power cut would have done.
It is for experiments: it costs system calls where files are created, renamed and
removed, and a little at every sync; appends run as without it.`,
		Example: `  tidemark broker
  tidemark broker --listen 127.0.0.1:0 --set log.dirs=/tmp/a
  tidemark broker --config server.properties --set storage.append.engine=mapped
  tidemark broker --config server.properties --print-config`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			if f.print {
				return printConfig(app, cfg)
			}
			return runBroker(c.Context(), app, cfg, f)
		},
	}
	c.Flags().StringVar(&f.file, "config", "", "server.properties to read")
	c.Flags().StringArrayVar(&f.set, "set", nil, "one setting as name=value; may be repeated")
	c.Flags().StringVar(&f.listen, "listen", "", "host:port to listen on, short for --set listeners=PLAINTEXT://host:port")
	c.Flags().BoolVar(&f.allowOpen, "allow-open-listener", false, "permit addresses that other machines can reach, although nobody is authenticated")
	c.Flags().BoolVar(&f.print, "print-config", false, "print the whole effective configuration with its sources, and exit")
	c.Flags().StringVar(&f.powercut, "powercut-record", "", "record what is durable in this directory, outside of log.dirs, for \"tidemark log cut\"")
	c.Flags().StringVar(&f.trace, "trace", "", "write what happens inside the broker to trace-ID.jsonl in this directory, for \"tidemark log trace\"; short for --set trace.dir=DIR")
	c.Flags().StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

func (f brokerFlags) load() (*config.Broker, error) {
	set := f.set
	if f.listen != "" {
		set = append(set, "listeners=PLAINTEXT://"+f.listen)
	}
	if f.trace != "" {
		set = append(set, "trace.dir="+f.trace)
	}
	if f.allowOpen {
		set = append(set, "listeners.allow.open=true")
	}
	cfg, err := config.Load(f.file, set)
	return cfg, WithCode(ExitUsage, err)
}

// shutdownPatience is how long requests in flight may take to end.
const shutdownPatience = 10 * time.Second

func runBroker(ctx context.Context, app *App, cfg *config.Broker, f brokerFlags) (err error) {
	logger, err := newLogger(app.Err, f.logLevel)
	if err != nil {
		return err
	}
	for _, w := range cfg.Warnings() {
		logger.Warn(w)
	}
	if cfg.AllowOpenListener && !cfg.Listener.Loopback() {
		logger.Warn("other machines can reach this broker and nobody is authenticated", "listener", cfg.Listener.String())
	}
	options := broker.Options{Config: cfg, Engines: app.Engines, Strategies: app.Strategies, Logger: logger}
	if f.powercut != "" {
		recorder, err := startRecorder(f.powercut, cfg.LogDirs, logger)
		if err != nil {
			return err
		}
		options.FS, options.AckCell = recorder, recorder.AckCell
		defer func() { err = errors.Join(err, recorder.Close()) }()
	}
	b, err := broker.New(options)
	if err != nil {
		return WithCode(ExitUsage, err)
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	err = announce(app, cfg, b)
	if err == nil {
		select {
		case <-ctx.Done():
			logger.Info("shutting down; once more to kill")
		case err = <-b.Failed():
		}
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPatience)
	defer cancel()
	return errors.Join(err, b.Shutdown(patience))
}

func newLogger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, Usagef("--log-level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// started is the one line that `tidemark broker --json` prints when it serves.
type started struct {
	Broker     int32             `json:"broker"`
	Listener   string            `json:"listener"`
	Metrics    string            `json:"metrics,omitempty"`
	Zookeeper  string            `json:"zookeeper,omitempty"`
	ClusterID  string            `json:"cluster_id"`
	LogDirs    []string          `json:"log_dirs"`
	NonDefault map[string]string `json:"non_default"`
}

// announce tells where the broker is, once it serves.
func announce(app *App, cfg *config.Broker, b *broker.Broker) error {
	s := started{
		Broker: cfg.BrokerID, Listener: b.Addr().String(), Metrics: b.MetricsAddr(), Zookeeper: b.ZookeeperAddr(),
		ClusterID: b.ClusterID(), LogDirs: cfg.LogDirs, NonDefault: map[string]string{},
	}
	rows := configRows(cfg)
	for _, r := range rows {
		if r.Source != string(config.SourceDefault) {
			s.NonDefault[r.Name] = r.Value
		}
	}
	if app.JSON {
		return json.NewEncoder(app.Out).Encode(s)
	}
	fmt.Fprintf(app.Out, "%s\nbroker %d of cluster %s\n", readVersion(), s.Broker, s.ClusterID)
	t := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  clients\t%s\n", s.Listener)
	if s.Metrics != "" {
		fmt.Fprintf(t, "  metrics\thttp://%s/metrics (also /debug/pprof/, /healthz, /readyz)\n", s.Metrics)
	}
	if s.Zookeeper != "" {
		fmt.Fprintf(t, "  metadata\t%s (ZooKeeper protocol)\n", s.Zookeeper)
	}
	for _, dir := range s.LogDirs {
		fmt.Fprintf(t, "  data\t%s\n", dir)
	}
	for _, r := range rows {
		if r.Source != string(config.SourceDefault) {
			fmt.Fprintf(t, "  %s\t%s\t(%s)\n", r.Name, r.Value, r.Source)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(app.Out, "ready; Ctrl-C stops it")
	return err
}

// configRow is one effective setting.
type configRow struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func configRows(cfg *config.Broker) []configRow {
	var rows []configRow
	for _, d := range config.Defs() {
		rows = append(rows, configRow{d.Name, d.Value(cfg), cfg.Origin(d.Name).String()})
	}
	return rows
}

func printConfig(app *App, cfg *config.Broker) error {
	rows := configRows(cfg)
	return app.Print(rows, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(t, "%s=%s\t# %s\n", r.Name, r.Value, r.Source)
		}
		for _, warning := range cfg.Warnings() {
			fmt.Fprintf(t, "# %s\n", warning)
		}
		return t.Flush()
	})
}
