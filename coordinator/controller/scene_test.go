package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

func three(t *testing.T) (*cluster, *Controller, *znode.Client) {
	n := newCluster(t, 1, 2, 3)
	client := connectFor(t, n.addr, 5*time.Second)
	return n, n.control(1, client), client
}

func (n *cluster) create(c *Controller, name string, assignment map[int32][]int32) TopicInfo {
	n.t.Helper()
	info, err := c.CreateTopic(testContext(n.t), TopicRequest{Name: name, Assignment: assignment})
	if err != nil {
		n.t.Fatal(err)
	}
	return info
}

func isLedBy(n *cluster, client *znode.Client, topic string, p, leader int32, inSync ...int32) func() (bool, string) {
	return func() (bool, string) {
		s := n.state(client, topic, p)
		isr := slices.Sorted(slices.Values(znode.BrokersOf(s.ISR)))
		if s.Leader != leader || !slices.Equal(isr, inSync) {
			return false, fmt.Sprintf("%s-%d is %+v, want leader %d and ISR %v", topic, p, s, leader, inSync)
		}
		return n.agreed(client, topic)
	}
}

// TestADeadLeaderIsReplaced: also when it comes back, the leader stays, and the broker
// is told everything in one full request first.
func TestADeadLeaderIsReplaced(t *testing.T) {
	n, c, client := three(t)
	n.replicate()
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}, 1: {3, 1, 2}})
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	n.leave(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	await(t, isLedBy(n, client, "t", 1, 3, 1, 3))
	n.join(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 2, 3))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.brokers[2].fulls != 1 {
		t.Errorf("%d full requests in the new registration, want 1", n.brokers[2].fulls)
	}
	if !slices.Equal(n.brokers[2].live, []int32{1, 2, 3}) {
		t.Errorf("broker 2 was told of %v, want all three", n.brokers[2].live)
	}
}

// TestABounceIsADeath is C11: a broker that is back in another registration before
// anybody saw it go left the ISR, though no look at the live brokers missed it.
func TestABounceIsADeath(t *testing.T) {
	n, c, client := three(t)
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}})
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	before := n.state(client, "t", 0)
	// On the loop, so that the controller looks only when both are done.
	if _, err := inOffice(c, testContext(t), func(context.Context) (struct{}, error) {
		n.leave(2)
		n.join(2)
		return struct{}{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	if after := n.state(client, "t", 0); after.LeaderEpoch != before.LeaderEpoch+1 {
		t.Errorf("leader epoch %d after %d, want the next", after.LeaderEpoch, before.LeaderEpoch)
	}
}

// TestDroppedAndStaleAnswersAreRepeated: a broker that does not answer, or says that
// the request is for another life of it, is told until it confirms, and only the
// newest.
func TestDroppedAndStaleAnswersAreRepeated(t *testing.T) {
	n, c, client := three(t)
	n.mu.Lock()
	n.brokers[3].down = true
	n.brokers[2].stale = true
	n.mu.Unlock()
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}, 1: {2, 3, 1}})
	if _, err := c.ElectLeaders(testContext(t), Preferred, nil); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	if len(n.brokers[2].states)+len(n.brokers[3].states) > 0 {
		t.Error("a broker took what it refused")
	}
	n.brokers[3].down, n.brokers[2].stale = false, false
	n.mu.Unlock()
	await(t, func() (bool, string) { return n.agreed(client, "t") })
}

