package api

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/wire"
)

// LeaderAndIsr (4), version 7, from the controller: who leads and who follows.

// orderTimeout bounds an order whose asker names no time.
const orderTimeout = 30 * time.Second

func leaderAndISR(s *Server, req *kmsg.LeaderAndISRRequest) kmsg.Response {
	r, err := peer.DecodeLeaderAndISR(req)
	if err != nil {
		return peer.EncodeLeaderAndISRAnswer(peer.LeaderAndISRAnswer{ErrorCode: wire.InvalidRequest})
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	order := controller.LeaderAndISR{
		Header: controller.Header{Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch},
		Full:   r.Full, Partitions: orderedStates(r.Partitions), Live: orderedBrokers(r.Live),
	}
	done, err := s.o.Orders.LeaderAndISR(ctx, order)
	answer := peer.LeaderAndISRAnswer{ErrorCode: orderCode(err)}
	for i := range done.Partitions {
		answer.Partitions = append(answer.Partitions, peer.LeaderAndISRResult{
			TopicID: r.Partitions[i].TopicID, Index: r.Partitions[i].Index, ErrorCode: orderCode(done.Partitions[i].Err),
		})
	}
	return peer.EncodeLeaderAndISRAnswer(answer)
}

// orderCode maps what became of an order.
func orderCode(err error) wire.ErrorCode {
	switch {
	case errors.Is(err, controller.ErrStaleControllerEpoch):
		return wire.StaleControllerEpoch
	case errors.Is(err, controller.ErrStaleBrokerEpoch):
		return wire.StaleBrokerEpoch
	case errors.Is(err, controller.ErrReplicaOffline):
		return wire.KafkaStorageError
	}
	return codeOf(err, wire.UnknownServerError)
}

// orderedStates are partitions as the controller's own words have them.
func orderedStates(list []peer.PartitionState) []controller.PartitionState {
	out := make([]controller.PartitionState, 0, len(list))
	for i := range list {
		p := &list[i]
		s := controller.PartitionState{
			TopicPartition: controller.TopicPartition{Topic: p.Topic, Partition: p.Index}, TopicID: p.TopicID,
			Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ControllerEpoch: p.ControllerEpoch,
			ISR: p.ISR, ELR: p.ELR, Adding: p.Adding, Removing: p.Removing, IsNew: p.IsNew, Recovering: p.Recovering,
		}
		for _, m := range p.Replicas {
			s.Replicas = append(s.Replicas, m.Broker)
		}
		out = append(out, s)
	}
	return out
}

// orderedBrokers are brokers as the metadata store has them, of which a message tells
// the address only.
func orderedBrokers(list []peer.Broker) []znode.Broker {
	out := make([]znode.Broker, 0, len(list))
	for _, b := range list {
		out = append(out, znode.Broker{ID: b.ID, Host: b.Host, Port: b.Port, Rack: b.Rack})
	}
	return out
}
