package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// DescribeCluster (60), versions 0 and 1: who is in the cluster. 1 brought the
// endpoint type (KIP-919): brokers are 1, and there are no others.

const brokerEndpoints int8 = 1

// unknownOperations stands for authorized operations that were not asked for or
// are not known, as there is no authorizer.
const unknownOperations int32 = -1 << 31

func describeCluster(s *Server, req *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.EndpointType = brokerEndpoints
	resp.ClusterAuthorizedOperations = unknownOperations
	if req.Version >= 1 && req.EndpointType != brokerEndpoints {
		resp.ErrorCode = int16(wire.UnsupportedEndpointType)
		resp.EndpointType = req.EndpointType
		return resp
	}
	view := s.o.Metadata.View()
	resp.ClusterID, resp.ControllerID = s.o.ClusterID, s.controllerID()
	for _, b := range view.Brokers() {
		broker := kmsg.NewDescribeClusterResponseBroker()
		broker.NodeID, broker.Host, broker.Port, broker.Rack = b.ID, b.Host, b.Port, rack(b)
		resp.Brokers = append(resp.Brokers, broker)
	}
	return resp
}
