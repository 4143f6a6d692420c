package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/znode"
)

// dump is what the store has of the topics.
func dump(t *testing.T, client *znode.Client) map[string]string {
	t.Helper()
	ctx := testContext(t)
	out := map[string]string{}
	names, err := client.TopicNames(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		zt, err := client.Topic(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = fmt.Sprintf("%+v", zt)
		for p := range zt.Partitions {
			s, err := client.PartitionState(ctx, TopicPartition{Topic: name, Partition: p})
			out[fmt.Sprintf("%s-%d", name, p)] = fmt.Sprintf("%+v, error %v", s, err)
		}
	}
	return out
}

// TestAZombieChangesNothing is C02: the controller is stopped in the middle of its
// work; another is elected, and then the first goes on with everything that it knows
// how to do. Not one node changes, and no broker obeys it.
func TestAZombieChangesNothing(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context, c *Controller) error{
		"create": func(ctx context.Context, c *Controller) error {
			_, err := c.createTopic(ctx, TopicRequest{Name: "new", Partitions: 1, ReplicationFactor: 1})
			return err
		},
		"grow": func(ctx context.Context, c *Controller) error {
			return c.createPartitions(ctx, PartitionsRequest{Name: "t", Count: 5})
		},
		"reassign": func(ctx context.Context, c *Controller) error {
			_, err := c.reassign(ctx, []Reassignment{{TopicPartition{Topic: "t"}, []int32{3, 1}}})
			return err
		},
		"elect": func(ctx context.Context, c *Controller) error {
			c.leaving[2] = c.brokers[2].Epoch
			c.dirtyAll()
			return c.settle(ctx)
		},
		"admit": func(ctx context.Context, c *Controller) error {
			p := c.topics["t"].partitions[0]
			_, err := c.admitAll(ctx, 2, []Proposal{{Topic: "t", ISR: p.state.ISR[:1]}})
			return err
		},
		"delete": func(ctx context.Context, c *Controller) error {
			return c.endDeletion(ctx, &topic{Topic: c.topics["t"].Topic, deletion: &deletion{}, unwatch: func() {}})
		},
		"configure": func(ctx context.Context, c *Controller) error {
			return c.o.Client.FinishConfigRequest(ctx, c.fence, znode.ConfigRequest{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newCluster(t, 1, 2, 3)
			first := n.control(1, connectFor(t, n.addr, 10*time.Second))
			client := connectFor(t, n.addr, 10*time.Second)
			second := n.control(2, client)
			n.create(first, "t", map[int32][]int32{0: {2, 3, 1}, 1: {3, 1, 2}})
			await(t, func() (bool, string) { return n.agreed(client, "t") })
			var before map[string]string
			var got error
			_, err := call(first, testContext(t), func(context.Context) (struct{}, error) {
				// The office is taken from it while it is in the middle of this.
				if err := first.o.Client.ResignController(testContext(t), first.fence); err != nil {
					return struct{}{}, err
				}
				await(t, func() (bool, string) { return second.IsController(), "the second is not elected" })
				if err := second.awaitTold(testContext(t), time.Minute); err != nil {
					return struct{}{}, err
				}
				before = dump(t, client)
				got = do(first.term, first)
				for _, b := range first.brokers {
					for _, p := range first.all() {
						b.sender.again(p.key(), p.view(), true, 99)
					}
				}
				return struct{}{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !errors.Is(got, znode.ErrFenced) {
				t.Errorf("the zombie got %v, want ErrFenced", got)
			}
			if diff := cmp.Diff(before, dump(t, client)); diff != "" {
				t.Errorf("the zombie changed the store (-before +after):\n%s", diff)
			}
			n.mu.Lock()
			for id, b := range n.brokers {
				if b.controllerEpoch != second.fence.Epoch {
					t.Errorf("broker %d obeys epoch %d", id, b.controllerEpoch)
				}
				for tp, s := range b.views {
					if s.Leader < 0 || len(s.Replicas) != 3 {
						t.Errorf("broker %d shows %+v of %v", id, s, tp)
					}
				}
			}
			n.mu.Unlock()
		})
	}
}
