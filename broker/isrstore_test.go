package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/coordinator/znode"
	"tidemark/engines/catalog"
)

// TestLeadersWriteEligibleLeaders: a leader that writes its in-sync set itself takes out of
// the eligible leaders who may miss records from now on.
func TestLeadersWriteEligibleLeaders(t *testing.T) {
	b, err := New(Options{Config: settings(t.TempDir(), "min.insync.replicas", "2"), Engines: catalog.Builtin()})
	if err != nil {
		t.Fatal(err)
	}
	b.configs.SetTopic("whole", map[string]string{"replication.strategy": "sync"})
	tp := znode.TopicPartition{Topic: "whole"}
	alone := znode.PartitionState{ISR: replica.Members(1), ELR: replica.Members(2, 3)}
	if _, err := b.nextELR(tp, alone, replica.Members(1, 2)); err == nil {
		t.Error("eligible leaders of a partition whose replicas are not known")
	}
	for _, name := range []string{"whole", "plain"} {
		b.view.Apply(metadata.Change{Partitions: []metadata.Update{{Topic: name, ID: [16]byte{name[0]}, Partition: metadata.Partition{Replicas: []int32{1, 2, 3}}}}})
	}
	for _, c := range []struct {
		topic    string
		before   znode.PartitionState
		isr      []int32
		eligible []int32
	}{
		{"whole", alone, []int32{1, 2}, nil},
		{"whole", znode.PartitionState{ISR: replica.Members(1, 2, 3)}, []int32{1}, []int32{2, 3}},
		{"plain", znode.PartitionState{ISR: replica.Members(1, 2, 3)}, []int32{1}, nil},
	} {
		got, err := b.nextELR(znode.TopicPartition{Topic: c.topic}, c.before, replica.Members(c.isr...))
		if diff := cmp.Diff(replica.Members(c.eligible...), got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s with %v in sync, error %v (-want +got):\n%s", c.topic, c.isr, err, diff)
		}
	}
}