// TestAdmission holds AlterPartition to the answers of the simulated controller.
func TestAdmission(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	info := n.create(c, "t", map[int32][]int32{0: {1, 2, 3}, 1: {1, 2, 3}})
	s := n.state(client, "t", 0)
	shrunk := s.ISR[:2]
	ask := func(broker int32, epoch int64, p Proposal) (Outcome, error) {
		p.TopicID = info.ID
		out, err := c.AlterPartition(ctx, broker, epoch, []Proposal{p})
		if err != nil {
			return Outcome{}, err
		}
		return out[0], nil
	}
	epoch := n.brokers[1].epoch
	if _, err := ask(1, epoch-1, Proposal{ISR: shrunk}); !errors.Is(err, ErrStaleBrokerEpoch) {
		t.Errorf("from an earlier life: %v, want ErrStaleBrokerEpoch", err)
	}
	if o, _ := ask(2, n.brokers[2].epoch, Proposal{ISR: shrunk}); !errors.Is(o.Err, ErrStaleState) {
		t.Errorf("from somebody who does not lead: %v, want ErrStaleState", o.Err)
	}
	o, err := ask(1, epoch, Proposal{ISR: shrunk})
	if err != nil || o.Err != nil || o.State.PartitionEpoch != 1 || len(o.State.ISR) != 2 {
		t.Fatalf("shrink: %+v, error %v", o, err)
	}
	if again, _ := ask(1, epoch, Proposal{ISR: shrunk}); again.Err != nil || again.State.PartitionEpoch != 1 {
		t.Errorf("the same again, its answer got lost: %+v, want the state as it stands", again)
	}
	if o, _ := ask(1, epoch, Proposal{ISR: s.ISR}); !errors.Is(o.Err, ErrStaleState) {
		t.Errorf("from an older partition epoch: %v, want ErrStaleState", o.Err)
	}
	if o, _ := ask(1, epoch, Proposal{PartitionEpoch: 9, ISR: shrunk}); !errors.Is(o.Err, ErrUnknownOutcome) {
		t.Errorf("from a partition epoch that nobody knows: %v, want ErrUnknownOutcome", o.Err)
	}
	old := s.ISR[2]
	old.BrokerEpoch--
	if o, _ := ask(1, epoch, Proposal{PartitionEpoch: 1, ISR: []replication.Member{s.ISR[0], s.ISR[1], old}}); !errors.Is(o.Err, ErrIneligibleReplica) {
		t.Errorf("an earlier life of a broker joins: %v, want ErrIneligibleReplica", o.Err)
	}
	if o, _ := ask(1, epoch, Proposal{PartitionEpoch: 1, ISR: s.ISR}); o.Err != nil || o.State.PartitionEpoch != 2 {
		t.Errorf("grow: %+v, want it written", o)
	}
	both, err := c.AlterPartition(ctx, 1, epoch, []Proposal{
		{TopicID: info.ID, Partition: 0, PartitionEpoch: 2, ISR: shrunk}, {TopicID: info.ID, Partition: 1, ISR: shrunk}, {TopicID: info.ID, Partition: 7, ISR: shrunk},
	})
	if err != nil || both[0].Err != nil || both[1].Err != nil || !errors.Is(both[2].Err, ErrUnknownPartition) {
		t.Errorf("a batch: %+v, error %v", both, err)
	}
	await(t, func() (bool, string) { return n.agreed(client, "t") })
}

// TestALeaderThatKnowsMore: somebody wrote the state without the controller (an
// outcome that it never learnt); a proposal from it is not called stale.
func TestALeaderThatKnowsMore(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	info := n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	s := n.state(client, "t", 0)
	s.ISR = s.ISR[:2]
	if _, err := client.UpdateISR(ctx, TopicPartition{Topic: "t"}, s); err != nil {
		t.Fatal(err)
	}
	out, err := c.AlterPartition(ctx, 1, n.brokers[1].epoch, []Proposal{{TopicID: info.ID, PartitionEpoch: 1, ISR: s.ISR[:1]}})
	if err != nil || out[0].Err != nil || out[0].State.PartitionEpoch != 2 {
		t.Errorf("proposal from the newer state: %+v, error %v; want it written", out, err)
	}
}

func TestControlledShutdownMovesLeadershipFirst(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}, 1: {3, 2, 1}})
	n.create(c, "alone", map[int32][]int32{0: {2}})
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	if _, err := c.ControlledShutdown(ctx, 2, n.brokers[2].epoch-1); !errors.Is(err, ErrStaleBrokerEpoch) {
		t.Errorf("an earlier life shuts down: %v, want ErrStaleBrokerEpoch", err)
	}
	left, err := c.ControlledShutdown(ctx, 2, n.brokers[2].epoch)
	if err != nil || len(left) > 0 {
		t.Fatalf("remaining %v, error %v; want none", left, err)
	}
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	await(t, isLedBy(n, client, "t", 1, 3, 1, 3))
	if s := n.state(client, "alone", 0); s.Leader != 2 {
		t.Errorf("%+v: nobody else may lead it, so it is led until the broker is gone", s)
	}
	n.leave(2)
	await(t, isLedBy(n, client, "alone", 0, -1, 2))
	n.join(2)
	await(t, isLedBy(n, client, "alone", 0, 2, 2))
}

