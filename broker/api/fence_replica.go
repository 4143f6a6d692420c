package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// FenceReplica (10001), version 0, from the controller: a replica is to follow nobody
// of an earlier leader epoch any more, and says how far it is. It is not Kafka's.

func fenceReplica(s *Server, _ client, r *peer.FenceReplica, answer func(kmsg.Response)) {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel() // it bounds what is done before the replica is asked
	s.o.Orders.fence(ctx, controller.FenceReplica{
		Header:         controller.Header{Controller: -1, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch},
		TopicPartition: controller.TopicPartition{Topic: r.Topic, Partition: r.Index}, TopicID: r.TopicID, LeaderEpoch: r.LeaderEpoch,
	}, func(a controller.FenceAnswer, err error) {
		resp := &peer.FenceReplicaAnswer{ErrorCode: orderCode(err), LeaderEpoch: r.LeaderEpoch, LastEpoch: a.LastEpoch, LogEndOffset: a.LogEndOffset, Dir: a.Dir}
		if errors.Is(err, replica.ErrFencedEpoch) {
			resp.ErrorCode = wire.FencedLeaderEpoch
		}
		answer(resp)
	})
}
