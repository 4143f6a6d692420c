package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
)

// DescribeProducers (61), version 0: which producers a leader remembers, and where the
// open transaction of each began (KIP-664).
func describeProducers(s *Server, req *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = t.Topic
		for _, index := range t.Partitions {
			topic.Partitions = append(topic.Partitions, s.producersOf(t.Topic, index))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (s *Server) producersOf(topic string, index int32) kmsg.DescribeProducersResponseTopicPartition {
	answer := kmsg.NewDescribeProducersResponseTopicPartition()
	answer.Partition = index
	p := s.o.Replicas.Partition(topic, index)
	err := s.absent(topic, index)
	if p != nil {
		err = p.Check(replica.AnyEpoch)
	}
	if err != nil {
		answer.ErrorCode, answer.ErrorMessage = int16(partitionCode(err)), message(err)
		return answer
	}
	for _, e := range p.Producers() {
		active := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		active.ProducerID, active.ProducerEpoch = e.ProducerID, int32(e.Epoch)
		active.LastSequence, active.LastTimestamp = e.LastSequence, e.TimestampMs
		active.CoordinatorEpoch, active.CurrentTxnStartOffset = e.CoordinatorEpoch, e.CurrentTxnFirstOffset
		answer.ActiveProducers = append(answer.ActiveProducers, active)
	}
	return answer
}
