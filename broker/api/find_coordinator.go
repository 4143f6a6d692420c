package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// FindCoordinator (10), versions 0 to 4: which broker coordinates a group or a
// transactional id. 3 is flexible, 4 asks for many keys at once (KIP-699).
//
// Groups and transactions are not served, yet this is: librdkafka takes lz4 for
// unsupported, and silently sends uncompressed, where FindCoordinator is not
// advertised. The answer is true for a cluster of one. JoinGroup and its kin are
// not advertised, so a client that wants a group fails at once and says why.
func findCoordinator(s *Server, req *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	coordinator, alive := s.o.Metadata.View().Broker(s.o.BrokerID)
	code := wire.None
	if !alive {
		code, coordinator.ID, coordinator.Port = wire.CoordinatorNotAvailable, -1, -1
	}
	if req.Version < 4 {
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = int16(code), coordinator.ID, coordinator.Host, coordinator.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		answer := kmsg.NewFindCoordinatorResponseCoordinator()
		answer.Key, answer.ErrorCode = key, int16(code)
		answer.NodeID, answer.Host, answer.Port = coordinator.ID, coordinator.Host, coordinator.Port
		resp.Coordinators = append(resp.Coordinators, answer)
	}
	return resp
}
