package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// UpdateMetadata is the controller's word to all brokers about what clients are
// told: who leads, who lives. Partitions of a topic stand together.
type UpdateMetadata struct {
	Controller, ControllerEpoch int32
	// BrokerEpoch is the registration of the broker it is meant for.
	BrokerEpoch int64
	Partitions  []PartitionState
	// Live are all live brokers.
	Live []Broker
}

// UpdateMetadataAnswer is the response.
type UpdateMetadataAnswer struct{ ErrorCode wire.ErrorCode }

const (
	updateMetadataVersion = 8

	listenerName      = "PLAINTEXT"
	plaintextProtocol = 0 // Kafka's SecurityProtocol
)

// EncodeUpdateMetadata makes the request; it shares no memory with r but strings.
func EncodeUpdateMetadata(r UpdateMetadata) *kmsg.UpdateMetadataRequest {
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version = updateMetadataVersion
	req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.Controller, r.ControllerEpoch, r.BrokerEpoch
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if i == 0 || p.Topic != r.Partitions[i-1].Topic || p.TopicID != r.Partitions[i-1].TopicID {
			topic := kmsg.NewUpdateMetadataRequestTopicState()
			topic.Topic, topic.TopicID = p.Topic, p.TopicID
			req.TopicStates = append(req.TopicStates, topic)
		}
		topic := &req.TopicStates[len(req.TopicStates)-1]
		topic.PartitionStates = append(topic.PartitionStates, p.updateMetadata())
	}
	for i := range r.Live {
		req.LiveBrokers = append(req.LiveBrokers, r.Live[i].updateMetadata())
	}
	return req
}

func (s *PartitionState) updateMetadata() kmsg.UpdateMetadataRequestTopicPartition {
	p := kmsg.NewUpdateMetadataRequestTopicPartition()
	p.Partition, p.ControllerEpoch, p.Leader, p.LeaderEpoch, p.ZKVersion = s.Index, s.ControllerEpoch, s.Leader, s.LeaderEpoch, s.PartitionEpoch
	p.OfflineReplicas = s.Offline
	p.ISR = splitMembers(&p.UnknownTags, tagISR, s.ISR)
	p.Replicas = splitMembers(&p.UnknownTags, tagReplicas, s.Replicas)
	setELR(&p.UnknownTags, s.ELR)
	return p
}

func (b *Broker) updateMetadata() kmsg.UpdateMetadataRequestLiveBroker {
	live := kmsg.NewUpdateMetadataRequestLiveBroker()
	live.ID = b.ID
	endpoint := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
	endpoint.Host, endpoint.Port, endpoint.ListenerName, endpoint.SecurityProtocol = b.Host, b.Port, listenerName, plaintextProtocol
	live.Endpoints = append(live.Endpoints, endpoint)
	if b.Rack != "" {
		live.Rack = kmsg.StringPtr(b.Rack)
	}
	return live
}

// DecodeUpdateMetadata reads the request. A broker without an endpoint is
// malformed.
func DecodeUpdateMetadata(req *kmsg.UpdateMetadataRequest) (UpdateMetadata, error) {
	r := UpdateMetadata{Controller: req.ControllerID, ControllerEpoch: req.ControllerEpoch, BrokerEpoch: req.BrokerEpoch}
	for i := range req.TopicStates {
		topic := &req.TopicStates[i]
		for j := range topic.PartitionStates {
			p := &topic.PartitionStates[j]
			s := PartitionState{
				Topic: topic.Topic, TopicID: topic.TopicID, Index: p.Partition, ControllerEpoch: p.ControllerEpoch,
				Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.ZKVersion, Offline: p.OfflineReplicas,
			}
			if err := s.learnSets(&p.UnknownTags, p.ISR, p.Replicas); err != nil {
				return UpdateMetadata{}, err
			}
			r.Partitions = append(r.Partitions, s)
		}
	}
	for i := range req.LiveBrokers {
		live := &req.LiveBrokers[i]
		if len(live.Endpoints) == 0 {
			return UpdateMetadata{}, ErrMalformed
		}
		b := Broker{ID: live.ID, Host: live.Endpoints[0].Host, Port: live.Endpoints[0].Port}
		if live.Rack != nil {
			b.Rack = *live.Rack
		}
		r.Live = append(r.Live, b)
	}
	return r, nil
}

// EncodeUpdateMetadataAnswer makes the response.
func EncodeUpdateMetadataAnswer(a UpdateMetadataAnswer) *kmsg.UpdateMetadataResponse {
	resp := kmsg.NewPtrUpdateMetadataResponse()
	resp.Version, resp.ErrorCode = updateMetadataVersion, int16(a.ErrorCode)
	return resp
}

// DecodeUpdateMetadataAnswer reads the response.
func DecodeUpdateMetadataAnswer(resp *kmsg.UpdateMetadataResponse) (UpdateMetadataAnswer, error) {
	return UpdateMetadataAnswer{wire.ErrorCode(resp.ErrorCode)}, nil
}
