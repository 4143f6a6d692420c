package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/znode"
	"tidemark/replication"
	"tidemark/replication/isr"
	"tidemark/replication/quorum"
)

// hasReplicas is true once the partition has exactly those, leads one of them, and
// nobody else has a log of it.
func hasReplicas(n *cluster, client *znode.Client, topic string, replicas ...int32) func() (bool, string) {
	return func() (bool, string) {
		zt, err := client.Topic(testContext(n.t), topic)
		if err != nil || !slices.Equal(zt.Partitions[0], replicas) || len(zt.Adding)+len(zt.Removing)+len(zt.Target) > 0 {
			return false, fmt.Sprintf("topic %+v, error %v, want %v", zt, err, replicas)
		}
		s := n.state(client, topic, 0)
		if !slices.Contains(replicas, s.Leader) || len(s.ISR) != len(replicas) {
			return false, fmt.Sprintf("state %+v, want %v in sync and one of them leading", s, replicas)
		}
		n.mu.Lock()
		for id, b := range n.brokers {
			if b.logs[key{zt.ID, TopicPartition{Topic: topic}}] != slices.Contains(replicas, id) {
				defer n.mu.Unlock()
				return false, fmt.Sprintf("broker %d has a log: %v", id, !slices.Contains(replicas, id))
			}
		}
		n.mu.Unlock()
		return n.agreed(client, topic)
	}
}

func TestReassignment(t *testing.T) {
	for name, s := range map[string]strategy{
		"isr":    {isr.Spec(), replication.Config{MinISR: 1}},
		"quorum": {quorum.Spec(), replication.Config{MinISR: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newCluster(t, 1, 2, 3, 4, 5, 6)
			n.with["t"] = s
			client := connectFor(t, n.addr, 5*time.Second)
			c := n.control(1, client)
			n.replicate()
			n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
			for _, target := range [][]int32{{4, 5, 6}, {5, 4, 1}, {2, 3, 4, 5, 6}, {6, 2}, {2, 6}} {
				answers, err := c.AlterReassignments(testContext(t), []Reassignment{{TopicPartition{Topic: "t"}, target}})
				if err != nil || answers[0] != nil {
					// It may just be changing.
					await(t, func() (bool, string) {
						answers, err = c.AlterReassignments(testContext(t), []Reassignment{{TopicPartition{Topic: "t"}, target}})
						return err == nil && answers[0] == nil, fmt.Sprint(answers, err)
					})
				}
				await(t, hasReplicas(n, client, "t", target...))
			}
		})
	}
}

// TestReassignmentAddsBeforeItRemoves, waits for who is added, can be listed, replaced
// and cancelled, and keeps the topic from being deleted.
func TestReassignmentAddsBeforeItRemoves(t *testing.T) {
	n := newCluster(t, 1, 2, 3, 4)
	client := connectFor(t, n.addr, 5*time.Second)
	c := n.control(1, client)
	ctx := testContext(t)
	tp := TopicPartition{Topic: "t"}
	n.create(c, "t", map[int32][]int32{0: {1, 2}})
	ask := func(replicas []int32) error {
		answers, err := c.AlterReassignments(ctx, []Reassignment{{tp, replicas}})
		if err != nil {
			t.Fatal(err)
		}
		return answers[0]
	}
	for name, wrong := range map[string][]int32{"twice": {1, 1}, "nobody": {}, "a stranger": {9}} {
		if err := ask(wrong); !errors.Is(err, ErrInvalidAssignment) {
			t.Errorf("%s: %v, want ErrInvalidAssignment", name, err)
		}
	}
	if err := ask(nil); !errors.Is(err, ErrNoReassignment) {
		t.Errorf("cancel nothing: %v, want ErrNoReassignment", err)
	}
	list := func() Ongoing {
		all, err := c.ListReassignments(ctx, nil)
		if err != nil || len(all) != 1 {
			t.Fatalf("under way: %+v, error %v; want one", all, err)
		}
		return all[0]
	}
	if err := ask([]int32{3, 4}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Ongoing{tp, []int32{3, 4, 1, 2}, []int32{3, 4}, []int32{1, 2}}, list()); diff != "" {
		t.Errorf("reassignment differs (-want +got):\n%s", diff)
	}
	if err := c.CreatePartitions(ctx, PartitionsRequest{Name: "t", Count: 2}); !errors.Is(err, ErrReassignmentInProgress) {
		t.Errorf("growing meanwhile: %v, want ErrReassignmentInProgress", err)
	}
	if err := ask([]int32{1, 4}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Ongoing{tp, []int32{1, 4, 2}, []int32{4}, []int32{2}}, list()); diff != "" {
		t.Errorf("after it was replaced (-want +got):\n%s", diff)
	}
	await(t, func() (bool, string) { return n.agreed(client, "t") })
	if s := n.state(client, "t", 0); s.Leader != 1 || len(s.ISR) != 2 {
		t.Errorf("%+v: nobody joined, so nobody leaves", s)
	}
	if err := ask(nil); err != nil {
		t.Fatal(err)
	}
	await(t, hasReplicas(n, client, "t", 1, 2))

	if err := ask([]int32{3, 4}); err != nil {
		t.Fatal(err)
	}
	if err := client.RequestTopicDeletion(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := call(c, ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.followDeletions(ctx) }); err != nil {
		t.Fatal(err)
	}
	list() // it waits
	n.replicate()
	await(t, func() (bool, string) {
		_, err := client.Topic(ctx, "t")
		return errors.Is(err, znode.ErrNotFound), "the topic stays"
	})
}

// TestReassignmentByTheOldNode: what Kafka's tools wrote before there was an API.
func TestReassignmentByTheOldNode(t *testing.T) {
	n := newCluster(t, 1, 2, 3, 4)
	client := connectFor(t, n.addr, 5*time.Second)
	c := n.control(1, client)
	n.replicate()
	n.create(c, "t", map[int32][]int32{0: {1, 2}})
	err := client.RequestReassignments(testContext(t), map[TopicPartition][]int32{
		{Topic: "t"}: {3, 4}, {Topic: "none"}: {1},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, hasReplicas(n, client, "t", 3, 4))
	await(t, func() (bool, string) {
		left, err := client.Reassignments(testContext(t))
		return err == nil && len(left) == 0, fmt.Sprintf("%v asked for still, error %v", left, err)
	})
}

// TestAReplicaThatDiesWhileItIsAdded does not join, and holds nothing else up.
func TestAReplicaThatDiesWhileItIsAdded(t *testing.T) {
	n := newCluster(t, 1, 2, 3, 4)
	client := connectFor(t, n.addr, 5*time.Second)
	c := n.control(1, client)
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	if _, err := c.AlterReassignments(testContext(t), []Reassignment{{TopicPartition{Topic: "t"}, []int32{1, 4, 3}}}); err != nil {
		t.Fatal(err)
	}
	n.leave(4)
	n.replicate()
	n.leave(1)
	await(t, isLedBy(n, client, "t", 0, 3, 2, 3))
	n.join(1)
	n.join(4)
	await(t, hasReplicas(n, client, "t", 1, 4, 3))
}
