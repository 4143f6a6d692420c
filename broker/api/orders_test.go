package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// requestFor is an empty request of the key, nil where there is none.
func requestFor(key int16) kmsg.Request {
	if key == wire.KeyFenceReplica {
		return new(peer.FenceReplica)
	}
	return kmsg.RequestForKey(key)
}

// orderSeeds are requests between brokers, for the fuzzer.
func orderSeeds() []kmsg.Request {
	state := peer.PartitionState{Topic: "t", TopicID: [16]byte{9}, Leader: 1, ISR: replica.Members(1), Replicas: replica.Members(1, 2)}
	live := []peer.Broker{{ID: 1, Host: "h", Port: 1, Rack: "r"}}
	return []kmsg.Request{
		peer.EncodeLeaderAndISR(peer.LeaderAndISR{Controller: 1, ControllerEpoch: 1, BrokerEpoch: testEpoch, Partitions: []peer.PartitionState{state}, Live: live}),
		peer.EncodeStopReplica(peer.StopReplica{Controller: 1, ControllerEpoch: 1, BrokerEpoch: testEpoch, Partitions: []peer.StopPartition{{Topic: "t", TopicID: [16]byte{9}, Delete: true}}}),
		peer.EncodeUpdateMetadata(peer.UpdateMetadata{Controller: 1, ControllerEpoch: 1, BrokerEpoch: testEpoch, Live: live}),
		peer.EncodeControlledShutdown(peer.ControlledShutdown{Broker: 2, BrokerEpoch: 3}),
		peer.EncodeAlterPartition(peer.AlterPartition{Broker: 2, BrokerEpoch: 3, Partitions: []peer.Proposal{{TopicID: [16]byte{9}, ISR: replica.Members(1, 2)}}}),
		&peer.FenceReplica{Topic: "t", TopicID: [16]byte{9}, LeaderEpoch: 4, ControllerEpoch: 1, BrokerEpoch: testEpoch},
		&kmsg.ElectLeadersRequest{Topics: []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0}}}},
		&kmsg.AlterPartitionAssignmentsRequest{Topics: []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t",
			Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{1}}}}}},
		&kmsg.ListPartitionReassignmentsRequest{Topics: []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "t", Partitions: []int32{0}}}},
	}
}

// TestOrdersOfOthers: an order of a replaced controller, or to another life of the
// broker, changes nothing; a later controller is obeyed.
func TestOrdersOfOthers(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	lead := func(controllerEpoch int32, brokerEpoch int64, leaderEpoch int32) int16 {
		req := peer.EncodeLeaderAndISR(peer.LeaderAndISR{Controller: 2, ControllerEpoch: controllerEpoch, BrokerEpoch: brokerEpoch,
			Partitions: []peer.PartitionState{{Topic: "t", TopicID: c.control.topics["t"].ID, Leader: 1, LeaderEpoch: leaderEpoch,
				ISR: replica.Members(1), Replicas: replica.Members(1)}}})
		return do[*kmsg.LeaderAndISRResponse](c, req).ErrorCode
	}
	epoch := func() int32 {
		_, e := c.server.o.Replicas.Partition("t", 0).Leader()
		return e
	}
	wantCode(t, "the controller that was before", lead(0, testEpoch, 9), wire.StaleControllerEpoch)
	wantCode(t, "the life before", lead(1, testEpoch-1, 9), wire.StaleBrokerEpoch)
	if got := epoch(); got != 0 {
		t.Fatalf("the leader epoch is %d after refused orders, want 0", got)
	}
	wantCode(t, "a later controller", lead(3, testEpoch, 4), wire.None)
	if got := epoch(); got != 4 {
		t.Errorf("the leader epoch is %d, want the ordered 4", got)
	}
	wantCode(t, "the earlier one again", lead(2, testEpoch, 5), wire.StaleControllerEpoch)
	stop := peer.EncodeStopReplica(peer.StopReplica{ControllerEpoch: 2, BrokerEpoch: testEpoch, Partitions: []peer.StopPartition{{Topic: "t"}}})
	wantCode(t, "its StopReplica", do[*kmsg.StopReplicaResponse](c, stop).ErrorCode, wire.StaleControllerEpoch)
	update := peer.EncodeUpdateMetadata(peer.UpdateMetadata{ControllerEpoch: 2, BrokerEpoch: testEpoch})
	wantCode(t, "its UpdateMetadata", do[*kmsg.UpdateMetadataResponse](c, update).ErrorCode, wire.StaleControllerEpoch)
	fence := &peer.FenceReplica{Topic: "t", ControllerEpoch: 2, BrokerEpoch: testEpoch}
	resp := new(peer.FenceReplicaAnswer)
	if err := decodeFrame(c.start(fence).await(c).frame, resp); err != nil || resp.ErrorCode != wire.StaleControllerEpoch {
		t.Errorf("its FenceReplica: %v, %v, want it refused", resp.ErrorCode, err)
	}
}

