// Package broker wires one broker together: metadata store, replicas, controller,
// API server, listener, metrics. It starts them in the order in which they need
// one another and stops them the other way round; what they do is theirs.
//
// Start either leaves a broker that serves or undoes what it began and says what
// to do about it. Shutdown answers what was received, closes the logs in order
// and leaves the clean-shutdown marker, so that the next start recovers nothing.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"tidemark/broker/api"
	"tidemark/broker/config"
	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/network"
	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/zkserver"
	"tidemark/coordinator/znode"
	"tidemark/engines"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
	"tidemark/internal/vfs"
	"tidemark/replication"
	strategies "tidemark/replication/catalog"
)

// Options is what a broker is made of.
type Options struct {
	// Config is the effective configuration.
	Config *config.Broker
	// Engines are the storage engines that topics may name.
	Engines engines.Catalog
	// Strategies are the replication strategies that topics may name; the shipped ones
	// where it is empty.
	Strategies replication.Catalog
	// Logger gets what happens; nil discards it.
	Logger *slog.Logger
	// Clock is the machine's when nil.
	Clock clock.Clock
	// FS is the operating system's when nil.
	FS vfs.FS
	// AckCell is replica.Options.AckCell; it may be nil.
	AckCell func(logDir string) (*atomic.Uint64, error)
}

// Broker is one broker from Start to Shutdown. Its methods are safe for
// concurrent use.
type Broker struct {
	o       Options
	configs *api.Configs
	view    *metadata.Cache
	ready   atomic.Bool

	trace      *trace.Recording // nil while tracing is off
	listener   net.Listener
	telemetry  *telemetry
	zookeeper  *zkserver.Server // nil unless embedded
	client     *znode.Client
	lease      *znode.Lease
	clusterID  string
	pool       *peer.Pool
	proposals  *proposals
	replicas   *replica.Manager
	presence   *presence
	groups     *groups.Coordinator
	txns       *txns.Coordinator
	orders     *api.Orders
	controller *controller.Controller
	api        *api.Server
	server     *network.Server

	failed chan error // holds what keeps the broker from going on

	mu      sync.Mutex
	started []undo // what stops each part, in starting order
}

// New checks what can be checked without touching anything.
func New(o Options) (*Broker, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if len(o.Strategies.Specs()) == 0 {
		o.Strategies = strategies.Builtin()
	}
	defaults := o.Config.TopicDefaults
	if _, err := o.Strategies.Find(defaults.Strategy); err != nil {
		return nil, fmt.Errorf("replication.strategy: %w", err)
	}
	if _, err := o.Engines.Append(defaults.AppendEngine); err != nil {
		return nil, fmt.Errorf("storage.append.engine: %w", err)
	}
	if _, err := o.Engines.Read(defaults.ReadEngine); err != nil {
		return nil, fmt.Errorf("storage.read.engine: %w", err)
	}
	return &Broker{o: o, configs: api.NewConfigs(o.Config), view: metadata.NewCache(), failed: make(chan error, 1)}, nil
}

// undo stops what a part started; nil for nothing.
type undo func(context.Context) error

// part is one step of Start.
type part struct {
	name  string
	start func(context.Context) (undo, error)
}

// Start brings the broker up. When it returns nil clients are served; otherwise
// nothing is left running. ctx bounds the start only.
func (b *Broker) Start(ctx context.Context) error {
	parts := []part{
		{"trace", b.startTrace},
		{"listener", b.startListener},
		{"metrics", b.startTelemetry},
		{"embedded metadata store", b.startZookeeper},
		{"metadata store", b.connectZookeeper},
		{"logs", b.openReplicas},
		{"registration", b.register},
		{"group coordinator", b.startGroups},
		{"transaction coordinator", b.startTransactions},
		{"controller", b.startController},
		{"network", b.serve},
		{"partitions", b.followOrders},
		{"controlled shutdown", b.armControlledShutdown},
	}
	for _, p := range parts {
		stop, err := p.start(ctx)
		if stop != nil {
			b.mu.Lock()
			b.started = append(b.started, stop)
			b.mu.Unlock()
		}
		if err != nil {
			stopped := b.Shutdown(context.WithoutCancel(ctx))
			return errors.Join(fmt.Errorf("start %s: %w", p.name, err), stopped)
		}
	}
	b.ready.Store(true)
	return nil
}

// Shutdown stops the parts in reverse order. It goes on after an error and
// returns them all. ctx bounds the wait for requests in flight, not the closing
// of the logs.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.ready.Store(false)
	b.mu.Lock()
	started := b.started
	b.started = nil
	b.mu.Unlock()
	var errs []error
	for i := len(started) - 1; i >= 0; i-- {
		if err := started[i](ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Failed yields at most one error: what keeps the running broker from going on.
// Whoever runs it should shut it down.
func (b *Broker) Failed() <-chan error { return b.failed }

// fail reports err unless something was reported before.
func (b *Broker) fail(err error) {
	b.o.Logger.Error("the broker cannot go on", "error", err)
	select {
	case b.failed <- err:
	default:
	}
}

// Addr is where clients connect; it is valid once Start has returned.
func (b *Broker) Addr() net.Addr { return b.listener.Addr() }

// MetricsAddr is where metrics, pprof and health are served; "" when nowhere.
func (b *Broker) MetricsAddr() string {
	if b.telemetry.listener == nil {
		return ""
	}
	return b.telemetry.listener.Addr().String()
}

// ZookeeperAddr is where the embedded metadata store listens; "" when there is
// none.
func (b *Broker) ZookeeperAddr() string {
	if b.zookeeper == nil {
		return ""
	}
	return b.zookeeper.Addr().String()
}

// ClusterID is the cluster's id, as kept in the metadata store.
func (b *Broker) ClusterID() string { return b.clusterID }
