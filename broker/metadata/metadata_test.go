package metadata

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func update(topic string, id byte, index, leader int32) Update {
	return Update{Topic: topic, ID: [16]byte{id}, Partition: Partition{Index: index, Leader: leader, Replicas: []int32{leader}, ISR: []int32{leader}}}
}

func TestApply(t *testing.T) {
	c := NewCache()
	c.Apply(Change{Partitions: []Update{update("b", 2, 1, 1), update("b", 2, 0, 1), update("a", 1, 0, 1)}})
	before := c.View()
	c.Apply(Change{Partitions: []Update{update("b", 2, 1, 7)}})
	if p, _ := before.Topic("b").Partition(1); p.Leader != 1 {
		t.Errorf("a view that was taken before changed: leader %d, want 1", p.Leader)
	}
	v := c.View()
	if diff := cmp.Diff([]string{"a", "b"}, v.TopicNames()); diff != "" {
		t.Errorf("topics differ (-want +got):\n%s", diff)
	}
	if p, ok := v.Topic("b").Partition(1); !ok || p.Leader != 7 {
		t.Errorf("partition after the update: %+v, %v; want leader 7", p, ok)
	}
	if p, ok := v.Topic("b").Partition(0); !ok || p.Leader != 1 {
		t.Errorf("the other partition: %+v, %v; want leader 1", p, ok)
	}
	if _, ok := v.Topic("b").Partition(2); ok {
		t.Error("a partition that does not exist was found")
	}
	if v.TopicByID([16]byte{2}) != v.Topic("b") {
		t.Error("the topic is not found by its id")
	}
}

// TestApplyNewID: a topic deleted and created again shares only its name.
func TestApplyNewID(t *testing.T) {
	c := NewCache()
	c.Apply(Change{Partitions: []Update{update("a", 1, 0, 1), update("a", 1, 1, 1)}})
	c.Apply(Change{Partitions: []Update{update("a", 9, 0, 2)}})
	v := c.View()
	if got := len(v.Topic("a").Partitions); got != 1 {
		t.Errorf("the new topic has %d partitions, want 1", got)
	}
	if v.TopicByID([16]byte{1}) != nil {
		t.Error("the former id still finds a topic")
	}
}

func TestRemove(t *testing.T) {
	c := NewCache()
	c.Apply(Change{Partitions: []Update{update("a", 1, 0, 1)}})
	c.Apply(Change{Removed: []Removal{{"a", [16]byte{9}}, {"never there", [16]byte{1}}}})
	if c.View().Topic("a") == nil {
		t.Fatal("a topic was removed for a former one of its name")
	}
	c.Apply(Change{Removed: []Removal{{"a", [16]byte{1}}}})
	if v := c.View(); v.Topic("a") != nil || v.TopicByID([16]byte{1}) != nil || v.Len() != 0 {
		t.Error("the topic is still there after Remove")
	}
}

// TestOlderNews: what is older than what is known changes nothing.
func TestOlderNews(t *testing.T) {
	c := NewCache()
	known := update("a", 1, 0, 2)
	known.LeaderEpoch, known.PartitionEpoch = 3, 7
	c.Apply(Change{Partitions: []Update{known}})
	for name, older := range map[string]Partition{
		"leader epoch": {Leader: 9, LeaderEpoch: 2, PartitionEpoch: 8}, "partition epoch": {Leader: 9, LeaderEpoch: 3, PartitionEpoch: 6},
	} {
		c.Apply(Change{Partitions: []Update{{Topic: "a", ID: [16]byte{1}, Partition: older}}})
		if p, _ := c.View().Topic("a").Partition(0); p.Leader != 2 {
			t.Errorf("an older %s was taken: %+v", name, p)
		}
	}
}

// TestAwait: who waits is woken by the change it waits for.
func TestAwait(t *testing.T) {
	c := NewCache()
	done := make(chan error)
	go func() { done <- c.Await(t.Context(), func(v *View) bool { return v.Topic("a") != nil }) }()
	c.Apply(Change{})
	c.Apply(Change{Partitions: []Update{update("a", 1, 0, 1)}})
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Await(ctx, func(*View) bool { return false }); err == nil {
		t.Error("it did not give up with its context")
	}
}

func TestBrokers(t *testing.T) {
	c := NewCache()
	given := []Broker{{ID: 2, Host: "two"}, {ID: 1, Host: "one"}}
	c.Apply(Change{Brokers: given, Controller: 2})
	v := c.View()
	if diff := cmp.Diff([]Broker{{ID: 1, Host: "one"}, {ID: 2, Host: "two"}}, v.Brokers()); diff != "" {
		t.Errorf("brokers differ (-want +got):\n%s", diff)
	}
	if given[0].ID != 2 {
		t.Error("the caller's slice was sorted")
	}
	if b, ok := v.Broker(2); !ok || b.Host != "two" {
		t.Errorf("broker 2 is %+v, %v", b, ok)
	}
	if got := v.Controller(); got != 2 {
		t.Errorf("the controller is %d, want 2", got)
	}
	c.Apply(Change{Controller: 3})
	if got := c.View().Controller(); got != -1 || len(c.View().Brokers()) != 2 {
		t.Errorf("the controller is %d of %v, want none as 3 is not live", got, c.View().Brokers())
	}
	if _, ok := v.Broker(3); ok {
		t.Error("a broker that is not alive was found")
	}
}
