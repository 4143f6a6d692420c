package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// Coordinator lives on the partitions of an internal topic that this broker leads.
type Coordinator interface {
	// Led takes note of who leads a partition of the topic since which leader epoch.
	// The replica knows already.
	Led(partition, leader, leaderEpoch int32)
	// Stopped takes note that the partition is here no more.
	Stopped(partition int32)
	// TopicsDeleted takes note of topics that are no more.
	TopicsDeleted(names []string)
}

// OrdersOptions make Orders. All fields are required.
type OrdersOptions struct {
	BrokerID int32
	// BrokerEpoch is the registration in force; −1 without one.
	BrokerEpoch func() int64
	Configs     *Configs
	Replicas    *replica.Manager
	Metadata    *metadata.Cache
	// Coordinators are found by the internal topic that they live on.
	Coordinators map[string]Coordinator
	// Learn puts the configuration of topics into force; their replicas come next.
	Learn func(ctx context.Context, topics []string) error
	// Brokers is told where the live brokers are, before anything is to be fetched
	// from a new one.
	Brokers func([]znode.Broker)
	Logger  *slog.Logger
}

// Orders carries out what controllers order: LeaderAndIsr, StopReplica,
// UpdateMetadata and FenceReplica, come they by request or, from the controller in
// this process, by call. An order of a controller that was replaced, or for another
// registration of this broker, is refused. One order is carried out at a time; while one
// waits for the metadata store, others are.
//
// It also puts configuration into force, as the controller's Sink.
type Orders struct {
	o        OrdersOptions
	upToDate chan struct{} // closed once the broker serves what it should

	mu              sync.Mutex
	controllerEpoch int32 // the highest that ordered anything
	current         bool  // upToDate is closed
	leaving         bool
	// given counts the orders carried out that opened or stopped replicas, stops those
	// that stopped some.
	given, stops uint64
	// broken are replicas that could not be opened.
	broken map[replica.ID]bool
}

// NewOrders returns an Orders that has heard of nothing.
func NewOrders(o OrdersOptions) *Orders {
	o.Logger = o.Logger.With("broker", o.BrokerID)
	return &Orders{o: o, upToDate: make(chan struct{}), controllerEpoch: -1, broken: make(map[replica.ID]bool)}
}

// UpToDate is closed once a controller has told of the cluster and every replica that
// belongs on this broker is here, or known to be broken.
func (o *Orders) UpToDate() <-chan struct{} { return o.upToDate }

// Leave is called before the controller is asked for a controlled shutdown: what it
// takes out of the in-sync set then, it takes out for good. To fetch on would make the
// leader wait for a broker that is about to stop (Kafka's controller sends StopReplica).
func (o *Orders) Leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaving = true
}

// LeaderAndISR makes replicas lead and follow, then the coordinators that live on
// them.
func (o *Orders) LeaderAndISR(ctx context.Context, r controller.LeaderAndISR) (controller.LeaderAndISRAnswer, error) {
	var answer controller.LeaderAndISRAnswer
	if err := o.begin(ctx, r.Header, r.Partitions, &o.given); err != nil {
		return answer, err
	}
	defer o.mu.Unlock()
	o.given++
	o.o.Brokers(r.Live)
	states := make([]replica.State, 0, len(r.Partitions))
	for i := range r.Partitions {
		s := replicaState(&r.Partitions[i], r.ControllerEpoch)
		if o.leaving && s.Leader != o.o.BrokerID && !replication.Contains(s.ISR, o.o.BrokerID) {
			s.Leader = replication.NoBroker
		}
		states = append(states, s)
	}
	apply := o.o.Replicas.Apply
	if r.Full {
		apply = o.o.Replicas.ApplyAll
	}
	answer.Partitions = make([]controller.PartitionAnswer, len(states))
	for i, err := range apply(states) {
		answer.Partitions[i].Err = o.outcome(&states[i], err)
	}
	for i := range r.Partitions {
		s := &r.Partitions[i]
		if c := o.o.Coordinators[s.Topic]; c != nil && answer.Partitions[i].Err == nil {
			c.Led(s.Partition, s.Leader, s.LeaderEpoch)
		}
	}
	o.checkUpToDate()
	return answer, nil
}

