package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/broker/api"
	"tidemark/broker/config"
	"tidemark/broker/groups"
	"tidemark/broker/network"
	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
)

// startListener takes the port first, so that a conflict costs nothing; nobody
// is accepted before everything else is up.
func (b *Broker) startListener(context.Context) (undo, error) {
	l, err := listen(b.o.Config.Listener.Address(), "listeners=PLAINTEXT://", b.o.Config.LoopbackCongestion)
	if err != nil {
		return nil, err
	}
	b.listener = l
	return func(context.Context) error {
		_ = l.Close() // closed before, unless the start failed
		return nil
	}, nil
}

// openReplicas locks the log directories and recovers what is in them.
func (b *Broker) openReplicas(ctx context.Context) (undo, error) {
	b.presence = newPresence(b.client, b.identity, b.o.Logger)
	b.pool = peer.NewPool(b.peerOptions())
	write := b.askController
	if b.o.Config.Replication.ISRUpdate == config.ISRUpdateZooKeeper {
		write = b.writeStates
	}
	b.proposals = newProposals(b.o.Config.ZookeeperSessionTimeout/3, write)
	b.replicas = replica.New(b.replicaOptions())
	b.telemetry.watchLogs(b.replicas)
	if err := b.replicas.Open(ctx); err != nil {
		b.pool.Close()
		return nil, explainLock(err)
	}
	return func(context.Context) error { return b.closeReplicas() }, nil
}

// closeReplicas ends what goes on with other brokers about replicas, and closes the
// logs. It is safe to repeat.
func (b *Broker) closeReplicas() error {
	b.pool.Close()
	b.proposals.close()
	return wrap("close logs", b.replicas.Close(b.presence.brokerEpoch()))
}

func (b *Broker) replicaOptions() replica.Options {
	c := b.o.Config
	return replica.Options{
		BrokerID: c.BrokerID, ClusterID: b.clusterID, FS: b.o.FS, Dirs: c.LogDirs, Engines: b.o.Engines,
		Failed: b.fail, Offline: func() { b.presence.offline(c.BrokerID) },
		Config: b.configs.Topic, Clock: b.o.Clock, Logger: b.o.Logger, RecoveryThreads: int(c.RecoveryThreads),
		AckCell:                         b.o.AckCell,
		RetentionCheckInterval:          c.RetentionCheckInterval,
		RecoveryCheckpointInterval:      c.RecoveryCheckpointInterval,
		LogStartCheckpointInterval:      c.LogStartCheckpointInterval,
		HighWatermarkCheckpointInterval: c.HighWatermarkCheckpointInterval,
		ProducerExpiryCheckInterval:     c.ProducerIDExpirationCheckInterval,
		Cleaner:                         cleanerOptions(c.Cleaner),
		Strategies:                      b.o.Strategies,
		BrokerEpoch:                     b.presence.brokerEpoch,
		Lease:                           func() bool { return b.lease.Holds() && b.presence.stands.Load() },
		LagTimeMax:                      c.Replication.LagTimeMax,
		Truncation:                      truncation(c.Replication.Truncation),
		ELR:                             c.Replication.EligibleLeaders,
		ISR:                             b.proposals,
		Leaders:                         b.pool,
		Trace:                           b.trace.Tracer(),
		ThrottleRates: func() replica.Rates {
			r := b.configs.Broker().Replication
			return replica.Rates{Leader: r.LeaderThrottle, Follower: r.FollowerThrottle}
		},
		Fetch: replica.FetchOptions{
			Fetchers: int(c.Replication.Fetchers), MaxBytes: c.Replication.FetchMaxBytes, ResponseMaxBytes: c.Replication.FetchResponseMaxBytes,
			MinBytes: c.Replication.FetchMinBytes, WaitMax: c.Replication.FetchWaitMax, Backoff: c.Replication.FetchBackoff,
		},
	}
}

