package controller

import (
	"context"
	"errors"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// Peers sends the controller's requests to brokers, the own one included. Each
// method makes one attempt, blocks until it is answered or ctx ends, and is safe
// for concurrent use. A nil error means that the broker took the request over;
// ErrStaleControllerEpoch and ErrStaleBrokerEpoch are told apart from other
// errors, which are all tried again.
type Peers interface {
	// SetBrokers says where the live brokers are, before anything is sent to a
	// new one. It does not block.
	SetBrokers([]znode.Broker)
	// LeaderAndISR makes the broker lead and follow (Kafka's LeaderAndIsr).
	LeaderAndISR(ctx context.Context, broker int32, r LeaderAndISR) (LeaderAndISRAnswer, error)
	// StopReplica makes the broker stop serving replicas, and delete them where
	// asked. The answer has one error for each partition, in order, nil where
	// the replica is stopped (or was not there).
	StopReplica(ctx context.Context, broker int32, r StopReplica) ([]error, error)
	// UpdateMetadata tells what clients may ask the broker for.
	UpdateMetadata(ctx context.Context, broker int32, r UpdateMetadata) error
	// FenceReplica has a replica promise to take nothing from leaders of epochs
	// below the asked one, and asks how far it is. A refusal is an error.
	FenceReplica(ctx context.Context, broker int32, r FenceReplica) (FenceAnswer, error)
	// Committed asks the leader whether its high watermark passed the start of
	// that leader epoch: its own epoch's records are held by enough replicas.
	// ListOffsets of the latest offset says so: OFFSET_NOT_AVAILABLE else.
	Committed(ctx context.Context, leader int32, r Committed) (bool, error)
}

// Errors of a Peers call.
var (
	// ErrStaleControllerEpoch: the broker heard from a later controller.
	ErrStaleControllerEpoch = errors.New("the broker knows a later controller epoch")
	// ErrStaleBrokerEpoch: the request was for, or came from, another life of the broker.
	ErrStaleBrokerEpoch = errors.New("the request is of another registration of the broker")
	// ErrReplicaOffline: the replica's log directory failed. The replica counts as
	// dead until its broker registers again.
	ErrReplicaOffline = errors.New("the replica's log directory is offline")
)

// Header is in every request to a broker.
type Header struct {
	Controller      int32
	ControllerEpoch int32
	// BrokerEpoch is the registration of the receiver that the request is for.
	BrokerEpoch int64
}

// PartitionState is what a broker needs to know to lead, follow or describe a
// partition: what LeaderAndIsr and UpdateMetadata carry in Kafka.
type PartitionState struct {
	TopicPartition
	TopicID znode.TopicID
	// Leader is −1 for none, −2 in UpdateMetadata for a topic that is deleted.
	Leader          int32
	LeaderEpoch     int32
	PartitionEpoch  int32
	ControllerEpoch int32
	ISR, ELR        []replication.Member
	// Replicas are all assigned brokers, preferred first; Adding and Removing
	// are subsets of it, those of a reassignment under way.
	Replicas, Adding, Removing []int32
	// IsNew tells that the partition was just created, so that a missing log is
	// no sign of a lost disk.
	IsNew bool
	// Recovering is leader_recovery_state 1 (KIP-704).
	Recovering bool
}

// InSync are the brokers of the ISR.
func (s PartitionState) InSync() []int32 { return znode.BrokersOf(s.ISR) }

// DeletedLeader is the leader of a partition whose topic is deleted
// (LeaderDuringDelete).
const DeletedLeader int32 = -2

// LeaderAndISR is Kafka's LeaderAndIsr request.
type LeaderAndISR struct {
	Header
	// Full says that Partitions is every partition that the broker has; a replica
	// that is not in it is stray.
	Full       bool
	Partitions []PartitionState
	Live       []znode.Broker
}

// LeaderAndISRAnswer has the outcome of each partition, in order.
type LeaderAndISRAnswer struct {
	Partitions []PartitionAnswer
}

// PartitionAnswer is the outcome of one partition of a LeaderAndISR. A stale
// leader epoch is none: it means that the broker knows better.
type PartitionAnswer struct {
	// Err is nil, ErrReplicaOffline, or makes the partition be told again.
	Err error
}

// StopReplica is Kafka's request of that name. It holds for the topic id: a
// replica of another topic of the same name stays.
type StopReplica struct {
	Header
	Partitions []StopPartition
}

// StopPartition is one replica to stop.
type StopPartition struct {
	TopicPartition
	TopicID znode.TopicID
	// LeaderEpoch is −2 where the topic is deleted (EpochDuringDelete), so that
	// no other epoch is above it; else that of the state without the replica.
	LeaderEpoch int32
	Delete      bool
}

// EpochDuringDelete is the leader epoch in a StopReplica of a deleted topic.
const EpochDuringDelete int32 = -2

// UpdateMetadata is Kafka's request of that name. Deletions come first in
// Partitions; one holds only for the topic id that it names.
type UpdateMetadata struct {
	Header
	Partitions []PartitionState
	Live       []znode.Broker
}

// FenceReplica is the request of that name, for one replica.
type FenceReplica struct {
	Header
	TopicPartition
	TopicID     znode.TopicID
	LeaderEpoch int32
}

// FenceAnswer says how far a fenced replica is.
type FenceAnswer struct {
	LastEpoch    int32
	LogEndOffset int64
	Dir          replication.DirID
}

// Committed is a question to a leader.
type Committed struct {
	TopicPartition
	TopicID     znode.TopicID
	LeaderEpoch int32
}
