package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/config"
	"tidemark/coordinator/zkserver"
	"tidemark/internal/vfs"
	"tidemark/replication"
	strategies "tidemark/replication/catalog"
	"tidemark/replication/isr"
)

// testCluster is brokers with one metadata store: in this process where a test wants
// to look into them, in processes of their own where it kills them.
type testCluster struct {
	t        *testing.T
	zk       string
	dir      string
	settings []string
	// strategies are those of brokers in this process; empty for the shipped ones.
	strategies replication.Catalog
	brokers    map[int32]*Broker
	killable   map[int32]*brokerProcess
	address    map[int32]string
	// home is where a broker's process listened first; it comes back there.
	home map[int32]string
	// net is the network of the processes' addresses, "127.1.2.": nobody else has a port
	// there while a broker is away.
	net string
}

// endsSoon is the session of brokers that a test kills or holds up. The others' lives
// through what a busy machine does to them.
var endsSoon = []string{"zookeeper.session.timeout.ms", "4000"}

// newTestCluster starts the metadata store; its settings are those of every broker.
func newTestCluster(t *testing.T, settings ...string) *testCluster {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store, err := zkserver.Start(l, zkserver.Options{FS: vfs.NewMem(), Dir: "/zk", TickTime: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // its clients are gone
	return &testCluster{
		t: t, zk: l.Addr().String(), dir: t.TempDir(), brokers: map[int32]*Broker{}, killable: map[int32]*brokerProcess{}, address: map[int32]string{}, home: map[int32]string{},
		net: fmt.Sprintf("127.%d.%d.", 1+os.Getpid()>>8%254, os.Getpid()%256),
		settings: append([]string{
			"zookeeper.session.timeout.ms", "10000", "default.replication.factor", "3", "min.insync.replicas", "2",
			"offsets.topic.num.partitions", "3", "group.initial.rebalance.delay.ms", "0", "controlled.shutdown.retry.backoff.ms", "500",
			"replica.fetch.backoff.ms", "200", "replica.fetch.wait.max.ms", "200", "metrics.listener", "",
		}, settings...),
	}
}

func (c *testCluster) props(id int32) []string {
	return append([]string{"broker.id", strconv.Itoa(int(id)), "zookeeper.connect", c.zk}, c.settings...)
}

func (c *testCluster) logDir(id int32) string { return filepath.Join(c.dir, strconv.Itoa(int(id))) }

// start starts brokers in this process.
func (c *testCluster) start(ids ...int32) {
	c.t.Helper()
	for _, id := range ids {
		c.brokers[id] = startWith(c.t, Options{Config: settings(c.logDir(id), c.props(id)...), Strategies: c.strategies})
		c.address[id] = c.brokers[id].Addr().String()
	}
	c.awaitBrokers(ids...)
}

// stop shuts one down in order.
func (c *testCluster) stop(id int32) {
	c.t.Helper()
	stop(c.t, c.brokers[id])
	delete(c.brokers, id)
	delete(c.address, id)
}

// launch starts brokers in processes.
func (c *testCluster) launch(ids ...int32) {
	c.t.Helper()
	for _, id := range ids {
		props := c.props(id)
		home, ok := c.home[id]
		if !ok {
			home = c.net + strconv.Itoa(int(id)) + ":0"
		}
		props = append(props, "listeners", "PLAINTEXT://"+home)
		given, err := json.Marshal(props)
		if err != nil {
			c.t.Fatal(err)
		}
		c.killable[id] = startProcess(c.t, c.logDir(id), asProcessSettings+"="+string(given))
		c.address[id] = c.killable[id].address
		c.home[id] = c.address[id]
	}
	c.awaitBrokers(ids...)
}

// kill ends a process without a word.
func (c *testCluster) kill(id int32) {
	c.t.Helper()
	if err := c.killable[id].cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.killable[id].cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	delete(c.killable, id)
	delete(c.address, id)
}

func (c *testCluster) seeds() (list []string) {
	for _, a := range c.address {
		list = append(list, a)
	}
	return list
}

// client is a kgo client of the whole cluster.
func (c *testCluster) client(more ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.seeds()...), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }), kgo.RecordRetries(1000), kgo.UnknownTopicRetries(100)}, more...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

func (c *testCluster) admin() *kadm.Client { return kadm.NewClient(c.client()) }

