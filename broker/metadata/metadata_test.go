package metadata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func update(topic string, id byte, index, leader int32) Update {
	return Update{Topic: topic, ID: [16]byte{id}, Partition: Partition{Index: index, Leader: leader, Replicas: []int32{leader}, ISR: []int32{leader}}}
}

func TestApply(t *testing.T) {
	c := NewCache()
	c.Apply([]Update{update("b", 2, 1, 1), update("b", 2, 0, 1), update("a", 1, 0, 1)})
	before := c.View()
	c.Apply([]Update{update("b", 2, 1, 7)})
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
	c.Apply([]Update{update("a", 1, 0, 1), update("a", 1, 1, 1)})
	c.Apply([]Update{update("a", 9, 0, 2)})
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
	c.Apply([]Update{update("a", 1, 0, 1)})
	c.Remove("a", "never there")
	if v := c.View(); v.Topic("a") != nil || v.TopicByID([16]byte{1}) != nil || v.Len() != 0 {
		t.Error("the topic is still there after Remove")
	}
}

func TestBrokers(t *testing.T) {
	c := NewCache()
	given := []Broker{{ID: 2, Host: "two"}, {ID: 1, Host: "one"}}
	c.SetBrokers(given)
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
	if _, ok := v.Broker(3); ok {
		t.Error("a broker that is not alive was found")
	}
}
