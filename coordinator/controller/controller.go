// Package controller decides who leads each partition and writes it down. One
// broker at a time is the controller: it holds /controller, and every write it
// makes is conditional on the epoch it was elected with, so a deposed controller
// cannot write (Kafka's KafkaController with its ZooKeeper state).
//
// What it knows it reads from ZooKeeper, on taking office and after each
// notification, and tells the broker through a Sink. It creates, grows and
// deletes topics, elects leaders among the ISR, and passes configuration changes
// on, in office or not. It tells its own broker only, moves no replicas and
// makes no unclean elections. Topics that other tools create or delete are
// followed at once; partitions that they add are seen at the next election.
package controller

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/internal/clock"
	"tidemark/replication"
)

// Options configure a Controller. Client and Sink are required.
type Options struct {
	Client   *znode.Client
	BrokerID int32
	Sink     Sink
	// Peers reaches the brokers; where it is nil, the Sink is a LocalSink and the
	// cluster has one broker.
	Peers Peers
	// Replication is the strategy of a topic and what its elections look at; Self,
	// BrokerEpoch and Dir are ignored. It must not call the Controller.
	Replication func(topic string) (replication.Spec, replication.Config)
	// AutoRebalance is auto.leader.rebalance.enable; ImbalanceInterval and
	// ImbalancePercent are leader.imbalance.check.interval.seconds and
	// leader.imbalance.per.broker.percentage.
	AutoRebalance     bool
	ImbalanceInterval time.Duration
	ImbalancePercent  int
	// Clock defaults to the machine's.
	Clock clock.Clock
	// Logger is silent where nil.
	Logger *slog.Logger
	// Pick chooses a number below n, for the first replica of new topics; a
	// random one by default.
	Pick func(n int) int
}

// event is a set of things to look at again. Events carry no content: whoever
// handles one reads the present state, so any number of them may be one.
type event uint32

const (
	officeEvent event = 1 << iota
	brokersEvent
	topicsEvent
	deletionsEvent
	configsEvent
)

// Controller runs one broker's part in controlling the cluster: it stands for
// election, and acts while elected. Its methods are safe for concurrent use.
type Controller struct {
	o   Options
	log *slog.Logger

	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	calls  chan func()
	events atomic.Uint32 // set of event
	wake   chan struct{} // capacity 1

	elected atomic.Bool // written by the loop

	// Owned by the loop.
	fence      znode.Fence
	session    int64 // the one that was elected
	brokers    []znode.Broker
	topics     map[string]*topic
	lastChange int64 // sequence of the last config change applied
}

// New returns a Controller that Start brings to life.
func New(o Options) *Controller {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Pick == nil {
		o.Pick = rand.IntN
	}
	c := &Controller{o: o, log: o.Logger, calls: make(chan func()), wake: make(chan struct{}, 1), topics: map[string]*topic{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Start reads the cluster's state, stands for election and watches from then on.
// When it returns, the Sink has been told of the brokers, of all configuration
// and, if this broker won, of all partitions. Register the broker before. After
// an error the Controller is closed.
func (c *Controller) Start(ctx context.Context) error {
	c.work.Go(c.loop)
	if err := c.call(ctx, c.begin); err != nil {
		c.Close()
		return err
	}
	cl := c.o.Client
	cl.WatchController(c.ctx, func() { c.signal(officeEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceBrokers, func() { c.signal(brokersEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceTopics, func() { c.signal(topicsEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceDeletions, func() { c.signal(deletionsEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceConfigChanges, func() { c.signal(configsEvent) })
	c.work.Go(c.watchSession)
	return nil
}

func (c *Controller) begin(ctx context.Context) error {
	if err := c.loadConfigs(ctx); err != nil {
		return err
	}
	if err := c.loadBrokers(ctx); err != nil {
		return err
	}
	return c.seekOffice(ctx)
}

// Close resigns, and returns once nothing calls the Sink any more. Calls under
// way fail with ErrClosed. It is safe to repeat.
func (c *Controller) Close() {
	c.cancel()
	c.work.Wait()
}

// IsController reports whether this broker holds the office, as far as it knows:
// only the fence of a write proves it.
func (c *Controller) IsController() bool { return c.elected.Load() }

func (c *Controller) signal(e event) {
	c.events.Or(uint32(e))
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Controller) watchSession() {
	for {
		changed := c.o.Client.SessionChanged()
		c.signal(officeEvent)
		select {
		case <-changed:
		case <-c.ctx.Done():
			return
		}
	}
}

// call runs f on the loop.
func (c *Controller) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	done := make(chan error, 1)
	select {
	case c.calls <- func() { done <- f(ctx) }:
		err := <-done // f ends with ctx
		if err != nil && c.ctx.Err() != nil {
			return ErrClosed
		}
		return err
	case <-ctx.Done():
		if c.ctx.Err() != nil {
			return ErrClosed
		}
		return ctx.Err()
	}
}

func (c *Controller) loop() {
	defer c.resign()
	for {
		select {
		case f := <-c.calls:
			f()
		case <-c.wake:
			c.handle(event(c.events.Swap(0)))
		case <-c.ctx.Done():
			return
		}
	}
}

// handle looks at what changed. What fails is logged and looked at again with
// the next event; losing the connection makes one.
func (c *Controller) handle(events event) {
	steps := []struct {
		event event
		name  string
		do    func(context.Context) error
	}{
		{configsEvent, "apply config changes", c.applyConfigChanges},
		{officeEvent, "stand for election", c.seekOffice},
		{brokersEvent, "follow the brokers", c.followBrokers},
		{topicsEvent, "follow the topics", c.followTopics},
		{deletionsEvent, "delete topics", c.followDeletions},
	}
	for _, s := range steps {
		if events&s.event == 0 {
			continue
		}
		if err := c.checked(s.do(c.ctx)); err != nil && c.ctx.Err() == nil {
			c.log.Error("controller cannot "+s.name, "error", err)
		}
	}
}