// TestOrderedMetadata: what UpdateMetadata says is what clients are told.
func TestOrderedMetadata(t *testing.T) {
	c := newCluster(t, nil)
	c.control.elsewhere = true
	update := peer.EncodeUpdateMetadata(peer.UpdateMetadata{Controller: 2, ControllerEpoch: 5, BrokerEpoch: testEpoch,
		Partitions: []peer.PartitionState{{Topic: "far", TopicID: [16]byte{5}, Leader: 2, LeaderEpoch: 7, ISR: replica.Members(2, 3), Replicas: replica.Members(3, 2)}},
		Live:       []peer.Broker{{ID: 2, Host: "two", Port: 22, Rack: "r"}, {ID: 1, Host: "one", Port: 11}}})
	wantCode(t, "UpdateMetadata", do[*kmsg.UpdateMetadataResponse](c, update).ErrorCode, wire.None)
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	resp := do[*kmsg.MetadataResponse](c, req)
	if resp.ControllerID != 2 || len(resp.Brokers) != 2 || resp.Brokers[1].Host != "two" || *resp.Brokers[1].Rack != "r" {
		t.Errorf("controller %d, brokers %+v, want 2 and the two ordered", resp.ControllerID, resp.Brokers)
	}
	p := resp.Topics[0].Partitions[0]
	if diff := cmp.Diff([][]int32{{2, 7}, {3, 2}, {2, 3}, {3}}, [][]int32{{p.Leader, p.LeaderEpoch}, p.Replicas, p.ISR, p.OfflineReplicas}); diff != "" {
		t.Errorf("leader and its epoch, replicas, ISR, offline (-want +got):\n%s", diff)
	}
	gone := peer.EncodeUpdateMetadata(peer.UpdateMetadata{Controller: 2, ControllerEpoch: 5, BrokerEpoch: testEpoch,
		Partitions: []peer.PartitionState{{Topic: "far", TopicID: [16]byte{5}, Leader: controller.DeletedLeader}}, Live: []peer.Broker{{ID: 1}, {ID: 2}}})
	wantCode(t, "UpdateMetadata of a deletion", do[*kmsg.UpdateMetadataResponse](c, gone).ErrorCode, wire.None)
	if c.server.o.Metadata.View().Topic("far") != nil {
		t.Error("a deleted topic is still told of")
	}
}