// peerOptions are how other brokers are spoken with.
func (b *Broker) peerOptions() peer.Options {
	c := b.o.Config
	return peer.Options{
		ClientID: fmt.Sprintf("broker-%d", c.BrokerID), Clock: b.o.Clock,
		BindAddress:    c.BindAddress,
		ControlTimeout: c.Leadership.SocketTimeout, FetchTimeout: c.Replication.SocketTimeout,
	}
}

// register makes the broker known under its address. It ends with the logs, as only
// then nobody else may have the broker's id.
func (b *Broker) register(ctx context.Context) (undo, error) {
	p := b.presence
	p.cleanEpoch, p.changed = b.replicas.CleanEpoch(), b.replicas.BrokerEpochChanged
	if err := p.start(ctx); err != nil {
		if errors.Is(err, znode.ErrBrokerIDInUse) {
			return nil, fmt.Errorf("%w: choose another broker.id (--set broker.id=N)", err)
		}
		return nil, err
	}
	return func(ctx context.Context) error {
		closed := b.closeReplicas()
		return errors.Join(closed, p.stop(ctx, b.o.Config.BrokerID))
	}, nil
}

// identity is what the metadata store shows of this broker.
func (b *Broker) identity() znode.Broker {
	c := b.o.Config
	at := c.Advertised
	if at == (config.Listener{}) {
		at = advertise(c.Listener, b.listener.Addr())
	}
	self := znode.Broker{
		ID: c.BrokerID, Host: at.Host, Port: at.Port, Endpoints: []string{at.String()},
		SecurityProtocols: map[string]string{"PLAINTEXT": "PLAINTEXT"}, Rack: c.Rack, Timestamp: b.o.Clock.Now(),
	}
	for _, d := range b.replicas.Dirs() {
		if !d.Offline {
			self.LogDirs = append(self.LogDirs, d.ID)
		}
	}
	return self
}

// startGroups makes the coordinator that orders tell of leadership.
func (b *Broker) startGroups(context.Context) (undo, error) {
	b.groups = groups.New(groups.Options{
		Trace:    b.trace.Tracer(),
		BrokerID: b.o.Config.BrokerID, Config: b.o.Config, Replicas: b.replicas, Metadata: b.view,
		Offsets: b.client, Clock: b.o.Clock, Logger: b.o.Logger,
	})
	return func(context.Context) error {
		b.groups.Close()
		return nil
	}, nil
}

// startTransactions makes the coordinator of transactions, which carries its markers
// through replicas, groups and other brokers.
func (b *Broker) startTransactions(context.Context) (undo, error) {
	b.txns = txns.New(txns.Options{
		BrokerID: b.o.Config.BrokerID, Config: b.o.Config, Replicas: b.replicas, Metadata: b.view, Groups: b.groups,
		Blocks: b.client, Peers: txnPeers{b.pool}, Clock: b.o.Clock, Logger: b.o.Logger,
		Trace: b.trace.Tracer(),
	})
	return func(context.Context) error {
		b.txns.Close()
		return nil
	}, nil
}

// startController stands for controller; whoever is elected orders what is here.
func (b *Broker) startController(ctx context.Context) (undo, error) {
	c := b.o.Config
	b.orders = api.NewOrders(api.OrdersOptions{
		BrokerID: c.BrokerID, BrokerEpoch: b.presence.inForce, Configs: b.configs, Replicas: b.replicas, Metadata: b.view,
		Coordinators: map[string]api.Coordinator{groups.Topic: b.groups, txns.Topic: b.txns},
		Learn:        func(ctx context.Context, topics []string) error { return b.controller.LearnTopics(ctx, topics) },
		Brokers:      func(live []znode.Broker) { b.pool.SetBrokers(addresses(live)) },
		Logger:       b.o.Logger,
	})
	control := peer.NewPool(b.peerOptions())
	b.controller = controller.New(controller.Options{
		Client: b.client, BrokerID: c.BrokerID, Registered: b.presence.stands.Load, Clock: b.o.Clock, Logger: b.o.Logger,
		Trace: b.trace.Tracer(),
		Sink:  b.orders, Peers: &peers{self: c.BrokerID, orders: b.orders, pool: control}, Replication: b.strategyOf,
		AutoRebalance: c.Leadership.Rebalance, ImbalanceInterval: c.Leadership.RebalanceInterval,
		ImbalancePercent: int(c.Leadership.ImbalancePercent), RequestTimeout: c.Leadership.SocketTimeout,
	})
	stop := func(context.Context) error {
		control.Close() // first, as the controller waits for its calls
		b.controller.Close()
		return nil
	}
	if err := b.controller.Start(ctx); err != nil {
		control.Close()
		return nil, err
	}
	if b.controller.IsController() {
		b.awaitOrders(ctx) // so that the first client finds its topics
	}
	return stop, nil
}

