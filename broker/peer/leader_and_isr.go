package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// LeaderAndISR is the controller's word to the replicas of partitions: who leads,
// who follows. Partitions of a topic stand together.
type LeaderAndISR struct {
	Controller, ControllerEpoch int32
	// BrokerEpoch is the registration of the broker it is meant for.
	BrokerEpoch int64
	// Full says that the broker has no other partition than these.
	Full       bool
	Partitions []PartitionState
	// Live are the brokers that lead.
	Live []Broker
}

// LeaderAndISRAnswer has an error for the whole, or one for each partition.
type LeaderAndISRAnswer struct {
	ErrorCode  wire.ErrorCode
	Partitions []LeaderAndISRResult
}

// LeaderAndISRResult is what became of one partition.
type LeaderAndISRResult struct {
	TopicID   [16]byte
	Index     int32
	ErrorCode wire.ErrorCode
}

const (
	leaderAndISRVersion = 7

	typeIncremental = 1 // Kafka's AbstractControlRequest.Type
	typeFull        = 2
)

// EncodeLeaderAndISR makes the request; it shares no memory with r but strings.
func EncodeLeaderAndISR(r LeaderAndISR) *kmsg.LeaderAndISRRequest {
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version = leaderAndISRVersion
	req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.Controller, r.ControllerEpoch, r.BrokerEpoch
	req.Type = typeIncremental
	if r.Full {
		req.Type = typeFull
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if i == 0 || p.Topic != r.Partitions[i-1].Topic || p.TopicID != r.Partitions[i-1].TopicID {
			topic := kmsg.NewLeaderAndISRRequestTopicState()
			topic.Topic, topic.TopicID = p.Topic, p.TopicID
			req.TopicStates = append(req.TopicStates, topic)
		}
		topic := &req.TopicStates[len(req.TopicStates)-1]
		topic.PartitionStates = append(topic.PartitionStates, p.leaderAndISR())
	}
	for _, b := range r.Live {
		live := kmsg.NewLeaderAndISRRequestLiveLeader()
		live.BrokerID, live.Host, live.Port = b.ID, b.Host, b.Port
		req.LiveLeaders = append(req.LiveLeaders, live)
	}
	return req
}

func (s *PartitionState) leaderAndISR() kmsg.LeaderAndISRRequestTopicPartition {
	p := kmsg.NewLeaderAndISRRequestTopicPartition()
	p.Partition, p.ControllerEpoch, p.Leader, p.LeaderEpoch, p.ZKVersion = s.Index, s.ControllerEpoch, s.Leader, s.LeaderEpoch, s.PartitionEpoch
	p.AddingReplicas, p.RemovingReplicas = s.Adding, s.Removing
	p.IsNew, p.LeaderRecoveryState = s.IsNew, recovery(s.Recovering)
	p.ISR = splitMembers(&p.UnknownTags, tagISR, s.ISR)
	p.Replicas = splitMembers(&p.UnknownTags, tagReplicas, s.Replicas)
	setELR(&p.UnknownTags, s.ELR)
	return p
}

// DecodeLeaderAndISR reads the request.
func DecodeLeaderAndISR(req *kmsg.LeaderAndISRRequest) (LeaderAndISR, error) {
	r := LeaderAndISR{Controller: req.ControllerID, ControllerEpoch: req.ControllerEpoch, BrokerEpoch: req.BrokerEpoch, Full: req.Type == typeFull}
	for i := range req.TopicStates {
		topic := &req.TopicStates[i]
		for j := range topic.PartitionStates {
			p := &topic.PartitionStates[j]
			s := PartitionState{
				Topic: topic.Topic, TopicID: topic.TopicID, Index: p.Partition, ControllerEpoch: p.ControllerEpoch,
				Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.ZKVersion,
				Adding: p.AddingReplicas, Removing: p.RemovingReplicas, IsNew: p.IsNew, Recovering: p.LeaderRecoveryState == recovery(true),
			}
			if err := s.learnSets(&p.UnknownTags, p.ISR, p.Replicas); err != nil {
				return LeaderAndISR{}, err
			}
			r.Partitions = append(r.Partitions, s)
		}
	}
	for _, live := range req.LiveLeaders {
		r.Live = append(r.Live, Broker{ID: live.BrokerID, Host: live.Host, Port: live.Port})
	}
	return r, nil
}

// EncodeLeaderAndISRAnswer makes the response.
func EncodeLeaderAndISRAnswer(a LeaderAndISRAnswer) *kmsg.LeaderAndISRResponse {
	resp := kmsg.NewPtrLeaderAndISRResponse()
	resp.Version, resp.ErrorCode = leaderAndISRVersion, int16(a.ErrorCode)
	for i := range a.Partitions {
		r := &a.Partitions[i]
		if i == 0 || r.TopicID != a.Partitions[i-1].TopicID {
			topic := kmsg.NewLeaderAndISRResponseTopic()
			topic.TopicID = r.TopicID
			resp.Topics = append(resp.Topics, topic)
		}
		p := kmsg.NewLeaderAndISRResponseTopicPartition()
		p.Partition, p.ErrorCode = r.Index, int16(r.ErrorCode)
		topic := &resp.Topics[len(resp.Topics)-1]
		topic.Partitions = append(topic.Partitions, p)
	}
	return resp
}

// DecodeLeaderAndISRAnswer reads the response.
func DecodeLeaderAndISRAnswer(resp *kmsg.LeaderAndISRResponse) (LeaderAndISRAnswer, error) {
	a := LeaderAndISRAnswer{ErrorCode: wire.ErrorCode(resp.ErrorCode)}
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for _, p := range topic.Partitions {
			a.Partitions = append(a.Partitions, LeaderAndISRResult{topic.TopicID, p.Partition, wire.ErrorCode(p.ErrorCode)})
		}
	}
	return a, nil
}
