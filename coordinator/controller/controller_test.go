package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tidemark/coordinator/zkserver"
	"tidemark/coordinator/znode"
	"tidemark/internal/vfs"
	"tidemark/replication"
	"tidemark/replication/isr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink notes what it is told; wait blocks until a condition holds.
type sink struct {
	mu      sync.Mutex
	changed *sync.Cond
	states  map[TopicPartition]PartitionState
	stopped []TopicPartition
	configs map[string]map[string]string
	brokers []int32
	fail    error
	// onConfig is called, without the lock, before a configuration is noted.
	onConfig func(name string, config map[string]string)
}

func newSink() *sink {
	s := &sink{states: map[TopicPartition]PartitionState{}, configs: map[string]map[string]string{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *sink) ApplyPartitions(states []PartitionState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range states {
		s.states[p.TopicPartition] = p
	}
	s.changed.Broadcast()
	return s.fail
}

func (s *sink) StopPartitions(partitions []TopicPartition, remove bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		delete(s.states, p)
		s.stopped = append(s.stopped, p)
	}
	s.changed.Broadcast()
	return nil
}

func (s *sink) ConfigChanged(entity znode.EntityType, name string, config map[string]string) {
	s.mu.Lock()
	hear := s.onConfig
	s.mu.Unlock()
	if hear != nil {
		hear(string(entity)+"/"+name, config)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configs[string(entity)+"/"+name] = config
	s.changed.Broadcast()
}

func (s *sink) BrokersChanged(brokers []znode.Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.brokers = nil
	for _, b := range brokers {
		s.brokers = append(s.brokers, b.ID)
	}
	s.changed.Broadcast()
}

// wait returns once holds is true; the test's own timeout ends it otherwise.
func (s *sink) wait(holds func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		s.changed.Wait()
	}
}

func (s *sink) get(topic string, p int32) (PartitionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.states[TopicPartition{Topic: topic, Partition: p}]
	return st, ok
}

func inSync(string) (replication.Spec, replication.Config) {
	return isr.Spec(), replication.Config{MinISR: 1}
}

func startServer(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := zkserver.Start(l, zkserver.Options{FS: vfs.NewMem(), Dir: "/zk", TickTime: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Addr().String()
}

// patience bounds what a test waits for; only what is broken takes so long.
const patience = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t testing.TB, addr string) *znode.Client {
	t.Helper()
	ctx := testContext(t)
	c, err := znode.Connect(ctx, znode.Options{Servers: []string{addr}, SessionTimeout: 6 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.EnsureLayout(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func register(t testing.TB, c *znode.Client, id int32) {
	t.Helper()
	_, err := c.RegisterBroker(testContext(t), znode.Broker{ID: id, Host: "127.0.0.1", Port: 9092, Endpoints: []string{"PLAINTEXT://127.0.0.1:9092"}})
	if err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, client *znode.Client, id int32) (*Controller, *sink) {
	t.Helper()
	s := newSink()
	c := New(Options{Client: client, BrokerID: id, Sink: s, Peers: &localPeers{sink: s}, Pick: func(int) int { return 0 }, Replication: inSync})
	if err := c.Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, s
}

func one(t *testing.T) (*Controller, *sink, *znode.Client) {
	t.Helper()
	client := connect(t, startServer(t))
	register(t, client, 1)
	c, s := start(t, client, 1)
	return c, s, client
}

func TestTopicLifecycle(t *testing.T) {
	c, s, client := one(t)
	ctx := testContext(t)
	if !c.IsController() {
		t.Fatal("the only broker is not the controller")
	}
	info, err := c.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 2, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := s.get("t", 1)
	if !slices.Equal(got.InSync(), []int32{1}) || got.ISR[0].BrokerEpoch < 1 {
		t.Errorf("ISR %v: want broker 1 in its registration", got.ISR)
	}
	got.ISR = nil
	want := PartitionState{
		TopicPartition: TopicPartition{Topic: "t", Partition: 1}, TopicID: info.ID,
		Leader: 1, Replicas: []int32{1}, ControllerEpoch: 1, IsNew: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state of t-1 differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"retention.ms": "1"}, s.configs["topics/t"]); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
	if _, err := c.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 1, ValidateOnly: true}); !errors.Is(err, ErrTopicExists) {
		t.Errorf("create again, only validating: error %v, want ErrTopicExists", err)
	}
	if err := c.CreatePartitions(ctx, PartitionsRequest{Name: "t", Count: 3}); err != nil {
		t.Fatal(err)
	}
	if st, ok := s.get("t", 2); !ok || !st.IsNew || st.TopicID != info.ID {
		t.Errorf("grown partition: %+v, %v", st, ok)
	}
	zt, err := client.Topic(ctx, "t")
	if err != nil || zt.ID != info.ID || len(zt.Partitions) != 3 {
		t.Errorf("topic node: %+v, error %v", zt, err)
	}
	if name, err := c.DeleteTopicID(ctx, info.ID); err != nil || name != "t" {
		t.Fatalf("delete by id: %q, error %v", name, err)
	}
	if _, err := client.Topic(ctx, "t"); !errors.Is(err, znode.ErrNotFound) {
		t.Errorf("topic node after the deletion: error %v, want ErrNotFound", err)
	}
	if left, err := client.TopicDeletions(ctx); err != nil || len(left) > 0 {
		t.Errorf("requests left: %v, error %v", left, err)
	}
	if len(s.stopped) != 3 || len(s.states) != 0 {
		t.Errorf("stopped %v, left %v; want all three partitions stopped", s.stopped, s.states)
	}
	again, err := c.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 1})
	if err != nil || again.ID == info.ID {
		t.Errorf("created again with id %s, error %v; want an id other than %s", again.ID, err, info.ID)
	}
	if config, err := client.TopicConfig(ctx, "t"); err != nil || len(config) > 0 {
		t.Errorf("config of the new topic: %v, error %v; want none", config, err)
	}
}

func TestRefusals(t *testing.T) {
	c, _, _ := one(t)
	ctx := testContext(t)
	if _, err := c.CreateTopic(ctx, TopicRequest{Name: "a.b", Partitions: 1, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]struct {
		request TopicRequest
		want    error
	}{
		"collision":               {TopicRequest{Name: "a_b", Partitions: 1, ReplicationFactor: 1}, ErrInvalidTopic},
		"no partition":            {TopicRequest{Name: "x", ReplicationFactor: 1}, ErrInvalidPartitions},
		"no replica":              {TopicRequest{Name: "x", Partitions: 1}, ErrInvalidReplicationFactor},
		"more replicas than live": {TopicRequest{Name: "x", Partitions: 1, ReplicationFactor: 2}, ErrInvalidReplicationFactor},
		"assignment with a gap":   {TopicRequest{Name: "x", Assignment: map[int32][]int32{1: {1}}}, ErrInvalidAssignment},
		"assigned twice":          {TopicRequest{Name: "x", Assignment: map[int32][]int32{0: {1, 1}}}, ErrInvalidAssignment},
		"assigned to nobody":      {TopicRequest{Name: "x", Assignment: map[int32][]int32{0: {}}}, ErrInvalidAssignment},
		"assigned to a stranger":  {TopicRequest{Name: "x", Assignment: map[int32][]int32{0: {7}}}, ErrInvalidAssignment},
	} {
		if _, err := c.CreateTopic(ctx, r.request); !errors.Is(err, r.want) {
			t.Errorf("%s: error %v, want %v", name, err, r.want)
		}
	}
	if err := c.DeleteTopic(ctx, "none"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("delete an unknown topic: error %v", err)
	}
	if _, err := c.DeleteTopicID(ctx, znode.NewTopicID()); !errors.Is(err, ErrUnknownTopicID) {
		t.Errorf("delete an unknown id: error %v", err)
	}
	if err := c.CreatePartitions(ctx, PartitionsRequest{Name: "a.b", Count: 1}); !errors.Is(err, ErrInvalidPartitions) {
		t.Errorf("grow to the same size: error %v", err)
	}
	if err := c.AlterConfig(ctx, znode.Topics, "none", func(map[string]string) error { return nil }); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("alter an unknown topic: error %v", err)
	}
}

// TestOtherToolsWrite covers what zkCli or Kafka's old tools do: nodes appear
// without the controller having been asked.
func TestOtherToolsWrite(t *testing.T) {
	c, s, _ := one(t)
	ctx := testContext(t)
	other := connect(t, c.o.Client.Server())
	// A topic of another tool, here written by another client under the same epoch.
	if err := other.CreateTopic(ctx, c.fence, znode.Topic{Name: "theirs", Partitions: map[int32][]int32{0: {1}}}, map[string]string{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	s.wait(func() bool { _, ok := s.states[TopicPartition{Topic: "theirs"}]; return ok })
	st, _ := s.get("theirs", 0)
	if st.Leader != 1 || st.TopicID.IsZero() {
		t.Errorf("topic of another tool: %+v; want a leader and an id", st)
	}
	if err := other.UpdateConfig(ctx, znode.Topics, "theirs", func(m map[string]string) error { m["a"] = "2"; return nil }); err != nil {
		t.Fatal(err)
	}
	s.wait(func() bool { return s.configs["topics/theirs"]["a"] == "2" })
	if err := other.RequestTopicDeletion(ctx, "theirs"); err != nil {
		t.Fatal(err)
	}
	s.wait(func() bool { return slices.Contains(s.stopped, TopicPartition{Topic: "theirs"}) })
}

func TestAlterConfigTellsTheSinkBeforeItReturns(t *testing.T) {
	c, s, _ := one(t)
	ctx := testContext(t)
	for i := range 3 {
		value := fmt.Sprint(i)
		err := c.AlterConfig(ctx, znode.Brokers, znode.DefaultEntity, func(m map[string]string) error {
			m["log.cleaner.threads"] = value
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.configs["brokers/<default>"]["log.cleaner.threads"]; got != value {
			t.Errorf("the sink has %q, want %q", got, value)
		}
	}
}

// TestNextControllerFinishes is C03: whoever takes office re-reads everything,
// finishes what was begun and passes it all on.
func TestNextControllerFinishes(t *testing.T) {
	addr := startServer(t)
	ctx := testContext(t)
	first := connect(t, addr)
	register(t, first, 1)
	c, _ := start(t, first, 1)
	for _, name := range []string{"keep", "drop"} {
		if _, err := c.CreateTopic(ctx, TopicRequest{Name: name, Partitions: 1, ReplicationFactor: 1}); err != nil {
			t.Fatal(err)
		}
	}
	fence := c.fence
	c.Close()
	// Begun and not finished: a topic without states, and a deletion.
	if _, err := first.ElectController(ctx, 9, time.Now()); err != nil {
		t.Fatal(err)
	}
	fence.Epoch++
	fence.Version++
	if err := first.CreateTopic(ctx, fence, znode.Topic{Name: "begun", ID: znode.NewTopicID(), Partitions: map[int32][]int32{0: {1}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := first.RequestTopicDeletion(ctx, "drop"); err != nil {
		t.Fatal(err)
	}
	if err := first.ResignController(ctx, fence); err != nil {
		t.Fatal(err)
	}
	_, s := start(t, first, 1)
	names := map[string]bool{}
	for tp := range maps.Keys(s.states) {
		names[tp.Topic] = true
	}
	if diff := cmp.Diff(map[string]bool{"keep": true, "begun": true}, names); diff != "" {
		t.Errorf("topics of the next controller differ (-want +got):\n%s", diff)
	}
	if !slices.Contains(s.stopped, TopicPartition{Topic: "drop"}) {
		t.Errorf("stopped %v; want the topic whose deletion was asked for", s.stopped)
	}
}

// TestDeposedControllerCannotWrite is C02.
func TestDeposedControllerCannotWrite(t *testing.T) {
	c, _, client := one(t)
	ctx := testContext(t)
	other := connect(t, client.Server())
	if err := client.ResignController(ctx, c.fence); err != nil {
		t.Fatal(err)
	}
	// The loop may win the office back before the other gets it: then its fence
	// is the newer one and the test tries again.
	for {
		if _, err := other.ElectController(ctx, 2, time.Now()); err == nil {
			break
		}
		holder, err := client.Controller(ctx)
		if err == nil && holder.BrokerID == 1 {
			var fence znode.Fence
			if fence, err = call(c, ctx, func(context.Context) (znode.Fence, error) { return c.fence, nil }); err != nil {
				t.Fatal(err)
			}
			if err := client.ResignController(ctx, fence); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := c.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 1})
	if !errors.Is(err, ErrNotController) {
		t.Errorf("deposed controller creates a topic: error %v, want ErrNotController", err)
	}
	if _, err := other.Topic(ctx, "t"); !errors.Is(err, znode.ErrNotFound) {
		t.Errorf("topic after the refusal: error %v, want ErrNotFound", err)
	}
}

func TestOfficePassesOnWhenTheHolderLeaves(t *testing.T) {
	addr := startServer(t)
	ctx := testContext(t)
	one, two := connect(t, addr), connect(t, addr)
	register(t, one, 1)
	register(t, two, 2)
	first, s1 := start(t, one, 1)
	second, s2 := start(t, two, 2)
	if !first.IsController() || second.IsController() {
		t.Fatal("want the first to be controller and the second not")
	}
	s1.wait(func() bool { return slices.Equal(s1.brokers, []int32{1, 2}) })
	if _, err := first.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.CreateTopic(ctx, TopicRequest{Name: "u", Partitions: 1, ReplicationFactor: 1}); !errors.Is(err, ErrNotController) {
		t.Errorf("the other creates a topic: error %v, want ErrNotController", err)
	}
	first.Close()
	one.Close() // broker 1 leaves: the second is elected and moves the leader
	s2.wait(func() bool {
		st, ok := s2.states[TopicPartition{Topic: "t"}]
		return ok && st.Leader == 2 && st.LeaderEpoch == 1 && slices.Equal(st.InSync(), []int32{2})
	})
}

func TestTopicNames(t *testing.T) {
	long := make([]byte, 250)
	for i := range long {
		long[i] = 'a'
	}
	for _, name := range []string{"", ".", "..", "../../etc/x", "a/b", "a\x00b", string(long), "ü", "a b", "a\n", "a:b"} {
		if err := ValidateTopicName(name); !errors.Is(err, ErrInvalidTopic) {
			t.Errorf("%.20q: error %v, want ErrInvalidTopic", name, err)
		}
	}
	for _, name := range []string{"a", "...", "CON", "__consumer_offsets", "A-1.b_2", string(long[:249])} {
		if err := ValidateTopicName(name); err != nil {
			t.Errorf("%.20q: error %v, want none", name, err)
		}
	}
}
