package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tidemark/coordinator/znode"
)

// BenchmarkABrokerDies is how long it takes until no partition has the dead leader any
// more, in the store and on the brokers, once the controller looks.
func BenchmarkABrokerDies(b *testing.B) {
	const partitions = 2000
	n := newCluster(b, 1, 2, 3)
	client := connectFor(b, n.addr, 30*time.Second)
	c := n.control(1, client)
	assignment := map[int32][]int32{}
	for p := range int32(partitions) {
		assignment[p] = []int32{p%3 + 1, (p+1)%3 + 1, (p+2)%3 + 1}
	}
	began := time.Now()
	var moved time.Duration
	if _, err := c.CreateTopic(context.Background(), TopicRequest{Name: "t", Assignment: assignment}); err != nil {
		b.Fatal(err)
	}
	created := time.Since(began)
	told := func(gone int32) func() (bool, string) {
		return func() (bool, string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			for id, f := range n.brokers {
				if f.down {
					continue
				}
				if len(f.views) < partitions {
					return false, fmt.Sprintf("broker %d shows %d partitions", id, len(f.views))
				}
				for tp, s := range f.views {
					if s.Leader == gone {
						return false, fmt.Sprintf("%v is led by %d on %d", tp, gone, id)
					}
				}
			}
			return true, ""
		}
	}
	await(b, told(-1))
	for b.Loop() {
		b.StopTimer()
		n.mu.Lock()
		n.brokers[2].down = true
		n.mu.Unlock()
		began := time.Now()
		b.StartTimer()
		n.brokers[2].client.Close()
		await(b, told(2))
		b.StopTimer()
		moved = max(moved, time.Since(began))
		n.join(2)
		await(b, told(-1))
		n.proposeAll(context.Background())
		if _, err := c.ElectLeaders(context.Background(), Preferred, nil); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(created.Milliseconds()), "create-ms")
	b.ReportMetric(float64(moved.Milliseconds()), "slowest-move-ms")
}

// TestManyPartitionsMoveInFewRequests: states go many to a multi. One round trip for
// each would be a request each.
func TestManyPartitionsMoveInFewRequests(t *testing.T) {
	k := &killSwitch{}
	n := newCluster(t, 1, 2, 3)
	client, err := znode.Connect(testContext(t), znode.Options{Servers: []string{n.addr}, SessionTimeout: 10 * time.Second, Dialer: k.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := n.control(1, client)
	assignment := map[int32][]int32{}
	for p := range int32(400) {
		assignment[p] = []int32{2, 3, 1}
	}
	n.create(c, "t", assignment)
	k.mu.Lock()
	before := k.count
	k.mu.Unlock()
	n.leave(2)
	await(t, func() (bool, string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for tp, s := range n.brokers[1].views {
			if s.Leader != 3 {
				return false, fmt.Sprintf("%v is led by %d", tp, s.Leader)
			}
		}
		return len(n.brokers[1].views) == 400, "not all are told"
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if writes := k.count - before; writes > 20 {
		t.Errorf("%d writes for 400 partitions, want about 8", writes)
	}
}
