package api

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/wire"
)

// TestWhyThereIsNoCoordinator: who asks for one that is not there is told why, and what to
// do about it.
func TestWhyThereIsNoCoordinator(t *testing.T) {
	c := newCluster(t, map[string]string{"offsets.topic.num.partitions": "1"})
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKey = 3, "g"
	ask := func() (wire.ErrorCode, string) {
		resp := do[*kmsg.FindCoordinatorResponse](c, find)
		if resp.ErrorMessage == nil {
			return wire.ErrorCode(resp.ErrorCode), ""
		}
		return wire.ErrorCode(resp.ErrorCode), *resp.ErrorMessage
	}
	await := func(code wire.ErrorCode, text string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			gotCode, got := ask()
			if gotCode == code && strings.Contains(got, text) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("got %v %q, want %v %q", gotCode, got, code, text)
			}
		}
	}
	self := znode.Broker{ID: 1, Host: "127.0.0.1", Port: 9092}
	c.brokers(self, znode.Broker{ID: 2}, znode.Broker{ID: 3}) // the controller of this test makes no more than one replica
	if code, text := ask(); code != wire.CoordinatorNotAvailable || text != "__consumer_offsets is being created; ask again" {
		t.Errorf("at first: %v %q", code, text)
	}
	await(wire.CoordinatorNotAvailable, "__consumer_offsets could not be created, and is tried again: "+controller.ErrInvalidReplicationFactor.Error())
	c.brokers(self)
	await(wire.None, "")
	c.apply(controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: groups.Topic}, TopicID: c.control.topics[groups.Topic].ID,
		Leader: -1, LeaderEpoch: 9, Replicas: []int32{1, 4}})
	await(wire.CoordinatorNotAvailable, "partition 0 of __consumer_offsets has no leader; start one of its brokers, [1 4]")
}
