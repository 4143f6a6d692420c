package broker

import (
	"context"
	"errors"
	"fmt"

	"tidemark/broker/api"
	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// peers takes the controller's orders to brokers: to this one by a call, so that it
// does not depend on any network, to the others by a request. It is a
// controller.Peers.
type peers struct {
	self   int32
	orders *api.Orders
	pool   *peer.Pool
}

var _ controller.Peers = (*peers)(nil)

// SetBrokers says where the others are.
func (p *peers) SetBrokers(brokers []znode.Broker) { p.pool.SetBrokers(addresses(brokers)) }

// addresses are where brokers listen.
func addresses(brokers []znode.Broker) []peer.Broker {
	out := make([]peer.Broker, 0, len(brokers))
	for _, b := range brokers {
		host, port := api.Address(b)
		out = append(out, peer.Broker{ID: b.ID, Host: host, Port: port, Rack: b.Rack})
	}
	return out
}

// LeaderAndISR implements controller.Peers.
func (p *peers) LeaderAndISR(ctx context.Context, broker int32, r controller.LeaderAndISR) (controller.LeaderAndISRAnswer, error) {
	if broker == p.self {
		return p.orders.LeaderAndISR(ctx, r)
	}
	got, err := p.pool.LeaderAndISR(ctx, broker, peer.LeaderAndISR{
		Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch,
		Full: r.Full, Partitions: toldStates(r.Partitions), Live: addresses(r.Live),
	})
	if err = answered(err, got.ErrorCode); err != nil {
		return controller.LeaderAndISRAnswer{}, err
	}
	type partition struct {
		topic [16]byte
		index int32
	}
	codes := make(map[partition]wire.ErrorCode, len(got.Partitions))
	for i := range got.Partitions {
		codes[partition{got.Partitions[i].TopicID, got.Partitions[i].Index}] = got.Partitions[i].ErrorCode
	}
	answer := controller.LeaderAndISRAnswer{Partitions: make([]controller.PartitionAnswer, len(r.Partitions))}
	for i := range r.Partitions {
		code, told := codes[partition{r.Partitions[i].TopicID, r.Partitions[i].Partition}]
		if !told {
			code = wire.UnknownServerError
		}
		answer.Partitions[i].Err = orderError(code)
	}
	return answer, nil
}

// StopReplica implements controller.Peers.
func (p *peers) StopReplica(ctx context.Context, broker int32, r controller.StopReplica) ([]error, error) {
	if broker == p.self {
		return p.orders.StopReplica(ctx, r)
	}
	request := peer.StopReplica{Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch}
	for _, s := range r.Partitions {
		request.Partitions = append(request.Partitions, peer.StopPartition{
			Topic: s.Topic, TopicID: s.TopicID, Index: s.Partition, LeaderEpoch: s.LeaderEpoch, Delete: s.Delete,
		})
	}
	got, err := p.pool.StopReplica(ctx, broker, request)
	if err = answered(err, got.ErrorCode); err != nil {
		return nil, err
	}
	codes := make(map[controller.TopicPartition]wire.ErrorCode, len(got.Partitions))
	for _, a := range got.Partitions {
		codes[controller.TopicPartition{Topic: a.Topic, Partition: a.Index}] = a.ErrorCode
	}
	out := make([]error, len(r.Partitions))
	for i := range r.Partitions {
		code, told := codes[r.Partitions[i].TopicPartition]
		if !told {
			code = wire.UnknownServerError
		}
		out[i] = orderError(code)
	}
	return out, nil
}

// UpdateMetadata implements controller.Peers.
func (p *peers) UpdateMetadata(ctx context.Context, broker int32, r controller.UpdateMetadata) error {
	if broker == p.self {
		return p.orders.UpdateMetadata(ctx, r)
	}
	got, err := p.pool.UpdateMetadata(ctx, broker, peer.UpdateMetadata{
		Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch,
		Partitions: toldStates(r.Partitions), Live: addresses(r.Live),
	})
	return answered(err, got.ErrorCode)
}

// FenceReplica implements controller.Peers.
func (p *peers) FenceReplica(ctx context.Context, broker int32, r controller.FenceReplica) (controller.FenceAnswer, error) {
	if broker == p.self {
		return p.orders.FenceReplica(ctx, r)
	}
	got, err := p.pool.FenceReplica(ctx, broker, peer.FenceReplica{
		Topic: r.Topic, TopicID: r.TopicID, Index: r.Partition,
		LeaderEpoch: r.LeaderEpoch, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch,
	})
	if err = answered(err, got.ErrorCode); err != nil {
		return controller.FenceAnswer{}, err
	}
	return controller.FenceAnswer{LastEpoch: got.LastEpoch, LogEndOffset: got.LogEndOffset, Dir: replication.DirID(got.Dir)}, nil
}

// Committed implements controller.Peers.
func (p *peers) Committed(ctx context.Context, leader int32, r controller.Committed) (bool, error) {
	if leader == p.self {
		return p.orders.Committed(ctx, r)
	}
	code, _, err := p.pool.LatestOffset(ctx, leader, r.Topic, r.Partition, r.LeaderEpoch)
	if err == nil && code == wire.OffsetNotAvailable {
		return false, nil
	}
	return err == nil && code == wire.None, answered(err, code)
}

// toldStates are partitions as the messages between brokers have them.
func toldStates(states []controller.PartitionState) []peer.PartitionState {
	out := make([]peer.PartitionState, 0, len(states))
	for i := range states {
		s := &states[i]
		out = append(out, peer.PartitionState{
			Topic: s.Topic, TopicID: s.TopicID, Index: s.Partition, ControllerEpoch: s.ControllerEpoch,
			Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch,
			ISR: s.ISR, ELR: s.ELR, Replicas: replica.Members(s.Replicas...), Adding: s.Adding, Removing: s.Removing,
			IsNew: s.IsNew, Recovering: s.Recovering,
		})
	}
	return out
}

// answered is why a request was not carried out.
func answered(err error, code wire.ErrorCode) error {
	if err != nil {
		return err
	}
	return orderError(code)
}

// orderError is a code as the controller knows it.
func orderError(code wire.ErrorCode) error {
	switch code {
	case wire.None:
		return nil
	case wire.StaleControllerEpoch:
		return controller.ErrStaleControllerEpoch
	case wire.StaleBrokerEpoch:
		return controller.ErrStaleBrokerEpoch
	case wire.KafkaStorageError:
		return controller.ErrReplicaOffline
	}
	return fmt.Errorf("the broker answered %v", code)
}

// askController puts proposals to the broker that is the controller.
func (b *Broker) askController(ctx context.Context, proposals []controller.Proposal) ([]controller.Outcome, error) {
	id := b.view.View().Controller()
	switch {
	case id < 0 || b.controller == nil:
		return nil, errNoController
	case id == b.o.Config.BrokerID:
		return b.controller.AlterPartition(ctx, id, b.presence.brokerEpoch(), proposals)
	}
	request := peer.AlterPartition{Broker: b.o.Config.BrokerID, BrokerEpoch: b.presence.brokerEpoch()}
	for i := range proposals {
		p := &proposals[i]
		request.Partitions = append(request.Partitions, peer.Proposal{
			TopicID: p.TopicID, Index: p.Partition, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
			ISR: p.ISR, Recovering: p.Recovering,
		})
	}
	got, err := b.pool.AlterPartition(ctx, id, request)
	if err = answered(err, got.ErrorCode); err != nil {
		return nil, err
	}
	outcomes := make([]controller.Outcome, len(proposals))
	for i := range proposals {
		outcomes[i] = outcomeIn(&proposals[i], got.Partitions)
	}
	return outcomes, nil
}

var errNoController = errors.New("no broker is known to be the controller")

// outcomeIn finds the answer to a proposal.
func outcomeIn(p *controller.Proposal, results []peer.ProposalResult) controller.Outcome {
	for i := range results {
		r := &results[i]
		if r.TopicID != p.TopicID || r.Index != p.Partition {
			continue
		}
		return controller.Outcome{Err: proposalError(r.ErrorCode), State: controller.PartitionState{
			TopicID: r.TopicID, Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
			ISR: r.ISR, ELR: r.ELR, Recovering: r.Recovering,
		}}
	}
	return controller.Outcome{Err: errNoController}
}

func proposalError(code wire.ErrorCode) error {
	switch code {
	case wire.InvalidUpdateVersion, wire.FencedLeaderEpoch, wire.NewLeaderElected:
		return controller.ErrStaleState
	case wire.IneligibleReplica:
		return controller.ErrIneligibleReplica
	case wire.OperationNotAttempted:
		return controller.ErrNotApplied
	}
	return orderError(code)
}
