package zkserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/replication"
	"tidemark/replication/isr"
)

// countingBroker is the cluster's one broker: it obeys, and counts what it was
// told.
type countingBroker struct {
	mu           sync.Mutex
	led, stopped map[controller.TopicPartition]bool
	configs      int
}

func (b *countingBroker) ConfigChanged(znode.EntityType, string, map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.configs++
}

func (b *countingBroker) SetBrokers([]znode.Broker) {}

func (b *countingBroker) LeaderAndISR(_ context.Context, _ int32, r controller.LeaderAndISR) (controller.LeaderAndISRAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range r.Partitions {
		b.led[p.TopicPartition] = true
	}
	return controller.LeaderAndISRAnswer{Partitions: make([]controller.PartitionAnswer, len(r.Partitions))}, nil
}

func (b *countingBroker) StopReplica(_ context.Context, _ int32, r controller.StopReplica) ([]error, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range r.Partitions {
		b.stopped[p.TopicPartition] = true
	}
	return make([]error, len(r.Partitions)), nil
}

func (b *countingBroker) UpdateMetadata(context.Context, int32, controller.UpdateMetadata) error {
	return nil
}

func (b *countingBroker) FenceReplica(context.Context, int32, controller.FenceReplica) (controller.FenceAnswer, error) {
	return controller.FenceAnswer{}, errors.New("isr asks for no fence")
}

func (b *countingBroker) Committed(context.Context, int32, controller.Committed) (bool, error) {
	return true, nil
}

// await waits until the broker was told of n partitions to lead and to stop.
func (b *countingBroker) await(ctx context.Context, led, stopped int) error {
	for {
		b.mu.Lock()
		done := len(b.led) == led && len(b.stopped) == stopped
		state := fmt.Sprintf("%d to lead, %d to stop, want %d and %d", len(b.led), len(b.stopped), led, stopped)
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("the broker was told of " + state)
		}
	}
}

// TestKafkaLayout takes a broker's whole life, from the first start to a clean
// end, through the layout's client and the controller, against both servers.
func TestKafkaLayout(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		defer clearNodes(t, addr)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		connect := func() *znode.Client {
			c, err := znode.Connect(ctx, znode.Options{Servers: []string{addr}, Chroot: "/kafka/lab", SessionTimeout: 6 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c, other := connect(), connect()
		defer other.Close()
		defer c.Close()
		check := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		check("layout", c.EnsureLayout(ctx))
		check("layout again", other.EnsureLayout(ctx))
		id, err := c.ClusterID(ctx)
		check("cluster id", err)
		if again, err := other.ClusterID(ctx); err != nil || again != id {
			t.Errorf("cluster id %q, error %v; want %q", again, err, id)
		}
		epoch, err := c.RegisterBroker(ctx, znode.Broker{ID: 1, Host: "127.0.0.1", Port: 9092})
		check("register", err)
		if b, err := other.Broker(ctx, 1); err != nil || b.Epoch != epoch {
			t.Errorf("broker %+v, error %v; want epoch %d", b, err, epoch)
		}

		broker := &countingBroker{led: map[controller.TopicPartition]bool{}, stopped: map[controller.TopicPartition]bool{}}
		ctl := controller.New(controller.Options{
			Client: c, BrokerID: 1, Sink: broker, Peers: broker,
			Replication: func(string) (replication.Spec, replication.Config) { return isr.Spec(), replication.Config{MinISR: 1} },
		})
		check("start the controller", ctl.Start(ctx))
		if _, err := other.ElectController(ctx, 2, time.Now()); !errors.Is(err, znode.ErrControllerExists) {
			t.Errorf("second election: %v, want ErrControllerExists", err)
		}
		info, err := ctl.CreateTopic(ctx, controller.TopicRequest{Name: "t", Partitions: 3, ReplicationFactor: 1})
		check("create the topic", err)
		check("grow it", ctl.CreatePartitions(ctx, controller.PartitionsRequest{Name: "t", Count: 5}))
		check("configure it", ctl.AlterConfig(ctx, znode.Topics, "t", func(m map[string]string) error {
			m["retention.ms"] = "1000"
			return nil
		}))
		if topic, err := other.Topic(ctx, "t"); err != nil || topic.ID != info.ID || len(topic.Partitions) != 5 {
			t.Errorf("topic %+v, error %v", topic, err)
		}
		if s, err := other.PartitionState(ctx, znode.TopicPartition{Topic: "t", Partition: 4}); err != nil || s.Leader != 1 || s.ControllerEpoch != 1 {
			t.Errorf("state %+v, error %v", s, err)
		}
		check("have it led", broker.await(ctx, 5, 0))
		check("delete it", ctl.DeleteTopic(ctx, "t"))
		check("have it stopped", broker.await(ctx, 5, 5))
		first, err := c.AllocateProducerIDs(ctx, 1)
		check("first block", err)
		second, err := other.AllocateProducerIDs(ctx, 2)
		check("second block", err)
		if first.Last+1 != second.First {
			t.Errorf("blocks %+v and %+v do not follow each other", first, second)
		}
		ctl.Close()
		c.Close()
		if brokers, err := other.Brokers(ctx); err != nil || len(brokers) > 0 {
			t.Errorf("brokers %v after a clean end, error %v; want none", brokers, err)
		}
		f, err := other.ElectController(ctx, 2, time.Now())
		if err != nil || f.Epoch != 2 {
			t.Errorf("next election: %+v, error %v; want epoch 2", f, err)
		}
		if broker.configs < 2 {
			t.Errorf("the broker was told %d configurations, want those of the topic when it came and when it changed", broker.configs)
		}
	})
}
