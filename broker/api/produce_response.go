package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// response fills the recycled response; its slices keep their room.
func (p *produce) response() *kmsg.ProduceResponse {
	resp := &p.resp
	topics := resp.Topics[:0]
	resp.Default()
	var topic *kmsg.ProduceResponseTopic
	var elsewhere []int32 // who leads what is not led here
	for i := range p.parts {
		part := &p.parts[i]
		if part.newTopic {
			topics, topic = nextProduceTopic(topics)
			topic.Topic = part.topicName()
		}
		topic.Partitions = append(topic.Partitions, p.answer(part))
		if part.err != nil {
			if leader := topic.Partitions[len(topic.Partitions)-1].CurrentLeader.LeaderID; leader >= 0 {
				elsewhere = append(elsewhere, leader)
			}
		}
	}
	resp.Topics, resp.Brokers = topics, nil
	for _, e := range p.server.endpoints(elsewhere) {
		broker := kmsg.NewProduceResponseBroker()
		broker.NodeID, broker.Host, broker.Port, broker.Rack = e.NodeID, e.Host, e.Port, e.Rack
		resp.Brokers = append(resp.Brokers, broker)
	}
	return resp
}

// nextProduceTopic extends topics by one and keeps the room of its partitions.
func nextProduceTopic(topics []kmsg.ProduceResponseTopic) ([]kmsg.ProduceResponseTopic, *kmsg.ProduceResponseTopic) {
	if len(topics) == cap(topics) {
		topics = append(topics, kmsg.NewProduceResponseTopic())
		return topics, &topics[len(topics)-1]
	}
	topics = topics[:len(topics)+1]
	t := &topics[len(topics)-1]
	room := t.Partitions[:0]
	*t = kmsg.NewProduceResponseTopic()
	t.Partitions = room
	return topics, t
}

func (part *producePart) topicName() string {
	if part.partition != nil {
		return part.partition.Topic.Name
	}
	return string(part.topic)
}

// answer is the result of one partition.
func (p *produce) answer(part *producePart) kmsg.ProduceResponseTopicPartition {
	a := kmsg.NewProduceResponseTopicPartition()
	a.Partition = part.index
	a.BaseOffset, a.LogAppendTime, a.LogStartOffset = part.info.BaseOffset, part.info.LogAppendTimeMs, part.info.LogStartOffset
	if part.err == nil {
		return a
	}
	a.ErrorCode = int16(partitionCode(part.err))
	a.ErrorMessage = message(part.err)
	a.BaseOffset = -1
	if part.partition != nil && !errors.Is(part.err, replica.ErrStorage) {
		a.LogStartOffset = part.partition.LogStartOffset()
	}
	for _, r := range record.ErrorsOf(part.err) {
		e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		reason := r.Reason
		e.RelativeOffset, e.ErrorMessage = r.Index, &reason
		a.ErrorRecords = append(a.ErrorRecords, e)
	}
	if l := p.server.leaderInstead(wire.ErrorCode(a.ErrorCode), part.topicName(), part.index); l != nil {
		a.CurrentLeader.LeaderID, a.CurrentLeader.LeaderEpoch = l.LeaderID, l.LeaderEpoch
	}
	return a
}

// internalTopic names what coordinators alone write (Kafka's Topic.isInternal).
func internalTopic(name string) bool {
	return name == groups.Topic || name == txns.Topic
}
