package controller

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// cluster is a number of made-up brokers around one metadata store. A broker's
// registration and its controller have sessions of their own, so that a test can end
// one without the other.
type cluster struct {
	t    testing.TB
	addr string

	mu          sync.Mutex
	brokers     map[int32]*fakeBroker
	controllers map[int32]*Controller
	with        map[string]strategy // by topic; isr else
	// ledBy is who led a partition in a leader epoch, for every topic there ever was.
	ledBy map[string]int32
}

// fakeBroker takes what a broker takes, and can be told not to.
type fakeBroker struct {
	id     int32
	client *znode.Client
	dir    replication.DirID
	rack   string

	epoch           int64
	controllerEpoch int32
	down, stale     bool // no answers; answers of an earlier life
	states          map[TopicPartition]PartitionState
	views           map[TopicPartition]PartitionState
	logs            map[key]bool
	offline         map[TopicPartition]bool
	noLeader        bool // it refuses to lead
	ends            map[TopicPartition]FenceAnswer
	fences          map[TopicPartition]int32
	slow            map[TopicPartition]chan struct{} // told that it is asked for a promise, which it never gives
	fulls, requests int
	// told are the numbers of partitions that it was told of, by request and topic.
	told []int
	live []int32
	// answered counts LeaderAndISR requests by the number of their partitions.
	partitions int
}

func newCluster(t testing.TB, brokers ...int32) *cluster {
	n := &cluster{
		t: t, addr: startServer(t), brokers: map[int32]*fakeBroker{}, controllers: map[int32]*Controller{},
		with: map[string]strategy{}, ledBy: map[string]int32{},
	}
	for _, id := range brokers {
		n.join(id)
	}
	return n
}

func (n *cluster) strategy(topic string) (replication.Spec, replication.Config) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s, ok := n.with[topic]; ok {
		return s.spec, s.cfg
	}
	return inSync(topic)
}

