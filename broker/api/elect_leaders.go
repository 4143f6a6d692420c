package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// ElectLeaders (43), versions 0 to 2: leadership to the preferred replicas or, from 1
// on, to any that live where nobody can lead (KIP-183, KIP-460). Null topics mean all
// partitions; of those, the ones that need no election are left out.

func electLeaders(s *Server, req *kmsg.ElectLeadersRequest) kmsg.Response {
	resp := kmsg.NewPtrElectLeadersResponse()
	kind := controller.Preferred
	if req.Version >= 1 {
		kind = controller.ElectionType(req.ElectionType)
	}
	if kind != controller.Preferred && kind != controller.Unclean {
		resp.ErrorCode = int16(wire.InvalidRequest)
		return resp
	}
	asked := askedPartitions(req.Topics, func(t kmsg.ElectLeadersRequestTopic) (string, []int32) { return t.Topic, t.Partitions })
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	results, err := s.o.Controller.ElectLeaders(ctx, kind, asked)
	if err != nil {
		if resp.ErrorCode = int16(adminCode(err)); req.Version >= 1 {
			return resp
		}
		// Version 0 has room for an error beside a partition only.
		results = nil
		for _, p := range asked {
			results = append(results, controller.ElectionResult{TopicPartition: p, Err: err})
		}
	}
	at := make(map[string]int)
	for _, r := range results {
		i, known := at[r.Topic]
		if !known {
			i = len(resp.Topics)
			at[r.Topic] = i
			topic := kmsg.NewElectLeadersResponseTopic()
			topic.Topic = r.Topic
			resp.Topics = append(resp.Topics, topic)
		}
		answer := kmsg.NewElectLeadersResponseTopicPartition()
		answer.Partition, answer.ErrorCode, answer.ErrorMessage = r.Partition, int16(adminCode(r.Err)), message(r.Err)
		resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, answer)
	}
	return resp
}

// askedPartitions are those that a request names; nil, for null topics, are all.
func askedPartitions[T any](topics []T, of func(T) (topic string, partitions []int32)) []controller.TopicPartition {
	if topics == nil {
		return nil
	}
	asked := []controller.TopicPartition{}
	for _, t := range topics {
		topic, partitions := of(t)
		for _, p := range partitions {
			asked = append(asked, controller.TopicPartition{Topic: topic, Partition: p})
		}
	}
	return asked
}
