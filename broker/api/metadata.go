package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// Metadata (3), versions 0 to 12: brokers, topics and leaders. 0 says "all
// topics" by an empty list, later versions by null; 4 lets a client forbid
// auto-creation; 7 brought leader epochs, 10 topic ids, 12 questions by topic id.

func describeMetadata(s *Server, req *kmsg.MetadataRequest) kmsg.Response {
	view := s.o.Metadata.View()
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID, resp.ControllerID = &s.o.ClusterID, s.controllerID()
	resp.AuthorizedOperations = unknownOperations
	for _, b := range view.Brokers() {
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port, broker.Rack = b.ID, b.Host, b.Port, rack(b)
		resp.Brokers = append(resp.Brokers, broker)
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, name := range view.TopicNames() {
			resp.Topics = append(resp.Topics, topicMetadata(view, view.Topic(name)))
		}
		return resp
	}
	create := req.Version < 4 || req.AllowAutoTopicCreation
	seen := make(map[topicQuestion]bool)
	for _, q := range req.Topics {
		if q.TopicID != [16]byte{} {
			q.Topic = nil // Java's consumer has an empty name beside the id
		}
		key := topicQuestion{id: q.TopicID}
		if q.Topic != nil {
			key = topicQuestion{name: *q.Topic, named: true}
		}
		if !seen[key] {
			seen[key] = true
			resp.Topics = append(resp.Topics, s.topicMetadata(view, &q, create))
		}
	}
	return resp
}

// controllerID is who changes topics; −1 while nobody is known to.
func (s *Server) controllerID() int32 {
	if s.o.Controller.IsController() {
		return s.o.BrokerID
	}
	if id := s.o.Metadata.View().Controller(); id != s.o.BrokerID {
		return id
	}
	return -1 // this broker was, and nobody has followed it yet
}

// topicQuestion tells questions apart: each is answered once.
type topicQuestion struct {
	id    [16]byte
	name  string
	named bool
}

func rack(b metadata.Broker) *string {
	if b.Rack == "" {
		return nil
	}
	return &b.Rack
}

// topicMetadata answers one question about a topic.
func (s *Server) topicMetadata(view *metadata.View, q *kmsg.MetadataRequestTopic, create bool) kmsg.MetadataResponseTopic {
	if q.Topic == nil {
		if t := view.TopicByID(q.TopicID); t != nil {
			return topicMetadata(view, t)
		}
		return noTopic(nil, q.TopicID, wire.UnknownTopicID)
	}
	name := *q.Topic
	if t := view.Topic(name); t != nil {
		return topicMetadata(view, t)
	}
	if !replica.ValidName(name) {
		return noTopic(&name, [16]byte{}, wire.InvalidTopicException)
	}
	// The topic is there with the client's next question, not in this answer: one
	// that was just deleted must not seem to live on.
	if create && s.o.Configs.Broker().AutoCreateTopics && !internalTopic(name) {
		s.creations.want(name)
	}
	return noTopic(&name, [16]byte{}, wire.UnknownTopicOrPartition)
}

func noTopic(name *string, id [16]byte, code wire.ErrorCode) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID, topic.ErrorCode = name, id, int16(code)
	topic.AuthorizedOperations = unknownOperations
	return topic
}

func topicMetadata(view *metadata.View, t *metadata.Topic) kmsg.MetadataResponseTopic {
	topic := noTopic(&t.Name, t.ID, wire.None)
	topic.IsInternal = internalTopic(t.Name)
	for _, p := range t.Partitions {
		partition := kmsg.NewMetadataResponseTopicPartition()
		partition.Partition, partition.Leader, partition.LeaderEpoch = p.Index, p.Leader, p.LeaderEpoch
		partition.Replicas, partition.ISR = p.Replicas, p.ISR
		for _, id := range p.Replicas {
			if _, live := view.Broker(id); !live {
				partition.OfflineReplicas = append(partition.OfflineReplicas, id)
			}
		}
		if _, live := view.Broker(p.Leader); !live {
			partition.Leader = -1 // nobody could reach it
			partition.ErrorCode = int16(wire.LeaderNotAvailable)
		}
		topic.Partitions = append(topic.Partitions, partition)
	}
	return topic
}