// join registers a broker; one that was there before comes back with its logs.
func (n *cluster) join(id int32) *fakeBroker {
	n.t.Helper()
	client := connectFor(n.t, n.addr, 10*time.Second)
	n.mu.Lock()
	b := n.brokers[id]
	if b == nil {
		b = &fakeBroker{id: id, dir: replication.DirID{byte(id)}, logs: map[key]bool{}, ends: map[TopicPartition]FenceAnswer{}, fences: map[TopicPartition]int32{}}
		n.brokers[id] = b
	}
	b.client, b.down = client, false
	b.states, b.views, b.offline = map[TopicPartition]PartitionState{}, map[TopicPartition]PartitionState{}, map[TopicPartition]bool{}
	b.controllerEpoch, b.fulls = -1, 0
	rack := b.rack
	n.mu.Unlock()
	epoch, err := client.RegisterBroker(testContext(n.t), znode.Broker{
		ID: id, Host: "127.0.0.1", Port: 9000 + id, Rack: rack, LogDirs: []replication.DirID{b.dir},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	b.epoch = epoch
	n.mu.Unlock()
	return b
}

// leave ends a broker's session: it is dead.
func (n *cluster) leave(id int32) {
	n.mu.Lock()
	b := n.brokers[id]
	b.down = true
	n.mu.Unlock()
	b.client.Close()
}

// control starts a controller for a broker.
func (n *cluster) control(id int32, client *znode.Client) *Controller {
	n.t.Helper()
	c := New(Options{
		Client: client, BrokerID: id, Sink: newSink(), Peers: &fakePeers{n}, Replication: n.strategy,
		Logger: testLogger(n.t), Pick: func(int) int { return 0 }, ImbalancePercent: 10, RequestTimeout: 2 * time.Second,
	})
	n.mu.Lock()
	n.controllers[id] = c
	n.mu.Unlock()
	if err := c.Start(testContext(n.t)); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return c
}

func connectFor(t testing.TB, addr string, session time.Duration) *znode.Client {
	t.Helper()
	c, err := znode.Connect(testContext(t), znode.Options{Servers: []string{addr}, SessionTimeout: session})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.EnsureLayout(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

// await polls until holds is true; why says what is missing.
func await(t testing.TB, holds func() (ok bool, why string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, why := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still waiting: %s", why)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// state is a partition as the metadata store has it.
func (n *cluster) state(client *znode.Client, topic string, p int32) znode.PartitionState {
	s, err := client.PartitionState(testContext(n.t), TopicPartition{Topic: topic, Partition: p})
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// agreed says whether every live broker was told what stands in the metadata store.
func (n *cluster) agreed(client *znode.Client, topics ...string) (bool, string) {
	ctx := testContext(n.t)
	for _, name := range topics {
		zt, err := client.Topic(ctx, name)
		if err != nil {
			return false, err.Error()
		}
		for p, replicas := range zt.Partitions {
			tp := TopicPartition{Topic: name, Partition: p}
			s, err := client.PartitionState(ctx, tp)
			if err != nil {
				return false, err.Error()
			}
			n.mu.Lock()
			for _, b := range n.brokers {
				if b.down {
					continue
				}
				if v := b.views[tp]; v.Leader != s.Leader || v.PartitionEpoch != s.Version || v.TopicID != zt.ID || !slices.Equal(v.Replicas, replicas) {
					n.mu.Unlock()
					return false, fmt.Sprintf("broker %d shows %+v of %v, the store has %+v with replicas %v", b.id, v, tp, s, replicas)
				}
				if st, ok := b.states[tp]; ok != slices.Contains(replicas, b.id) || ok && (st.LeaderEpoch != s.LeaderEpoch || st.PartitionEpoch != s.Version) {
					n.mu.Unlock()
					return false, fmt.Sprintf("broker %d has %+v of %v, the store has %+v", b.id, st, tp, s)
				}
			}
			n.mu.Unlock()
		}
	}
	return true, ""
}

// office is who is controller now, waiting for one.
func (n *cluster) office() *Controller {
	var found *Controller
	await(n.t, func() (bool, string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range n.controllers {
			if c.IsController() {
				found = c
				return true, ""
			}
		}
		return false, "nobody is controller"
	})
	return found
}

// replicate has leaders propose who is assigned, live and not in sync, as leaders do
// once followers caught up, until the test ends.
func (n *cluster) replicate() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			n.proposeAll(ctx)
			time.Sleep(5 * time.Millisecond)
		}
	})
	n.t.Cleanup(func() { cancel(); work.Wait() })
}

func (n *cluster) proposeAll(ctx context.Context) {
	n.mu.Lock()
	var controller *Controller
	for _, c := range n.controllers {
		if c.IsController() {
			controller = c
		}
	}
	proposals, epochs := map[int32][]Proposal{}, map[int32]int64{}
	for _, b := range n.brokers {
		epochs[b.id] = b.epoch
		for tp, s := range b.states {
			if s.Leader != b.id || b.down {
				continue
			}
			isr := slices.Clone(s.ISR)
			for _, id := range s.Replicas {
				other := n.brokers[id]
				if st, ok := other.states[tp]; !other.down && ok && st.LeaderEpoch == s.LeaderEpoch && !replication.Contains(isr, id) {
					isr = append(isr, replication.Member{Broker: id, BrokerEpoch: other.epoch, Dir: other.dir})
				}
			}
			if len(isr) > len(s.ISR) {
				proposals[b.id] = append(proposals[b.id], Proposal{TopicID: s.TopicID, Partition: tp.Partition, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ISR: isr})
			}
		}
	}
	n.mu.Unlock()
	if controller == nil {
		return
	}
	for id, p := range proposals {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		outcomes, err := controller.AlterPartition(ctx, id, epochs[id], p)
		cancel()
		if err != nil {
			continue
		}
		n.mu.Lock()
		for _, o := range outcomes {
			if b := n.brokers[id]; o.Err == nil && b.epoch == epochs[id] {
				if s, ok := b.states[o.State.TopicPartition]; ok && s.LeaderEpoch == o.State.LeaderEpoch && s.PartitionEpoch < o.State.PartitionEpoch {
					b.states[o.State.TopicPartition] = o.State
				}
			}
		}
		n.mu.Unlock()
	}
}

// testLogger passes the controller's log on to the test's output with CONTROLLER_LOG.
func testLogger(t testing.TB) *slog.Logger {
	if os.Getenv("CONTROLLER_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