// patience bounds every wait of these tests; none needs a tenth of it.
const patience = 2 * time.Minute

// await polls until what holds; last says what was seen.
func (c *testCluster) await(what string, holds func(ctx context.Context) (last string, ok bool)) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var last string
	for ok := false; !ok; {
		if last, ok = holds(ctx); ok {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			c.t.Fatalf("still waiting for %s: %s", what, last)
		}
	}
}

// awaitBrokers waits until every named broker tells of each other.
func (c *testCluster) awaitBrokers(ids ...int32) {
	c.t.Helper()
	c.await("the brokers to know each other", func(ctx context.Context) (string, bool) {
		for _, id := range ids {
			client, err := kgo.NewClient(kgo.SeedBrokers(c.address[id]), kgo.MetadataMinAge(100*time.Millisecond))
			if err != nil {
				return err.Error(), false
			}
			m, err := kadm.NewClient(client).BrokerMetadata(ctx)
			client.Close()
			if err != nil || m.Controller < 0 || len(m.Brokers) != len(c.address) {
				return fmt.Sprintf("broker %d tells of %v, controller %d, %v", id, m.Brokers.NodeIDs(), m.Controller, err), false
			}
		}
		return "", true
	})
}

// create makes a topic of three replicas.
func (c *testCluster) create(name string, partitions int32, settings ...string) {
	c.t.Helper()
	configs := map[string]*string{}
	for i := 0; i < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	resp, err := c.admin().CreateTopic(ctx, partitions, 3, configs, name)
	if err := errors.Join(err, resp.Err); err != nil {
		c.t.Fatalf("create %s: %v", name, err)
	}
}

// partition is what the cluster tells of one.
func (c *testCluster) partition(ctx context.Context, topic string, index int32) (kadm.PartitionDetail, error) {
	client := c.client() // a new one asks any broker, and is asked for again and again
	defer client.Close()
	details, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err != nil {
		return kadm.PartitionDetail{}, err
	}
	p, ok := details[topic].Partitions[index]
	if !ok {
		return p, fmt.Errorf("%s-%d is not told of: %w", topic, index, details[topic].Err)
	}
	return p, p.Err
}

func (c *testCluster) leader(topic string, index int32) (leader int32) {
	c.t.Helper()
	c.await(fmt.Sprintf("a leader of %s-%d", topic, index), func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, topic, index)
		leader = p.Leader
		return fmt.Sprintf("%+v, %v", p, err), err == nil && leader >= 0
	})
	return leader
}

// awaitISR waits for an in-sync set of so many.
func (c *testCluster) awaitISR(topic string, index int32, want int) {
	c.t.Helper()
	c.await(fmt.Sprintf("%d in sync of %s-%d", want, topic, index), func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, topic, index)
		return fmt.Sprintf("%+v, %v", p, err), err == nil && len(p.ISR) == want
	})
}

// write produces the records from to to−1 with acks=all.
func (c *testCluster) write(topic string, from, to int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	client := c.client(kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := from; i < to; i++ {
		r := kgo.StringRecord("record " + strconv.Itoa(i))
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			c.t.Fatalf("produce record %d to %s: %v", i, topic, err)
		}
	}
}

// read expects the records 0 to n−1 of partition 0, in order.
func (c *testCluster) read(topic string, n int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	client := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	for next := 0; next < n; {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.t.Fatalf("read %d of %d records of %s", next, n, topic)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if want := "record " + strconv.Itoa(next); string(r.Value) != want {
				c.t.Fatalf("got %q at offset %d of %s, want %q", r.Value, r.Offset, topic, want)
			}
			next++
		})
	}
}

// TestClusterOfThree: a topic of three replicas takes records that every in-sync
// replica has, and each broker tells the same of it.
func TestClusterOfThree(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3)
	c.create("t", 1)
	c.awaitISR("t", 0, 3)
	c.write("t", 0, 100)
	c.read("t", 100)
	c.await("every replica to have all records", func(context.Context) (string, bool) {
		var seen []string
		same := true
		for id, b := range c.brokers {
			p := b.replicas.Partition("t", 0)
			seen = append(seen, fmt.Sprintf("broker %d: end %d, high watermark %d", id, p.LogEndOffset(), p.HighWatermark()))
			same = same && p.LogEndOffset() == 100 && p.HighWatermark() == 100
		}
		return strings.Join(seen, "; "), same
	})
	admin := c.admin()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: "t", At: 40})
	deleted, err := admin.DeleteRecords(t.Context(), offsets)
	if err := errors.Join(err, deleted.Error()); err != nil {
		t.Fatal(err)
	}
	c.await("every replica to delete records", func(context.Context) (string, bool) {
		for id, b := range c.brokers {
			if start := b.replicas.Partition("t", 0).LogStartOffset(); start != 40 {
				return fmt.Sprintf("broker %d starts at %d", id, start), false
			}
		}
		return "", true
	})
}

