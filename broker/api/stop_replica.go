package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// StopReplica (5), version 4, from the controller: replicas that are here no more.

func stopReplica(s *Server, req *kmsg.StopReplicaRequest) kmsg.Response {
	r, err := peer.DecodeStopReplica(req)
	if err != nil {
		return peer.EncodeStopReplicaAnswer(peer.StopReplicaAnswer{ErrorCode: wire.InvalidRequest})
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	order := controller.StopReplica{Header: controller.Header{Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch}}
	for _, p := range r.Partitions {
		order.Partitions = append(order.Partitions, controller.StopPartition{
			TopicPartition: controller.TopicPartition{Topic: p.Topic, Partition: p.Index}, TopicID: p.TopicID,
			LeaderEpoch: p.LeaderEpoch, Delete: p.Delete,
		})
	}
	done, err := s.o.Orders.StopReplica(ctx, order)
	answer := peer.StopReplicaAnswer{ErrorCode: orderCode(err)}
	for i, err := range done {
		answer.Partitions = append(answer.Partitions, peer.PartitionResult{
			Topic: r.Partitions[i].Topic, Index: r.Partitions[i].Index, ErrorCode: orderCode(err),
		})
	}
	return peer.EncodeStopReplicaAnswer(answer)
}
