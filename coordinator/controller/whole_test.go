package controller

import (
	"fmt"
	"testing"
)

// TestNewTopicsAreToldWhole: no broker ever knows some partitions of a new topic and not
// the others; it would take them for all, and place groups and keys by their number.
func TestNewTopicsAreToldWhole(t *testing.T) {
	n := newCluster(t, 1, 2)
	c := n.control(1, n.brokers[1].client)
	const partitions = 50
	for i := range 30 {
		r := TopicRequest{Name: fmt.Sprint("t", i), Partitions: partitions, ReplicationFactor: 1}
		if _, err := c.CreateTopic(testContext(t), r); err != nil {
			t.Fatal(err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, b := range n.brokers {
		for _, told := range b.told {
			if told != partitions {
				t.Errorf("broker %d was told of %d partitions of a topic, want all %d", id, told, partitions)
			}
		}
		if len(b.told) == 0 {
			t.Errorf("broker %d was told of nothing", id)
		}
	}
}