// ordersPatience bounds the wait of a start for what the controller has to say.
const ordersPatience = 10 * time.Second

// awaitOrders waits until what belongs on this broker is here. One without a
// controller goes on: it serves what it is told to, when it is told.
func (b *Broker) awaitOrders(ctx context.Context) {
	patience := time.NewTimer(ordersPatience)
	defer patience.Stop()
	select {
	case <-b.orders.UpToDate():
	case <-ctx.Done():
	case <-patience.C:
		b.o.Logger.Warn("no controller told this broker all that it should serve")
	}
}

// followOrders waits for the controller of another broker.
func (b *Broker) followOrders(ctx context.Context) (undo, error) {
	b.awaitOrders(ctx)
	return nil, nil
}

// parkedGrace is how long a shutdown waits for requests that wait for records
// to come: their clients ask again elsewhere.
const parkedGrace = 500 * time.Millisecond

// serve lets clients in.
func (b *Broker) serve(context.Context) (undo, error) {
	c := b.o.Config
	b.api = api.New(api.Options{
		BrokerID: c.BrokerID, ClusterID: b.clusterID, Configs: b.configs, Replicas: b.replicas, Metadata: b.view,
		Groups: b.groups, Txns: b.txns, Controller: b.controller, Orders: b.orders, Forward: b.pool, Clock: b.o.Clock, Logger: b.o.Logger,
	})
	b.server = network.Serve(b.listener, b.networkOptions(), b.api)
	b.telemetry.watch(b)
	b.telemetry.watchCleaner(b.replicas, c.LogDirs)
	tuner := startMemoryTuner(memoryBudget(c), b.server.Stats(), b.o.Clock)
	return func(ctx context.Context) error {
		tuner.stop()
		ctx, cancel := context.WithTimeout(ctx, parkedGrace)
		defer cancel()
		if err := b.server.Shutdown(ctx); err != nil {
			b.o.Logger.Debug("connections with waiting requests were closed", "reason", err)
		}
		b.api.Close()
		return nil
	}, nil
}

func (b *Broker) networkOptions() network.Options {
	c := b.o.Config
	return network.Options{
		MaxFrame:              c.SocketRequestMaxBytes,
		MaxConnections:        int(c.MaxConnections),
		MaxConnectionsPerIP:   int(c.MaxConnectionsPerIP),
		ConnectionRate:        int(c.MaxConnectionRate),
		QueuedRequestsPerConn: int(c.QueuedRequestsPerConnection),
		InFlightBytes:         c.QueuedRequestBytes,
		IdleTimeout:           c.ConnectionsMaxIdle,
		FrameTimeout:          c.FrameTimeout,
		WriteTimeout:          c.WriteTimeout,
		SendBuffer:            int(c.SocketSendBufferBytes),
		LoopbackCongestion:    c.LoopbackCongestion,
		ReceiveBuffer:         int(c.SocketReceiveBufferBytes),
		Logger:                b.o.Logger,
		Observe:               b.telemetry.observe,
		Clock:                 b.o.Clock,
	}
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
