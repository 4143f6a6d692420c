package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/txns"
	"tidemark/protocol/wire"
)

// FindCoordinator (10), versions 0 to 6: which broker coordinates a group or a
// transactional id, the leader of its partition of __consumer_offsets or
// __transaction_state. 3 is flexible, 4 asks for many keys at once (KIP-699), 5 and 6
// allow error codes and kinds of coordinators that are not here. The first question
// creates the topic.

// The kinds of coordinators.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
)

func findCoordinator(s *Server, req *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version < 4 {
		b, code, why := s.coordinatorOf(req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = int16(code), message(why)
		resp.NodeID, resp.Host, resp.Port = b.ID, b.Host, b.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		answer := kmsg.NewFindCoordinatorResponseCoordinator()
		b, code, why := s.coordinatorOf(req.CoordinatorType, key)
		answer.Key, answer.ErrorCode, answer.ErrorMessage = key, int16(code), message(why)
		answer.NodeID, answer.Host, answer.Port = b.ID, b.Host, b.Port
		resp.Coordinators = append(resp.Coordinators, answer)
	}
	return resp
}

// nobody stands beside an error.
var nobody = metadata.Broker{ID: -1, Port: -1}

func (s *Server) coordinatorOf(kind int8, key string) (metadata.Broker, wire.ErrorCode, error) {
	var topic string
	var partition int32
	var ok bool
	switch kind {
	case groupCoordinator:
		topic = groups.Topic
		partition, ok = s.o.Groups.Partition(key)
	case transactionCoordinator:
		topic = txns.Topic
		partition, ok = s.o.Txns.Partition(key)
	default:
		return nobody, wire.InvalidRequest, fmt.Errorf("there is no kind %d of coordinators", kind)
	}
	if !ok {
		s.creations.want(topic)
		return nobody, wire.CoordinatorNotAvailable, s.creations.unmade(topic)
	}
	view := s.o.Metadata.View()
	state, _ := view.Topic(topic).Partition(partition)
	b, alive := view.Broker(state.Leader)
	if !alive {
		return nobody, wire.CoordinatorNotAvailable, fmt.Errorf("partition %d of %s has no leader; start one of its brokers, %v", partition, topic, state.Replicas)
	}
	return b, wire.None, nil
}
