// Package controller decides who leads each partition and writes it down. One
// broker at a time is the controller: it holds /controller, and every write it
// makes is conditional on the epoch it was elected with, so a deposed controller
// cannot write (Kafka's KafkaController with its ZooKeeper state).
//
// What it knows it reads from ZooKeeper, on taking office and after each
// notification. The rules are those of replication/sim, for many partitions: what a
// partition's state should be says the election of its strategy; the state is
// written where it is not so yet, and told once it is. Each broker is told by a
// sender of its own until it confirms. Nothing is kept beside ZooKeeper that the
// next controller would need.
//
// Configuration is passed on by every broker's Controller, in office or not.
package controller

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
	"tidemark/replication"
)

// Options configure a Controller. Client, Sink, Peers and Replication are required.
type Options struct {
	Client   *znode.Client
	BrokerID int32
	Sink     Sink
	// Peers reaches the brokers, this one included.
	Peers Peers
	// Registered reports whether the broker's registration stands; without it the
	// broker does not stand for election, as nobody could find it. nil is always.
	Registered func() bool
	// Replication is the strategy of a topic and what its elections look at; Self,
	// BrokerEpoch and Dir are ignored. It must not call the Controller.
	Replication func(topic string) (replication.Spec, replication.Config)
	// AutoRebalance is auto.leader.rebalance.enable; ImbalanceInterval and
	// ImbalancePercent are leader.imbalance.check.interval.seconds and
	// leader.imbalance.per.broker.percentage.
	AutoRebalance     bool
	ImbalanceInterval time.Duration
	ImbalancePercent  int
	// RequestTimeout is controller.socket.timeout.ms, 30 s by default.
	RequestTimeout time.Duration
	// Clock defaults to the machine's.
	Clock clock.Clock
	// Logger is silent where nil.
	Logger *slog.Logger
	// Trace takes the elections; nil is off.
	Trace *trace.Tracer
	// Pick chooses a number below n, for the first replica of new topics; a
	// random one by default.
	Pick func(n int) int
}

// event is a set of things to look at again. Events carry no content: whoever
// handles one reads the present state, so any number of them may be one.
type event uint32

const (
	postedEvent event = 1 << iota
	officeEvent
	brokersEvent
	topicsEvent
	deletionsEvent
	reassignEvent
	preferredEvent
	isrChangesEvent
	logDirsEvent
	requestsEvent
	balanceEvent
	tickEvent
)

// tick is how often what failed, or waits for an answer, is tried again.
const tick = 200 * time.Millisecond

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
	inbox  inbox

	configs configs

	elected    atomic.Bool
	controller atomic.Int32 // who holds the office, −1 for nobody known

	lease  *znode.Lease
	leased atomic.Bool // the lease held at some time of this term

	termMu  sync.Mutex
	session int64              // the one that was elected, 0 out of office
	endTerm context.CancelFunc // ends term; not nil while in office
	term    context.Context    // ends with the office; the loop writes it, and reads it without termMu

	// Owned by the loop.
	fence   znode.Fence
	retry   event // steps that failed
	brokers map[int32]*broker
	topics  map[string]*topic
	dirty   map[*partition]bool // to be decided
	stale   map[string]bool     // topics to be read again
	passed  map[string]bool     // topics that cannot be read
	strays  []znode.Stray
	unrest  int             // how many times in a row settle came to no end
	leaving map[int32]int64 // brokers that shut down, by registration
	wanted  map[TopicPartition][]int32
	specs   map[string]strategy // of this round of settle

	timersMu sync.Mutex // guards timers
	timers   []clock.Timer
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
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 30 * time.Second
	}
	c := &Controller{o: o, log: o.Logger, calls: make(chan func()), wake: make(chan struct{}, 1)}
	c.configs.init(o)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.controller.Store(replication.NoBroker)
	c.lease = o.Client.Lease()
	c.forget()
	return c
}

