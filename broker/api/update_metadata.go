package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// UpdateMetadata (6), version 8, from the controller: what clients are told.

func updateMetadata(s *Server, req *kmsg.UpdateMetadataRequest) kmsg.Response {
	r, err := peer.DecodeUpdateMetadata(req)
	if err != nil {
		return peer.EncodeUpdateMetadataAnswer(peer.UpdateMetadataAnswer{ErrorCode: wire.InvalidRequest})
	}
	err = s.o.Orders.UpdateMetadata(context.Background(), controller.UpdateMetadata{
		Header:     controller.Header{Controller: r.Controller, ControllerEpoch: r.ControllerEpoch, BrokerEpoch: r.BrokerEpoch},
		Partitions: orderedStates(r.Partitions), Live: orderedBrokers(r.Live),
	})
	return peer.EncodeUpdateMetadataAnswer(peer.UpdateMetadataAnswer{ErrorCode: orderCode(err)})
}
