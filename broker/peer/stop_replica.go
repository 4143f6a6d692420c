package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// StopReplica is the controller's word to stop replicas, and to delete them.
// Partitions of a topic stand together.
type StopReplica struct {
	Controller, ControllerEpoch int32
	// BrokerEpoch is the registration of the broker it is meant for.
	BrokerEpoch int64
	Partitions  []StopPartition
}

// StopPartition is one replica to stop.
type StopPartition struct {
	Topic string
	// TopicID tells the topic from a later one of its name; zero if unknown.
	TopicID [16]byte
	Index   int32
	// LeaderEpoch is −2 for a topic that is deleted; no other is newer (Kafka's
	// LeaderAndIsr.EpochDuringDelete).
	LeaderEpoch int32
	// Delete says to delete the log too.
	Delete bool
}

// StopReplicaAnswer has an error for the whole, or one for each partition.
type StopReplicaAnswer struct {
	ErrorCode  wire.ErrorCode
	Partitions []PartitionResult
}

// PartitionResult is what became of one partition.
type PartitionResult struct {
	Topic     string
	Index     int32
	ErrorCode wire.ErrorCode
}

const stopReplicaVersion = 4

// EncodeStopReplica makes the request.
func EncodeStopReplica(r StopReplica) *kmsg.StopReplicaRequest {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version = stopReplicaVersion
	req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = r.Controller, r.ControllerEpoch, r.BrokerEpoch
	for i, p := range r.Partitions {
		if i == 0 || p.Topic != r.Partitions[i-1].Topic || p.TopicID != r.Partitions[i-1].TopicID {
			topic := kmsg.NewStopReplicaRequestTopic()
			topic.Topic = p.Topic
			setID(&topic.UnknownTags, tagTopicID, p.TopicID)
			req.Topics = append(req.Topics, topic)
		}
		state := kmsg.NewStopReplicaRequestTopicPartitionState()
		state.Partition, state.LeaderEpoch, state.Delete = p.Index, p.LeaderEpoch, p.Delete
		topic := &req.Topics[len(req.Topics)-1]
		topic.PartitionStates = append(topic.PartitionStates, state)
	}
	return req
}

// DecodeStopReplica reads the request.
func DecodeStopReplica(req *kmsg.StopReplicaRequest) (StopReplica, error) {
	r := StopReplica{Controller: req.ControllerID, ControllerEpoch: req.ControllerEpoch, BrokerEpoch: req.BrokerEpoch}
	for i := range req.Topics {
		topic := &req.Topics[i]
		id, err := getID(&topic.UnknownTags, tagTopicID)
		if err != nil {
			return StopReplica{}, err
		}
		for _, p := range topic.PartitionStates {
			r.Partitions = append(r.Partitions, StopPartition{
				Topic: topic.Topic, TopicID: id, Index: p.Partition, LeaderEpoch: p.LeaderEpoch, Delete: p.Delete})
		}
	}
	return r, nil
}

// EncodeStopReplicaAnswer makes the response.
func EncodeStopReplicaAnswer(a StopReplicaAnswer) *kmsg.StopReplicaResponse {
	resp := kmsg.NewPtrStopReplicaResponse()
	resp.Version, resp.ErrorCode = stopReplicaVersion, int16(a.ErrorCode)
	for _, r := range a.Partitions {
		p := kmsg.NewStopReplicaResponsePartition()
		p.Topic, p.Partition, p.ErrorCode = r.Topic, r.Index, int16(r.ErrorCode)
		resp.Partitions = append(resp.Partitions, p)
	}
	return resp
}

// DecodeStopReplicaAnswer reads the response.
func DecodeStopReplicaAnswer(resp *kmsg.StopReplicaResponse) (StopReplicaAnswer, error) {
	a := StopReplicaAnswer{ErrorCode: wire.ErrorCode(resp.ErrorCode)}
	for _, p := range resp.Partitions {
		a.Partitions = append(a.Partitions, PartitionResult{p.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)})
	}
	return a, nil
}