// TestControllerElsewhere: what only the controller does is refused with the code that
// makes clients look for it, and a topic that somebody asked about is created there.
func TestControllerElsewhere(t *testing.T) {
	c := newCluster(t, nil)
	c.control.elsewhere = true
	forwarded := make(forwards, 4)
	c.server.o.Forward = forwarded
	update := controller.UpdateMetadata{Header: controller.Header{Controller: 2, ControllerEpoch: 5, BrokerEpoch: testEpoch},
		Live: []znode.Broker{{ID: 1}, {ID: 2}}}
	if err := c.orders.UpdateMetadata(t.Context(), update); err != nil {
		t.Fatal(err)
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version = 2
	wantCode(t, "ElectLeaders", do[*kmsg.ElectLeadersResponse](c, elect).ErrorCode, wire.NotController)
	wantCode(t, "AlterPartitionReassignments", do[*kmsg.AlterPartitionAssignmentsResponse](c, kmsg.NewPtrAlterPartitionAssignmentsRequest()).ErrorCode, wire.NotController)
	wantCode(t, "ListPartitionReassignments", do[*kmsg.ListPartitionReassignmentsResponse](c, kmsg.NewPtrListPartitionReassignmentsRequest()).ErrorCode, wire.NotController)
	alter := peer.EncodeAlterPartition(peer.AlterPartition{Broker: 2})
	wantCode(t, "AlterPartition", do[*kmsg.AlterPartitionResponse](c, alter).ErrorCode, wire.NotController)
	shut := peer.EncodeControlledShutdown(peer.ControlledShutdown{Broker: 2})
	wantCode(t, "ControlledShutdown", do[*kmsg.ControlledShutdownResponse](c, shut).ErrorCode, wire.NotController)

	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	wantCode(t, "FindCoordinator", do[*kmsg.FindCoordinatorResponse](c, find).ErrorCode, wire.CoordinatorNotAvailable)
	select {
	case got := <-forwarded:
		if got != (forwardedTopic{2, groups.Topic}) {
			t.Errorf("forwarded %+v, want the groups' topic to broker 2", got)
		}
	case <-time.After(time.Minute):
		t.Error("the creation was never forwarded")
	}
}

type forwardedTopic struct {
	to   int32
	name string
}

// forwards is a Forwarder that notes what it is asked.
type forwards chan forwardedTopic

func (f forwards) CreateTopic(_ context.Context, broker int32, topic string) (wire.ErrorCode, string, error) {
	f <- forwardedTopic{broker, topic}
	return wire.None, "", nil
}

// TestForwardedInternalTopic: the controller creates the topic of a coordinator that
// asks for it by its name alone, and for nobody who wants it otherwise.
func TestForwardedInternalTopic(t *testing.T) {
	c := newCluster(t, map[string]string{"offsets.topic.num.partitions": "3"})
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = groups.Topic, 3, 1
	req.Topics = []kmsg.CreateTopicsRequestTopic{topic}
	wantCode(t, "with counts", do[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode, wire.InvalidTopicException)
	req.Topics[0].NumPartitions, req.Topics[0].ReplicationFactor = -1, -1
	wantCode(t, "by default", do[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode, wire.None)
	if got := len(c.server.o.Metadata.View().Topic(groups.Topic).Partitions); got != 3 {
		t.Errorf("%d partitions, want the configured 3", got)
	}
}

// TestStopOfAFormerTopic: a StopReplica that comes late does not hit the topic that
// was created under the same name since.
func TestStopOfAFormerTopic(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topic("t", 1)
	stop := controller.StopReplica{Header: testHeader, Partitions: []controller.StopPartition{{
		TopicPartition: controller.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{0xee}, LeaderEpoch: controller.EpochDuringDelete, Delete: true}}}
	for _, want := range []bool{true, false} {
		if each, err := c.orders.StopReplica(t.Context(), stop); err != nil || each[0] != nil {
			t.Fatal(each, err)
		}
		if here := c.server.o.Replicas.Partition("t", 0) != nil; here != want {
			t.Errorf("after a stop of topic %x the replica is here: %v, want %v", stop.Partitions[0].TopicID, here, want)
		}
		stop.Partitions[0].TopicID = id
	}
}

// TestLearnFirst: a topic's configuration is in force before its first replica, and an
// order is refused as long as it cannot be read.
func TestLearnFirst(t *testing.T) {
	c := newCluster(t, nil)
	broken := errors.New("no metadata store")
	c.orders.o.Learn = func(context.Context, []string) error { return broken }
	state := controller.PartitionState{TopicPartition: controller.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{1}, Leader: 1,
		ISR: replica.Members(1), Replicas: []int32{1}}
	order := controller.LeaderAndISR{Header: testHeader, Partitions: []controller.PartitionState{state}}
	if _, err := c.orders.LeaderAndISR(t.Context(), order); !errors.Is(err, broken) || c.server.o.Replicas.Topic("t") != nil {
		t.Errorf("got %v, want the order refused and nothing opened", err)
	}
	c.orders.o.Learn = func(_ context.Context, names []string) error {
		c.orders.ConfigChanged(znode.Topics, names[0], map[string]string{"min.insync.replicas": "2"})
		return nil
	}
	if _, err := c.orders.LeaderAndISR(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if got := c.server.o.Replicas.Topic("t").Config().MinInsyncReplicas; got != 2 {
		t.Errorf("the topic was opened with min.insync.replicas %d, want 2", got)
	}
}

// TestLearnBeforeAPromise: the promise that is asked of a new topic's replica opens it,
// and must open it under the topic's own strategy.
func TestLearnBeforeAPromise(t *testing.T) {
	c := newCluster(t, nil)
	broken := errors.New("no metadata store")
	c.orders.o.Learn = func(context.Context, []string) error { return broken }
	order := controller.FenceReplica{Header: testHeader, TopicPartition: controller.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{1}, LeaderEpoch: 1}
	if _, err := c.orders.FenceReplica(t.Context(), order); !errors.Is(err, broken) || c.server.o.Replicas.Topic("t") != nil {
		t.Errorf("got %v, want the order refused and nothing opened", err)
	}
	c.orders.o.Learn = func(_ context.Context, names []string) error {
		c.orders.ConfigChanged(znode.Topics, names[0], map[string]string{"replication.strategy": "quorum", "storage.flush": "batch"})
		return nil
	}
	if _, err := c.orders.FenceReplica(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if got := c.server.o.Replicas.Topic("t").Config(); got.Strategy != "quorum" || got.Flush != replica.FlushBatch {
		t.Errorf("the topic was opened with strategy %s and flush %d", got.Strategy, got.Flush)
	}
}

// TestUpToDate: the broker is up to date once every replica of its own is here.
func TestUpToDate(t *testing.T) {
	c := newCluster(t, nil)
	o := NewOrders(c.orders.o)
	done := func() bool {
		select {
		case <-o.UpToDate():
			return true
		default:
			return false
		}
	}
	state := controller.PartitionState{TopicPartition: controller.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{1}, Leader: 1,
		ISR: replica.Members(1), Replicas: []int32{1}}
	states := []controller.PartitionState{state}
	if done() {
		t.Fatal("a broker that heard of nothing is up to date")
	}
	if err := o.UpdateMetadata(t.Context(), controller.UpdateMetadata{Header: testHeader, Partitions: states, Live: []znode.Broker{{ID: 1}}}); err != nil {
		t.Fatal(err)
	}
	if done() {
		t.Error("it is up to date without its replica")
	}
	if _, err := o.LeaderAndISR(t.Context(), controller.LeaderAndISR{Header: testHeader, Partitions: states}); err != nil {
		t.Fatal(err)
	}
	if !done() {
		t.Error("it is not up to date with its replica")
	}
}

// TestLeaderInsteadIsTheNewest: a client that asks a former leader is sent to the one
// that the replica heard of, although metadata still names the former.
func TestLeaderInsteadIsTheNewest(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	state := controller.PartitionState{TopicPartition: controller.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{7}, Leader: 2, LeaderEpoch: 9, PartitionEpoch: 9,
		ISR: replica.Members(1, 2), Replicas: []int32{1, 2}}
	if _, err := c.orders.LeaderAndISR(t.Context(), controller.LeaderAndISR{Header: testHeader, Partitions: []controller.PartitionState{state}}); err != nil {
		t.Fatal(err)
	}
	p := c.produced(produceRequest(10, 1, "t", 0, batch(record.None, "a")))
	wantCode(t, "produce", p.ErrorCode, wire.NotLeaderOrFollower)
	if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 9 {
		t.Errorf("the client is sent to %+v, want broker 2 in epoch 9", p.CurrentLeader)
	}
}

// TestInternalKeysAreNotTold: clients are not told of what brokers use.
func TestInternalKeysAreNotTold(t *testing.T) {
	c := newCluster(t, nil)
	for _, k := range do[*kmsg.ApiVersionsResponse](c, kmsg.NewPtrApiVersionsRequest()).ApiKeys {
		if row := rowFor(k.ApiKey); row.internal {
			t.Errorf("%s is advertised", row.name)
		}
	}
}

// TestStrategyIsFixed: a topic keeps the strategy it was created with.
func TestStrategyIsFixed(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.topic("q", 1, strategyName, "quorum")
	alter := func(topic, value string) int16 {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: strategyName, Value: &value}}}}
		return do[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources[0].ErrorCode
	}
	unknown := kmsg.NewPtrCreateTopicsRequest()
	unknown.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	name := "hearsay"
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor, topic.Configs = "u", 1, 1, []kmsg.CreateTopicsRequestTopicConfig{{Name: strategyName, Value: &name}}
	unknown.Topics = []kmsg.CreateTopicsRequestTopic{topic}
	wantCode(t, "a strategy that nobody has", do[*kmsg.CreateTopicsResponse](c, unknown).Topics[0].ErrorCode, wire.InvalidConfig)
	wantCode(t, "another strategy", alter("t", "quorum"), wire.InvalidConfig)
	wantCode(t, "the default for another", alter("q", "isr"), wire.InvalidConfig)
	wantCode(t, "the same by name", alter("q", "quorum"), wire.None)
	wantCode(t, "the default by name", alter("t", "isr"), wire.None)
	all := kmsg.NewPtrAlterConfigsRequest()
	value := "1000"
	all.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "q",
		Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &value}}}}
	wantCode(t, "all settings replaced", do[*kmsg.AlterConfigsResponse](c, all).Resources[0].ErrorCode, wire.None)
	if diff := cmp.Diff(map[string]string{strategyName: "quorum", "retention.ms": "1000"}, c.server.o.Configs.Overrides("q")); diff != "" {
		t.Errorf("settings of q (-want +got):\n%s", diff)
	}
}