// TestEveryStrategy: each of the shipped strategies takes and gives back records.
func TestEveryStrategy(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3)
	for _, strategy := range []string{"async", "sync", "isr", "quorum"} {
		t.Run(strategy, func(t *testing.T) {
			c.create(strategy, 1, "replication.strategy", strategy)
			c.write(strategy, 0, 50)
			c.read(strategy, 50)
			if got := c.brokers[1].replicas.Partition(strategy, 0).Status().Strategy; got != strategy {
				t.Errorf("the replica runs strategy %q, want %q", got, strategy)
			}
		})
	}
}

// TestLeaderKilled: what was acknowledged outlives a kill -9 of the leader, and the
// killed broker comes back into the in-sync set, with eligible leaders kept and without.
func TestLeaderKilled(t *testing.T) {
	for _, eligible := range []string{"false", "true"} {
		t.Run("eligible.leader.replicas="+eligible, func(t *testing.T) { killLeader(t, eligible) })
	}
}

func killLeader(t *testing.T, eligible string) {
	c := newTestCluster(t, append(endsSoon, "eligible.leader.replicas", eligible)...)
	c.launch(1, 2, 3)
	c.create("t", 1)
	c.write("t", 0, 100)
	old := c.leader("t", 0)
	c.kill(old)
	c.await("another leader", func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, "t", 0)
		return fmt.Sprintf("%+v, %v", p, err), err == nil && p.Leader >= 0 && p.Leader != old
	})
	c.read("t", 100)
	c.write("t", 100, 200)
	c.launch(old)
	c.awaitISR("t", 0, 3)
	c.write("t", 200, 250)
	c.read("t", 250)
}

// TestLeaderPaused: a leader that stands still for longer than its session is replaced;
// when it goes on it acknowledges nothing as a leader that it is no more, and follows.
func TestLeaderPaused(t *testing.T) {
	c := newTestCluster(t, endsSoon...)
	c.launch(1, 2, 3)
	c.create("t", 1)
	c.write("t", 0, 50)
	old := c.leader("t", 0)
	signal := func(s syscall.Signal) {
		if err := c.killable[old].cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	c.await("another leader", func(ctx context.Context) (string, bool) {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // the paused one may be asked
		defer cancel()
		p, err := c.partition(ctx, "t", 0)
		return fmt.Sprintf("%+v, %v", p, err), err == nil && p.Leader >= 0 && p.Leader != old
	})
	c.write("t", 50, 100)
	signal(syscall.SIGCONT)
	c.awaitISR("t", 0, 3)
	c.write("t", 100, 120)
	c.read("t", 120)
}

// TestStrangersStrategy: a strategy that only this program has runs as the shipped ones
// do.
func TestStrangersStrategy(t *testing.T) {
	mine := isr.Spec()
	mine.Name = "mine"
	c := newTestCluster(t)
	c.strategies = strategies.Builtin().With(mine)
	c.start(1, 2, 3)
	c.create("t", 1, "replication.strategy", "mine")
	c.write("t", 0, 20)
	c.read("t", 20)
	if got := c.brokers[2].replicas.Partition("t", 0).Status().Strategy; got != "mine" {
		t.Errorf("the replica runs strategy %q", got)
	}
}

// TestControllerFailover: when the controller leaves, another takes office, and topics
// are created, written and deleted as before.
func TestControllerFailover(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3)
	c.create("before", 2)
	var first int32
	for id, b := range c.brokers {
		if b.controller.IsController() {
			first = id
		}
	}
	c.stop(first)
	c.await("another controller", func(ctx context.Context) (string, bool) {
		client := c.client()
		defer client.Close()
		m, err := kadm.NewClient(client).BrokerMetadata(ctx)
		return fmt.Sprintf("%d, %v", m.Controller, err), err == nil && m.Controller >= 0 && m.Controller != first
	})
	c.write("before", 0, 20)
	c.read("before", 20)
	c.start(first)
	c.create("after", 1)
	c.awaitISR("before", 1, 3)
	c.write("after", 0, 20)
	resp, err := c.admin().DeleteTopics(t.Context(), "before")
	if err := errors.Join(err, resp.Error()); err != nil {
		t.Fatal(err)
	}
	c.await("the logs of the deleted topic to go", func(context.Context) (string, bool) {
		for id := range c.brokers {
			if left, _ := filepath.Glob(filepath.Join(c.logDir(id), "before-*")); len(left) > 0 && !strings.HasSuffix(left[0], "-delete") {
				return fmt.Sprint(left), false
			}
		}
		return "", true
	})
}

