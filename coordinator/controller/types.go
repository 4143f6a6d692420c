package controller

import (
	"errors"

	"tidemark/coordinator/znode"
)

// TopicPartition names one partition.
type TopicPartition = znode.TopicPartition

// Sink is told of configuration, in office or not. Calls come one at a time, and
// must not call back into the Controller. The maps are the receiver's to keep.
type Sink interface {
	// ConfigChanged passes on the whole dynamic configuration of one entity: of
	// every entity at the start, then of those that change. A topic's comes
	// before its first LeaderAndISR where LearnTopics was called for it.
	ConfigChanged(entity znode.EntityType, name string, config map[string]string)
}

// Errors of topic operations; the API layer maps them to protocol codes.
var (
	ErrNotController            = errors.New("this broker is not the controller")
	ErrTopicExists              = errors.New("topic already exists")
	ErrUnknownTopic             = errors.New("unknown topic")
	ErrUnknownTopicID           = errors.New("unknown topic id")
	ErrInvalidTopic             = errors.New("invalid topic name")
	ErrInvalidReplicationFactor = errors.New("invalid replication factor")
	ErrInvalidPartitions        = errors.New("invalid number of partitions")
	ErrInvalidAssignment        = errors.New("invalid replica assignment")
	ErrClosed                   = errors.New("controller is closed")
)

// TopicRequest asks for a topic.
type TopicRequest struct {
	Name string
	// Partitions and ReplicationFactor count; both are ignored where
	// Assignment is given.
	Partitions        int32
	ReplicationFactor int16
	// Assignment maps partitions 0..n−1 to replicas, preferred first.
	Assignment map[int32][]int32
	// Config holds the topic's overrides, validated by the caller.
	Config map[string]string
	// ValidateOnly checks everything and creates nothing.
	ValidateOnly bool
}

// TopicInfo describes a topic that was created, or, with a zero ID, would be.
type TopicInfo struct {
	Name string
	ID   znode.TopicID
	// Partitions maps a partition to its replicas, preferred first.
	Partitions map[int32][]int32
}

// PartitionsRequest asks for more partitions.
type PartitionsRequest struct {
	Name string
	// Count is the number of partitions afterwards.
	Count int32
	// Assignment holds the replicas of the new partitions in order; nil lets
	// the controller choose.
	Assignment   [][]int32
	ValidateOnly bool
}