// outcome is what the controller is told about one partition. mu is held.
func (o *Orders) outcome(s *replica.State, err error) error {
	id := replica.ID{Topic: s.Topic, Partition: s.Index}
	if err == nil {
		delete(o.broken, id)
		return nil
	}
	o.broken[id] = true
	o.o.Logger.Error("replica does not serve", "topic", s.Topic, "partition", s.Index, "error", err)
	if errors.Is(err, replica.ErrStorage) {
		return controller.ErrReplicaOffline
	}
	return err
}

func replicaState(s *controller.PartitionState, controllerEpoch int32) replica.State {
	return replica.State{
		Topic: s.Topic, TopicID: s.TopicID, Index: s.Partition,
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ControllerEpoch: controllerEpoch,
		Replicas: s.Replicas, Adding: s.Adding, Removing: s.Removing, ISR: s.ISR, ELR: s.ELR,
		IsNew: s.IsNew, Recovering: s.Recovering,
	}
}

// StopReplica lets go of replicas; one of another topic of the same name stays.
func (o *Orders) StopReplica(_ context.Context, r controller.StopReplica) ([]error, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.obey(r.Header); err != nil {
		return nil, err
	}
	o.given++
	o.stops++
	out := make([]error, len(r.Partitions))
	var list []replica.Stopping
	var at []int
	for i, s := range r.Partitions {
		if t := o.o.Replicas.Topic(s.Topic); t != nil && t.ID != s.TopicID {
			continue
		}
		if c := o.o.Coordinators[s.Topic]; c != nil {
			c.Stopped(s.Partition)
		}
		list = append(list, replica.Stopping{
			ID: replica.ID{Topic: s.Topic, Partition: s.Partition}, LeaderEpoch: s.LeaderEpoch, Delete: s.Delete,
		})
		at = append(at, i)
	}
	for i, err := range o.o.Replicas.StopReplicas(list) {
		out[at[i]] = err
	}
	return out, nil
}

// UpdateMetadata changes what clients are told, and forgets topics that were deleted.
func (o *Orders) UpdateMetadata(_ context.Context, r controller.UpdateMetadata) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.obey(r.Header); err != nil {
		return err
	}
	o.o.Brokers(r.Live)
	change := metadata.Change{Controller: r.Controller, Brokers: make([]metadata.Broker, 0, len(r.Live))}
	for _, b := range r.Live {
		host, port := Address(b)
		change.Brokers = append(change.Brokers, metadata.Broker{ID: b.ID, Host: host, Port: port, Rack: b.Rack})
	}
	view := o.o.Metadata.View()
	var deleted []string
	for i := range r.Partitions {
		s := &r.Partitions[i]
		if s.Leader != controller.DeletedLeader {
			change.Partitions = append(change.Partitions, metadata.Update{Topic: s.Topic, ID: s.TopicID, Partition: metadata.Partition{
				Index: s.Partition, Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, Replicas: s.Replicas, ISR: s.InSync(),
			}})
			continue
		}
		change.Removed = append(change.Removed, metadata.Removal{Topic: s.Topic, ID: s.TopicID})
		if t := view.Topic(s.Topic); t != nil && t.ID == s.TopicID && !slices.Contains(deleted, s.Topic) {
			deleted = append(deleted, s.Topic)
		}
	}
	for _, name := range deleted {
		o.o.Configs.SetTopic(name, nil)
	}
	o.o.Metadata.Apply(change)
	if len(deleted) > 0 {
		for _, c := range o.o.Coordinators {
			c.TopicsDeleted(deleted)
		}
	}
	o.checkUpToDate()
	return nil
}

