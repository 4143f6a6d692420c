package znode

import (
	"errors"
	"testing"
)

// TestManyPartitions is C14: five thousand partitions, created and deleted, stay
// below ZooKeeper's 1 MiB in every frame.
func TestManyPartitions(t *testing.T) {
	s := startServer(t)
	c := connect(t, s, Options{})
	ctx := testContext(t)
	f := elect(t, c)
	const count = 5000
	topic := Topic{Name: "large", ID: NewTopicID(), Partitions: map[int32][]BrokerID{}}
	var fresh []NewPartition
	for p := range int32(count) {
		topic.Partitions[p] = []BrokerID{1, 2, 3}
		fresh = append(fresh, NewPartition{TopicPartition{"large", p}, PartitionState{Leader: 1, ISR: Members(1, 2, 3)}})
	}
	if err := c.CreateTopic(ctx, f, topic, nil); err != nil {
		t.Fatal(err)
	}
	// Twice: the second time passes over what is there.
	for range 2 {
		if err := c.CreatePartitions(ctx, f, fresh); err != nil {
			t.Fatal(err)
		}
	}
	names, err := c.children(ctx, partitionsPath("large"))
	if err != nil || len(names) != count {
		t.Errorf("%d partitions, error %v; want %d", len(names), err, count)
	}
	if s, err := c.PartitionState(ctx, TopicPartition{"large", count - 1}); err != nil || s.Leader != 1 {
		t.Errorf("state of the last one: %+v, error %v", s, err)
	}
	if err := c.DeleteTopic(ctx, f, "large"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Topic(ctx, "large"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}
