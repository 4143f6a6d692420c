package api

import (
	"context"
	"errors"
	"testing"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
)

// slowStore is a metadata store whose answers wait until they are let go.
type slowStore struct{ asked, answers chan struct{} }

func (c *cluster) slowStore() slowStore {
	s := slowStore{make(chan struct{}), make(chan struct{})}
	c.orders.o.Learn = func(ctx context.Context, _ []string) error {
		select {
		case s.asked <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-s.answers:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s
}

// ledHere is a partition of one replica, which leads.
func ledHere(topic string, id byte) controller.PartitionState {
	return controller.PartitionState{TopicPartition: controller.TopicPartition{Topic: topic}, TopicID: znode.TopicID{id}, Leader: 1,
		ISR: replica.Members(1), Replicas: []int32{1}}
}

// orderLater gives an order that waits for the store, and returns what became of it.
func (c *cluster) orderLater(s slowStore, order controller.LeaderAndISR) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.orders.LeaderAndISR(c.t.Context(), order)
		done <- err
	}()
	<-s.asked
	return done
}

// TestSlowStoreHoldsUpNoOtherOrder: while an order waits for the configuration of a new
// topic, every order that needs none is carried out, and it too in the end.
func TestSlowStoreHoldsUpNoOtherOrder(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topic("here", 1)
	s := c.slowStore()
	done := c.orderLater(s, controller.LeaderAndISR{Header: testHeader, Partitions: []controller.PartitionState{ledHere("new", 1)}})
	if err := c.orders.UpdateMetadata(t.Context(), controller.UpdateMetadata{Header: testHeader, Live: []znode.Broker{{ID: 1}, {ID: 2}}}); err != nil {
		t.Errorf("UpdateMetadata meanwhile: %v", err)
	}
	promise := controller.FenceReplica{Header: testHeader, TopicPartition: controller.TopicPartition{Topic: "here"}, TopicID: id, LeaderEpoch: 5}
	if _, err := c.orders.FenceReplica(t.Context(), promise); err != nil {
		t.Errorf("FenceReplica meanwhile: %v", err)
	}
	c.orders.Leave()
	close(s.answers)
	if err := <-done; err != nil || c.server.o.Replicas.Partition("new", 0) == nil {
		t.Errorf("the order that waited: %v, want its replica here", err)
	}
}

// TestOvertakenOrder: an order that waited for the store does not undo what was ordered
// meanwhile, be it by the same controller or by the next; ordered again it is carried out.
func TestOvertakenOrder(t *testing.T) {
	next := testHeader
	next.ControllerEpoch++
	for _, tc := range []struct {
		name      string
		meanwhile func(t *testing.T, c *cluster)
		want      error
		again     controller.Header
	}{
		{"stopped", func(t *testing.T, c *cluster) {
			stop := controller.StopReplica{Header: testHeader, Partitions: []controller.StopPartition{{
				TopicPartition: controller.TopicPartition{Topic: "new"}, TopicID: znode.TopicID{1}, LeaderEpoch: controller.EpochDuringDelete, Delete: true}}}
			if _, err := c.orders.StopReplica(t.Context(), stop); err != nil {
				t.Fatal(err)
			}
		}, errOvertaken, testHeader},
		{"all told anew", func(t *testing.T, c *cluster) {
			full := controller.LeaderAndISR{Header: testHeader, Full: true}
			if _, err := c.orders.LeaderAndISR(t.Context(), full); err != nil {
				t.Fatal(err)
			}
		}, errOvertaken, testHeader},
		{"the next controller", func(t *testing.T, c *cluster) {
			if err := c.orders.UpdateMetadata(t.Context(), controller.UpdateMetadata{Header: next}); err != nil {
				t.Fatal(err)
			}
		}, controller.ErrStaleControllerEpoch, next},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, nil)
			s := c.slowStore()
			order := controller.LeaderAndISR{Header: testHeader, Partitions: []controller.PartitionState{ledHere("new", 1)}}
			done := c.orderLater(s, order)
			tc.meanwhile(t, c)
			s.answers <- struct{}{}
			if err := <-done; !errors.Is(err, tc.want) || c.server.o.Replicas.Partition("new", 0) != nil {
				t.Fatalf("the order that was overtaken: %v, want %v and no replica", err, tc.want)
			}
			order.Header = tc.again
			done = c.orderLater(s, order)
			s.answers <- struct{}{}
			if err := <-done; err != nil || c.server.o.Replicas.Partition("new", 0) == nil {
				t.Errorf("ordered again: %v, want its replica here", err)
			}
		})
	}
}

// TestOvertakenPromise: a promise asked of a new topic opens no replica once it was stopped.
func TestOvertakenPromise(t *testing.T) {
	c := newCluster(t, nil)
	s := c.slowStore()
	done := make(chan error, 1)
	go func() {
		_, err := c.orders.FenceReplica(t.Context(), controller.FenceReplica{Header: testHeader,
			TopicPartition: controller.TopicPartition{Topic: "new"}, TopicID: znode.TopicID{1}, LeaderEpoch: 1})
		done <- err
	}()
	<-s.asked
	if _, err := c.orders.StopReplica(t.Context(), controller.StopReplica{Header: testHeader}); err != nil {
		t.Fatal(err)
	}
	close(s.answers)
	if err := <-done; !errors.Is(err, errOvertaken) || c.server.o.Replicas.Topic("new") != nil {
		t.Errorf("a promise after the stop: %v, want %v and no replica", err, errOvertaken)
	}
}