func TestPreferredElections(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	n.replicate()
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}, 1: {3, 2, 1}})
	n.leave(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	tp := TopicPartition{Topic: "t"}
	got, err := c.ElectLeaders(ctx, Preferred, []TopicPartition{tp, {Topic: "t", Partition: 1}, {Topic: "none"}})
	if err != nil || !errors.Is(got[0].Err, ErrPreferredLeaderNotAvailable) || !errors.Is(got[1].Err, ErrElectionNotNeeded) || !errors.Is(got[2].Err, ErrUnknownPartition) {
		t.Errorf("results %+v, error %v", got, err)
	}
	n.join(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 2, 3))
	got, err = c.ElectLeaders(ctx, Preferred, nil)
	if err != nil || len(got) != 1 || got[0].TopicPartition != tp || got[0].Err != nil {
		t.Errorf("results %+v, error %v; want the one that needed it", got, err)
	}
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))

	// By the node of Kafka's older tools.
	n.leave(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	n.join(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 2, 3))
	if err := client.RequestPreferredElection(ctx, []TopicPartition{tp}); err != nil {
		t.Fatal(err)
	}
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	await(t, func() (bool, string) {
		_, found, err := client.PreferredElections(ctx)
		return !found && err == nil, "the request stays"
	})
}

func TestLeadershipIsBalanced(t *testing.T) {
	n, c, client := three(t)
	n.replicate()
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}, 1: {2, 1, 3}})
	n.leave(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 3))
	n.join(2)
	await(t, isLedBy(n, client, "t", 0, 3, 1, 2, 3))
	await(t, isLedBy(n, client, "t", 1, 1, 1, 2, 3))
	c.signal(balanceEvent)
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	await(t, isLedBy(n, client, "t", 1, 2, 1, 2, 3))
}

// TestUncleanElection: nobody leads without being asked to lose something.
func TestUncleanElection(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	n.create(c, "t", map[int32][]int32{0: {2, 3}})
	n.leave(3)
	await(t, isLedBy(n, client, "t", 0, 2, 2))
	n.leave(2)
	await(t, isLedBy(n, client, "t", 0, -1, 2))
	n.join(3)
	await(t, func() (bool, string) { return n.agreed(client, "t") })
	if s := n.state(client, "t", 0); s.Leader != -1 {
		t.Fatalf("%+v: a replica outside the ISR leads", s)
	}
	got, err := c.ElectLeaders(ctx, Unclean, nil)
	if err != nil || len(got) != 1 || got[0].Err != nil {
		t.Errorf("results %+v, error %v", got, err)
	}
	await(t, isLedBy(n, client, "t", 0, 3, 3))
	s := n.state(client, "t", 0)
	if !s.Recovering {
		t.Errorf("%+v: want leader_recovery_state 1", s)
	}
	// Its leader does nothing about it, as Kafka's: its next change of the ISR says that
	// it has recovered.
	isr := append(slices.Clone(s.ISR), replication.Member{Broker: 2, BrokerEpoch: n.join(2).epoch})
	await(t, func() (bool, string) {
		out, err := c.AlterPartition(ctx, 3, n.brokers[3].epoch, []Proposal{{Topic: "t", LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Version, ISR: isr}})
		return err == nil && out[0].Err == nil, fmt.Sprintf("%+v, %v", out, err)
	})
	if s = n.state(client, "t", 0); s.Recovering || len(s.ISR) != 2 {
		t.Errorf("%+v: want both in sync, and leader_recovery_state 0", s)
	}
}

