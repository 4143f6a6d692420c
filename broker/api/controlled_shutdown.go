package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/protocol/wire"
)

// ControlledShutdown (7), version 3, from a broker that is to stop to the controller:
// leadership is to be taken from it first.

func controlledShutdown(s *Server, req *kmsg.ControlledShutdownRequest) kmsg.Response {
	r, err := peer.DecodeControlledShutdown(req)
	if err != nil {
		return peer.EncodeControlledShutdownAnswer(peer.ControlledShutdownAnswer{ErrorCode: wire.InvalidRequest})
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	remaining, err := s.o.Controller.ControlledShutdown(ctx, r.Broker, r.BrokerEpoch)
	answer := peer.ControlledShutdownAnswer{ErrorCode: orderCode(err)}
	for _, p := range remaining {
		answer.Remaining = append(answer.Remaining, peer.TopicPartition{Topic: p.Topic, Index: p.Partition})
	}
	return peer.EncodeControlledShutdownAnswer(answer)
}
