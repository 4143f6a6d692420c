package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords (21), versions 0 to 2: drops the records before an offset; −1
// means the high watermark (KIP-107). The low watermark in the answer is the leader's
// log start offset; followers take it over with their next fetch.

func deleteRecords(s *Server, req *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = t.Topic
		for _, q := range t.Partitions {
			answer := kmsg.NewDeleteRecordsResponseTopicPartition()
			answer.Partition, answer.LowWatermark = q.Partition, -1
			if low, err := s.deleteRecords(t.Topic, q.Partition, q.Offset); err != nil {
				answer.ErrorCode = int16(partitionCode(err))
			} else {
				answer.LowWatermark = low
			}
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (s *Server) deleteRecords(topic string, index int32, offset int64) (low int64, err error) {
	p, err := s.partition(topic, index)
	if err != nil {
		return -1, err
	}
	if internalTopic(topic) {
		return -1, errInvalidTopic
	}
	return p.DeleteRecords(offset)
}