// TestALostLogDirectoryIsADeath: the replica's broker answers that the directory is
// offline; others lead until it registers again.
func TestALostLogDirectoryIsADeath(t *testing.T) {
	n, c, client := three(t)
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}})
	n.mu.Lock()
	n.brokers[3].offline[TopicPartition{Topic: "u"}] = true
	n.mu.Unlock()
	n.create(c, "u", map[int32][]int32{0: {3, 2, 1}})
	await(t, func() (bool, string) {
		s := n.state(client, "u", 0)
		return s.Leader == 2 && !replication.Contains(s.ISR, 3), fmt.Sprintf("%+v", s)
	})
	if s := n.state(client, "t", 0); !replication.Contains(s.ISR, 3) {
		t.Errorf("%+v: the directory of another partition failed", s)
	}
	// One that fails later is announced.
	n.mu.Lock()
	n.brokers[2].offline[TopicPartition{Topic: "t"}] = true
	n.mu.Unlock()
	if err := client.AnnounceLogDirFailure(testContext(t), 2); err != nil {
		t.Fatal(err)
	}
	await(t, func() (bool, string) {
		s := n.state(client, "t", 0)
		_, nodes, err := client.LogDirEvents(testContext(t))
		return s.Leader == 3 && !replication.Contains(s.ISR, 2) && len(nodes) == 0 && err == nil, fmt.Sprintf("%+v, announced %v, error %v", s, nodes, err)
	})
}

// TestAReplicaThatMayNotLeadFollows: one that refuses to lead counts as dead, and lives
// again once it follows another.
func TestAReplicaThatMayNotLeadFollows(t *testing.T) {
	n, c, client := three(t)
	n.mu.Lock()
	n.brokers[3].noLeader = true
	n.mu.Unlock()
	n.create(c, "t", map[int32][]int32{0: {3, 2, 1}})
	await(t, func() (bool, string) {
		s := n.state(client, "t", 0)
		return s.Leader == 2 && !replication.Contains(s.ISR, 3), fmt.Sprintf("%+v", s)
	})
	await(t, func() (bool, string) { // A replica that is offline is not admitted.
		s := n.state(client, "t", 0)
		isr := append(slices.Clone(s.ISR), replication.Member{Broker: 3, BrokerEpoch: n.brokers[3].epoch})
		out, err := c.AlterPartition(testContext(t), 2, n.brokers[2].epoch, []Proposal{{Topic: "t", LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Version, ISR: isr}})
		return err == nil && out[0].Err == nil, fmt.Sprintf("%+v, %v", out, err)
	})
}

// TestLeadersThatWriteTheISRThemselves: under isr.update=zookeeper the controller
// follows what leaders announce, tells everybody, and removes the announcements.
func TestLeadersThatWriteTheISRThemselves(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	s := n.state(client, "t", 0)
	s.ISR = s.ISR[:2]
	if _, err := client.UpdateISR(ctx, TopicPartition{Topic: "t"}, s); err != nil {
		t.Fatal(err)
	}
	if err := client.AnnounceISRChange(ctx, []TopicPartition{{Topic: "t"}}); err != nil {
		t.Fatal(err)
	}
	await(t, isLedBy(n, client, "t", 0, 1, 1, 2))
	await(t, func() (bool, string) {
		_, nodes, err := client.ISRChanges(ctx)
		return len(nodes) == 0 && err == nil, "the announcement stays"
	})
}