// Start reads the cluster's state, stands for election and watches from then on.
// When it returns, the Sink has been told of all configuration and, if this broker
// won, it has been told of its partitions. Register the broker before. After an
// error the Controller is closed.
func (c *Controller) Start(ctx context.Context) error {
	c.work.Go(c.loop)
	_, err := call(c, ctx, func(ctx context.Context) (struct{}, error) {
		if err := c.loadConfigs(ctx); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.seekOffice(ctx)
	})
	if err == nil && c.elected.Load() {
		if err = c.awaitTold(ctx, 0); errors.Is(err, ErrNotController) {
			err = nil // whoever is elected next tells it
		}
	}
	if err != nil {
		c.Close()
		return err
	}
	cl := c.o.Client
	cl.WatchController(c.ctx, func() { c.signal(officeEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceBrokers, func() { c.signal(brokersEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceTopics, func() { c.signal(topicsEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceDeletions, func() { c.signal(deletionsEvent) })
	cl.WatchNode(c.ctx, znode.PlaceReassignments, func() { c.signal(reassignEvent) })
	cl.WatchNode(c.ctx, znode.PlacePreferred, func() { c.signal(preferredEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceISRChanges, func() { c.signal(isrChangesEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceLogDirEvents, func() { c.signal(logDirsEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceConfigRequests, func() { c.signal(requestsEvent) })
	cl.WatchChildren(c.ctx, znode.PlaceConfigChanges, c.followConfigs)
	c.work.Go(c.watchSession)
	c.every(tick, func() {
		c.watchLease()
		c.signal(tickEvent)
	})
	if c.o.AutoRebalance && c.o.ImbalanceInterval > 0 {
		c.every(c.o.ImbalanceInterval, func() { c.signal(balanceEvent) })
	}
	return nil
}

// every calls f again and again until Close.
func (c *Controller) every(d time.Duration, f func()) {
	c.timersMu.Lock() // the timers before it run
	i := len(c.timers)
	c.timers = append(c.timers, nil)
	c.timersMu.Unlock()
	var fire func()
	arm := func() {
		c.timersMu.Lock()
		defer c.timersMu.Unlock()
		if c.ctx.Err() == nil {
			c.timers[i] = c.o.Clock.AfterFunc(d, fire)
		}
	}
	fire = func() {
		f()
		arm()
	}
	arm()
}

// Close resigns, and returns once nothing calls Sink or Peers any more. Calls under
// way fail with ErrClosed. It is safe to repeat.
func (c *Controller) Close() {
	c.cancel()
	c.timersMu.Lock()
	for _, t := range c.timers {
		if t != nil {
			t.Stop()
		}
	}
	c.timersMu.Unlock()
	c.work.Wait()
}

// IsController reports whether this broker holds the office, as far as it knows:
// only the fence of a write proves it.
func (c *Controller) IsController() bool { return c.elected.Load() }

// ControllerID is the broker in office as far as this one knows, −1 for none.
func (c *Controller) ControllerID() int32 { return c.controller.Load() }

func (c *Controller) signal(e event) {
	c.events.Or(uint32(e))
	select {
	case c.wake <- struct{}{}:
	default:
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

// step is what one event makes the loop do.
type step struct {
	event event
	name  string
	// office: only the controller does it.
	office bool
	do     func(context.Context) error
}

func (c *Controller) steps() []step {
	return []step{
		{officeEvent, "stand for election", false, c.seekOffice},
		{postedEvent, "take what came in", false, c.takeIn},
		{brokersEvent, "follow the brokers", true, c.followBrokers},
		{topicsEvent, "follow the topics", true, c.followTopics},
		{isrChangesEvent, "follow the ISRs that leaders wrote", true, c.followISRChanges},
		{logDirsEvent, "follow failures of log directories", true, c.followLogDirs},
		{requestsEvent, "change configuration for other brokers", true, c.followConfigRequests},
		{deletionsEvent, "delete topics", true, c.followDeletions},
		{reassignEvent, "reassign partitions", true, c.followReassignments},
		{preferredEvent, "elect preferred leaders", true, c.followPreferred},
		{balanceEvent, "balance leadership", true, c.balance},
		{tickEvent, "try again", true, c.retryStale},
	}
}

// handle looks at what changed. A step that fails is done again at the next tick.
func (c *Controller) handle(events event) {
	if events&tickEvent != 0 {
		events |= c.retry
		c.retry = 0
	}
	for _, s := range c.steps() {
		if events&s.event == 0 {
			continue
		}
		ctx := c.ctx
		if s.office {
			if !c.elected.Load() {
				continue
			}
			ctx = c.term
		}
		c.settled(s.event, s.name, s.do(ctx))
	}
	if c.elected.Load() {
		c.settled(0, "settle", c.settle(c.term))
	}
}

// settled takes note of what became of a step.
func (c *Controller) settled(e event, name string, err error) {
	if err = c.checked(err); err != nil && c.ctx.Err() == nil {
		c.retry |= e
		c.log.Error("controller cannot "+name, "error", err)
	}
}