// TestProposalCodes: each outcome of a proposal has the code by which the leader knows
// it.
func TestProposalCodes(t *testing.T) {
	for err, want := range map[error]wire.ErrorCode{
		nil: wire.None, controller.ErrStaleState: wire.InvalidUpdateVersion, controller.ErrIneligibleReplica: wire.IneligibleReplica,
		controller.ErrNotApplied: wire.OperationNotAttempted, controller.ErrNotController: wire.NotController,
		controller.ErrStaleBrokerEpoch: wire.StaleBrokerEpoch, controller.ErrUnknownPartition: wire.UnknownTopicID,
	} {
		if got := proposalCode(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestReassignments: what clients ask reaches the controller, and its answer them.
func TestReassignments(t *testing.T) {
	c := newCluster(t, nil)
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
		{Partition: 0, Replicas: []int32{2, 1}}, {Partition: 1, Replicas: nil}}}}
	if got := len(do[*kmsg.AlterPartitionAssignmentsResponse](c, req).Topics[0].Partitions); got != 2 {
		t.Errorf("%d answers, want 2", got)
	}
	want := []controller.Reassignment{
		{TopicPartition: controller.TopicPartition{Topic: "t"}, Replicas: []int32{2, 1}},
		{TopicPartition: controller.TopicPartition{Topic: "t", Partition: 1}},
	}
	if diff := cmp.Diff(want, c.control.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	list := do[*kmsg.ListPartitionReassignmentsResponse](c, kmsg.NewPtrListPartitionReassignmentsRequest())
	if p := list.Topics[0].Partitions[0]; p.Partition != 1 || !cmp.Equal(p.AddingReplicas, []int32{2}) {
		t.Errorf("listed %+v", p)
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version = 2
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
	got := do[*kmsg.ElectLeadersResponse](c, elect)
	wantCode(t, "election", got.Topics[0].Partitions[1].ErrorCode, wire.ElectionNotNeeded)
	members := []replication.Member{{Broker: 1, BrokerEpoch: 5, Dir: replication.DirID{3}}}
	alter := peer.EncodeAlterPartition(peer.AlterPartition{Broker: 2, BrokerEpoch: 7, Partitions: []peer.Proposal{{TopicID: [16]byte{1}, Index: 4, LeaderEpoch: 2, PartitionEpoch: 3, ISR: members}}})
	wantCode(t, "AlterPartition", do[*kmsg.AlterPartitionResponse](c, alter).Topics[0].Partitions[0].ErrorCode, wire.None)
	if diff := cmp.Diff([]controller.Proposal{{TopicID: [16]byte{1}, Partition: 4, LeaderEpoch: 2, PartitionEpoch: 3, ISR: members}}, c.control.asked); diff != "" {
		t.Errorf("proposed (-want +got):\n%s", diff)
	}
}