// TestTopicsGrownByOthers: a tool of Kafka's writes partitions into the topic's node.
func TestTopicsGrownByOthers(t *testing.T) {
	n, c, client := three(t)
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	zt, err := client.Topic(testContext(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	zt.Partitions[1] = []int32{2, 3, 1}
	if _, err := client.SetTopic(testContext(t), c.fence, zt); err != nil {
		t.Fatal(err)
	}
	await(t, func() (bool, string) {
		s, err := client.PartitionState(testContext(t), TopicPartition{Topic: "t", Partition: 1})
		return err == nil && s.Leader == 2, fmt.Sprint(s, err)
	})
	await(t, func() (bool, string) { return n.agreed(client, "t") })
}

// TestReplicasOfDeletedTopicsGoWhenTheirBrokerIsBack, also where a topic of that name
// is there again.
func TestReplicasOfDeletedTopicsGoWhenTheirBrokerIsBack(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	old := n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	await(t, func() (bool, string) { return n.agreed(client, "t") })
	n.leave(3)
	await(t, isLedBy(n, client, "t", 0, 1, 1, 2))
	if err := c.DeleteTopic(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	for _, id := range []int32{1, 2} {
		if b := n.brokers[id]; len(b.logs)+len(b.views) > 0 {
			t.Errorf("broker %d has %v and shows %v", id, b.logs, b.views)
		}
	}
	n.mu.Unlock()
	again := n.create(c, "t", map[int32][]int32{0: {1, 2}})
	if again.ID == old.ID {
		t.Error("the new topic has the id of the old")
	}
	n.join(3)
	tp := TopicPartition{Topic: "t"}
	await(t, func() (bool, string) {
		strays, err := client.Strays(ctx)
		n.mu.Lock()
		defer n.mu.Unlock()
		gone := !n.brokers[3].logs[key{old.ID, tp}]
		return err == nil && len(strays) == 0 && gone, fmt.Sprintf("strays %v, error %v, gone %v", strays, err, gone)
	})
	n.mu.Lock()
	if !n.brokers[2].logs[key{again.ID, tp}] {
		t.Error("the new topic's replica was deleted too")
	}
	n.mu.Unlock()
	await(t, func() (bool, string) { return n.agreed(client, "t") })
}

// TestRacksHaveOneReplicaEach where there are as many racks as replicas.
func TestRacksHaveOneReplicaEach(t *testing.T) {
	n := newCluster(t)
	for id, rack := range map[int32]string{1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"} {
		n.brokers[id] = &fakeBroker{id: id, rack: rack, logs: map[key]bool{}, ends: map[TopicPartition]FenceAnswer{}, fences: map[TopicPartition]int32{}}
		n.join(id)
	}
	c := n.control(1, connectFor(t, n.addr, 5*time.Second))
	info, err := c.CreateTopic(testContext(t), TopicRequest{Name: "t", Partitions: 12, ReplicationFactor: 3})
	if err != nil {
		t.Fatal(err)
	}
	for p, replicas := range info.Partitions {
		racks := map[string]bool{}
		for _, id := range replicas {
			racks[n.brokers[id].rack] = true
		}
		if len(racks) != 3 {
			t.Errorf("partition %d on %v lies on %d racks", p, replicas, len(racks))
		}
	}
}

// TestTheNextControllerKnowsTheStrategy: nobody announces the configuration of a new
// topic, and the strategy stands there.
func TestTheNextControllerKnowsTheStrategy(t *testing.T) {
	n, c, client := three(t)
	second := n.control(2, connectFor(t, n.addr, 5*time.Second))
	config := map[string]string{"replication.strategy": "quorum"}
	if _, err := c.CreateTopic(testContext(t), TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 3, Config: config}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	await(t, func() (bool, string) { return second.IsController(), "the second is not elected" })
	if err := second.awaitTold(testContext(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	heard := second.o.Sink.(*sink)
	heard.mu.Lock()
	if heard.configs["topics/t"]["replication.strategy"] != "quorum" {
		t.Errorf("the next controller knows %v", heard.configs)
	}
	heard.mu.Unlock()
	if id := second.ControllerID(); id != 2 {
		t.Errorf("the controller is %d, want 2", id)
	}
	await(t, func() (bool, string) { return n.agreed(client, "t") })
}

// TestAnOfficeWithoutNews: a controller that hears nothing of its session is in office
// no longer, so nobody waits for it; the session did not end, and it takes the office
// up again under its epoch.
func TestAnOfficeWithoutNews(t *testing.T) {
	n, c, _ := three(t)
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	var epoch int32
	if _, err := call(c, testContext(t), func(context.Context) (struct{}, error) {
		epoch = c.fence.Epoch
		c.lapse()
		if c.IsController() {
			t.Error("it is in office still")
		}
		return struct{}{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	await(t, func() (bool, string) { return c.IsController(), "it does not take the office up again" })
	now, err := call(c, testContext(t), func(context.Context) (int32, error) { return c.fence.Epoch, nil })
	if err != nil || now != epoch {
		t.Errorf("controller epoch %d after %d, error %v; want the same", now, epoch, err)
	}
}