// TestControlledShutdown: a broker that is told to stop leads nothing by the time that
// it stops answering, and the in-sync sets do not contain it.
func TestControlledShutdown(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3)
	c.create("t", 6)
	for p := range int32(6) {
		c.awaitISR("t", p, 3)
	}
	leaving := c.brokers[2]
	leaving.giveUpLeadership(t.Context())
	for _, s := range leaving.replicas.Statuses() {
		if s.Leader == 2 {
			c.await("the order to follow", func(context.Context) (string, bool) {
				leader, _ := leaving.replicas.Partition(s.Topic, s.Partition).Leader()
				return fmt.Sprint(leader), leader != 2
			})
		}
	}
	c.await("every broker to tell of other leaders", func(context.Context) (string, bool) {
		for _, b := range c.brokers {
			topic := b.view.View().Topic("t")
			if topic == nil {
				return fmt.Sprintf("broker %d has not heard of it", b.o.Config.BrokerID), false
			}
			for _, p := range topic.Partitions {
				if p.Leader == 2 || p.Leader < 0 {
					return fmt.Sprintf("broker %d tells of %+v", b.o.Config.BrokerID, p), false
				}
			}
		}
		return "", true
	})
	c.stop(2)
	if _, err := os.Stat(filepath.Join(c.logDir(2), ".kafka_cleanshutdown")); err != nil {
		t.Errorf("no marker of the clean shutdown: %v", err)
	}
	c.write("t", 0, 20)
	c.start(2)
	for p := range int32(6) {
		c.awaitISR("t", p, 3)
	}
	c.read("t", 20)
}

// TestCoordinatorFailover: a group goes on from what it committed when its coordinator
// is killed.
func TestCoordinatorFailover(t *testing.T) {
	for _, storage := range []string{config.OffsetsInKafka, config.OffsetsInZooKeeper} {
		t.Run(storage, func(t *testing.T) { coordinatorFailover(t, storage) })
	}
}

func coordinatorFailover(t *testing.T, storage string) {
	c := newTestCluster(t, append(endsSoon, "offsets.storage", storage)...)
	c.launch(1, 2, 3)
	c.create("t", 1)
	c.write("t", 0, 100)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	member := c.client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for read := 0; read < 100; {
		f := member.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("the group read %d of 100 records", read)
		}
		read += f.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatal(err)
	}
	found := c.admin().FindGroupCoordinators(ctx, "g")
	if err := found.Error(); err != nil {
		t.Fatal(err)
	}
	c.kill(found["g"].NodeID)
	c.await("the committed offset", func(ctx context.Context) (string, bool) {
		client := c.client()
		defer client.Close()
		offsets, err := kadm.NewClient(client).FetchOffsets(ctx, "g")
		if err != nil {
			return err.Error(), false
		}
		o, ok := offsets.Lookup("t", 0)
		return fmt.Sprintf("%+v", o), ok && o.At == 100
	})
	c.write("t", 100, 150)
	for read := 0; read < 50; {
		f := member.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("after the failover the group read %d of 50 records", read)
		}
		read += f.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Errorf("commit at the new coordinator: %v", err)
	}
}

