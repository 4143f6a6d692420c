package zkserver

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
)

// countingSink counts what a controller passes on.
type countingSink struct{ applied, stopped, configs int }

func (s *countingSink) ApplyPartitions(p []controller.PartitionState) error {
	s.applied += len(p)
	return nil
}

func (s *countingSink) StopPartitions(p []controller.TopicPartition, remove bool) error {
	s.stopped += len(p)
	return nil
}

func (s *countingSink) ConfigChanged(znode.EntityType, string, map[string]string) { s.configs++ }
func (s *countingSink) BrokersChanged([]znode.Broker)                             {}

// TestKafkaLayout takes a broker's whole life, from the first start to a clean
// end, through the layout's client and the controller, against both servers.
func TestKafkaLayout(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		defer clearNodes(t, addr)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
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

		sink := &countingSink{}
		ctl := controller.New(controller.Options{Client: c, BrokerID: 1, Sink: sink})
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
		check("delete it", ctl.DeleteTopic(ctx, "t"))
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
		if sink.applied != 5 || sink.stopped != 5 || sink.configs < 2 {
			t.Errorf("the sink was told %+v, want 5 partitions applied and stopped, and the config", *sink)
		}
	})
}
