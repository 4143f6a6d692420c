package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/controller"
)

// AlterPartitionReassignments (45), version 0: other replicas for partitions, or none
// other after all (KIP-455).

func alterPartitionReassignments(s *Server, req *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	var wanted []controller.Reassignment
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			wanted = append(wanted, controller.Reassignment{
				TopicPartition: controller.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Replicas: p.Replicas,
			})
		}
	}
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	outcomes, err := s.o.Controller.AlterReassignments(ctx, wanted)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(adminCode(err)), message(err)
		return resp
	}
	next := 0
	for _, t := range req.Topics {
		topic := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			answer := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			answer.Partition, answer.ErrorCode, answer.ErrorMessage = p.Partition, int16(adminCode(outcomes[next])), message(outcomes[next])
			topic.Partitions = append(topic.Partitions, answer)
			next++
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