// TestReassignAndElect: a partition moves to another broker with its records, and
// leadership goes to the preferred replica.
func TestReassignAndElect(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3, 4)
	c.create("t", 1)
	c.write("t", 0, 100)
	p, err := c.partition(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	outside := int32(1 + 2 + 3 + 4)
	for _, r := range p.Replicas {
		outside -= r
	}
	to := []int32{outside, p.Replicas[1], p.Replicas[2]}
	admin := c.admin()
	req := kadm.AlterPartitionAssignmentsReq{}
	req.Assign("t", 0, to)
	resp, err := admin.AlterPartitionAssignments(t.Context(), req)
	if err := errors.Join(err, resp.Error()); err != nil {
		t.Fatal(err)
	}
	c.await("the reassignment", func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, "t", 0)
		left, listErr := admin.ListPartitionReassignments(ctx, nil)
		return fmt.Sprintf("%+v, %v, %v, %v", p, err, left, listErr),
			err == nil && listErr == nil && len(left) == 0 && fmt.Sprint(p.Replicas) == fmt.Sprint(to) && len(p.ISR) == 3
	})
	elected, err := admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, kadm.TopicsSet{"t": {0: {}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := elected["t"][0].Err; err != nil && !errors.Is(err, kerr.ElectionNotNeeded) {
		t.Fatal(err)
	}
	c.await("the preferred leader", func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, "t", 0)
		return fmt.Sprintf("%+v, %v", p, err), err == nil && p.Leader == outside
	})
	c.read("t", 100)
	if old := p.Replicas[0]; c.brokers[old].replicas.Partition("t", 0) != nil {
		c.await("the old replica to go", func(context.Context) (string, bool) {
			return "", c.brokers[old].replicas.Partition("t", 0) == nil
		})
	}
}

// TestLeadersWriteStates is isr.update=zookeeper: a follower leaves the in-sync set and
// comes back by the leader's own writes, and a broker of another mind does not start.
func TestLeadersWriteStates(t *testing.T) {
	c := newTestCluster(t, "isr.update", "zookeeper", "replica.lag.time.max.ms", "3000")
	c.start(1, 2, 3)
	c.create("t", 1)
	c.awaitISR("t", 0, 3)
	c.write("t", 0, 20)
	var away int32
	for _, id := range []int32{1, 2, 3} {
		if id != c.leader("t", 0) {
			away = id
		}
	}
	c.stop(away)
	c.awaitISR("t", 0, 2)
	c.write("t", 20, 40)
	c.start(away)
	c.awaitISR("t", 0, 3)
	c.read("t", 40)

	other, err := New(Options{Config: settings(c.logDir(9), append(c.props(9), "isr.update", "controller")...), Engines: c.brokers[1].o.Engines})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "isr.update") {
		stop(t, other)
		t.Errorf("a broker with another isr.update: %v, want it refused", err)
	}
}

// TestFollowerPaused: a follower that stands still for longer than
// replica.lag.time.max.ms, and not as long as its session, leaves the in-sync set by its
// leader's doing, whoever writes it, and comes back by it.
func TestFollowerPaused(t *testing.T) {
	for _, by := range []string{"controller", "zookeeper"} {
		t.Run("isr.update="+by, func(t *testing.T) {
			c := newTestCluster(t, "isr.update", by, "replica.lag.time.max.ms", "1500")
			c.launch(1, 2, 3)
			c.create("t", 1)
			c.write("t", 0, 20)
			p, err := c.partition(t.Context(), "t", 0)
			if err != nil {
				t.Fatal(err)
			}
			follower := p.Replicas[2]
			paused := c.killable[follower].cmd.Process
			// Nobody is to ask the broker that does not answer.
			delete(c.address, follower)
			if err := paused.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			// Without records nobody is behind.
			c.write("t", 20, 21)
			if err := paused.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			c.awaitISR("t", 0, 3)
			c.write("t", 21, 40)
			c.read("t", 40)
		})
	}
}

// TestAnyBrokerCreates: a topic that a client asks any broker about is created by the
// controller, with the configured number of replicas.
func TestAnyBrokerCreates(t *testing.T) {
	c := newTestCluster(t)
	c.start(1, 2, 3)
	for id := range int32(3) {
		topic := fmt.Sprint("auto-", id+1)
		c.await(topic, func(ctx context.Context) (string, bool) {
			client, err := kgo.NewClient(kgo.SeedBrokers(c.address[id+1]), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(100))
			if err != nil {
				return err.Error(), false
			}
			defer client.Close()
			p, err := kadm.NewClient(client).ListTopics(ctx, topic)
			return fmt.Sprint(p, err), err == nil && len(p[topic].Partitions) > 0
		})
		c.awaitISR(topic, 0, 3)
	}
}
