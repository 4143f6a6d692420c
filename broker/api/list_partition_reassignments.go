package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListPartitionReassignments (46), version 0: which reassignments are under way
// (KIP-455). Null topics ask for all.

func listPartitionReassignments(s *Server, req *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	asked := askedPartitions(req.Topics, func(t kmsg.ListPartitionReassignmentsRequestTopic) (string, []int32) { return t.Topic, t.Partitions })
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	ongoing, err := s.o.Controller.ListReassignments(ctx, asked)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(adminCode(err)), message(err)
		return resp
	}
	at := make(map[string]int)
	for _, r := range ongoing {
		i, known := at[r.Topic]
		if !known {
			i = len(resp.Topics)
			at[r.Topic] = i
			topic := kmsg.NewListPartitionReassignmentsResponseTopic()
			topic.Topic = r.Topic
			resp.Topics = append(resp.Topics, topic)
		}
		answer := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		answer.Partition, answer.Replicas, answer.AddingReplicas, answer.RemovingReplicas = r.Partition, r.Replicas, r.Adding, r.Removing
		resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, answer)
	}
	return resp
}
