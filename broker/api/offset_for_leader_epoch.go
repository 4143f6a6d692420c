package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch (23), versions 2 to 4: where a leader epoch ends, which
// tells a client whether the log was truncated under it (KIP-320). 3 brought the
// replica id, 4 tagged fields.

func offsetForLeaderEpoch(s *Server, req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = t.Topic
		for _, q := range t.Partitions {
			answer := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			answer.Partition, answer.LeaderEpoch, answer.EndOffset = q.Partition, -1, -1
			p, err := s.partition(t.Topic, q.Partition)
			if err == nil {
				err = p.Check(epochOf(q.CurrentLeaderEpoch))
			}
			if err == nil {
				answer.LeaderEpoch, answer.EndOffset, err = p.EndOffsetForEpoch(q.LeaderEpoch)
			}
			if err != nil {
				answer.ErrorCode = int16(partitionCode(err))
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