// checkUpToDate closes upToDate where that is due. mu is held.
func (o *Orders) checkUpToDate() {
	view := o.o.Metadata.View()
	if o.current || view.Controller() < 0 {
		return
	}
	for _, name := range view.TopicNames() {
		for _, p := range view.Topic(name).Partitions {
			here := o.o.Replicas.Partition(name, p.Index) != nil || o.broken[replica.ID{Topic: name, Partition: p.Index}]
			if slices.Contains(p.Replicas, o.o.BrokerID) && !here {
				return
			}
		}
	}
	o.current = true
	close(o.upToDate)
}

// FenceReplica has a replica promise to take nothing from earlier leaders and says how
// far it is.
func (o *Orders) FenceReplica(ctx context.Context, r controller.FenceReplica) (controller.FenceAnswer, error) {
	type result struct {
		answer controller.FenceAnswer
		err    error
	}
	done := make(chan result, 1)
	o.fence(ctx, r, func(a controller.FenceAnswer, err error) { done <- result{a, err} })
	select {
	case got := <-done:
		return got.answer, got.err
	case <-ctx.Done():
		return controller.FenceAnswer{}, ctx.Err()
	}
}

// fence calls answer once, here or later. A new topic's promise comes before its first
// LeaderAndIsr, and its replica must not be opened under another strategy.
func (o *Orders) fence(ctx context.Context, r controller.FenceReplica, answer func(controller.FenceAnswer, error)) {
	one := []controller.PartitionState{{TopicPartition: r.TopicPartition, TopicID: r.TopicID}}
	if err := o.begin(ctx, r.Header, one, &o.stops); err != nil {
		answer(controller.FenceAnswer{}, err)
		return
	}
	o.mu.Unlock()
	o.o.Replicas.Fence(replica.FenceRequest{
		ID: replica.ID{Topic: r.Topic, Partition: r.Partition}, TopicID: r.TopicID,
		LeaderEpoch: r.LeaderEpoch, ControllerEpoch: r.ControllerEpoch,
	}, func(a replica.FenceAnswer) {
		if a.Err == nil && a.Failure != replication.NoFailure {
			a.Err = fmt.Errorf("%w: leader epoch %d was promised to", replica.ErrFencedEpoch, a.LeaderEpoch)
		}
		answer(controller.FenceAnswer{LastEpoch: a.LastEpoch, LogEndOffset: a.LogEndOffset, Dir: a.Dir}, a.Err)
	})
}

// Committed says whether the leader's high watermark passed the start of the leader
// epoch.
func (o *Orders) Committed(_ context.Context, r controller.Committed) (bool, error) {
	p := o.o.Replicas.Partition(r.Topic, r.Partition)
	if p == nil || p.Topic.ID != r.TopicID {
		return false, replica.ErrUnknownPartition
	}
	if err := p.Check(r.LeaderEpoch); err != nil {
		return false, err
	}
	_, err := p.Latest(replica.ReadUncommitted)
	if errors.Is(err, replica.ErrOffsetNotAvailable) {
		return false, nil
	}
	return err == nil, err
}

// ConfigChanged puts a topic's or a broker's dynamic configuration into force.
func (o *Orders) ConfigChanged(entity znode.EntityType, name string, settings map[string]string) {
	var err error
	switch entity {
	case znode.Topics:
		if _, err = o.o.Configs.Broker().Topic(settings); err != nil {
			break // written by somebody else; what was in force stays
		}
		o.o.Configs.SetTopic(name, settings)
		err = o.o.Replicas.Reconfigure(name)
	case znode.Brokers:
		var mine bool
		if mine, err = o.o.Configs.SetBroker(name, settings); err == nil && mine {
			err = o.o.Replicas.ReconfigureAll()
		}
	}
	if err != nil {
		o.o.Logger.Error("configuration change has no effect", "entity", entity, "name", name, "error", err)
	}
}
