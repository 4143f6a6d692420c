// Package controller decides who leads each partition and writes it down. One
// broker at a time is the controller: it holds /controller, and every write it
// makes is conditional on the epoch it was elected with, so a deposed controller
// cannot write (Kafka's KafkaController, KIP-497 and before).
//
// What it knows it reads from ZooKeeper, on taking office and after each
// notification, and tells the broker through a Sink. It creates, grows and
// deletes topics, and it passes configuration changes on. It does not reassign
// replicas.
package controller

import (
	"context"
	"errors"
	"log/slog"

	"tidemark/coordinator/znode"
	"tidemark/internal/clock"
)

// TopicPartition names one partition.
type TopicPartition = znode.TopicPartition

// PartitionState is what a broker needs to know to lead, follow or describe a
// partition: what LeaderAndIsr and UpdateMetadata carry in Kafka.
type PartitionState struct {
	TopicPartition
	TopicID         znode.TopicID
	Leader          int32
	LeaderEpoch     int32
	ISR             []int32
	Replicas        []int32
	PartitionEpoch  int32
	ControllerEpoch int32
	// IsNew tells that the partition was just created, so that a missing log is
	// no sign of a lost disk.
	IsNew bool
}

// Sink is told what to do. Calls come from the controller's goroutine, one at a
// time, and must not call back into the Controller. The slices and maps are the
// receiver's to keep.
type Sink interface {
	// ApplyPartitions brings the named partitions to the given state; it is
	// called with all partitions after an election and may repeat what the
	// receiver knows: epochs tell new from old.
	ApplyPartitions([]PartitionState) error
	// StopPartitions stops serving the partitions and, if remove is set,
	// deletes their logs.
	StopPartitions(partitions []TopicPartition, remove bool) error
	// ConfigChanged passes on the whole dynamic configuration of one entity.
	ConfigChanged(entity znode.EntityType, name string, config map[string]string)
	// BrokersChanged passes on the live brokers, in order of id.
	BrokersChanged([]znode.Broker)
}

// Options configure a Controller.
type Options struct {
	Client   *znode.Client
	BrokerID int32
	Sink     Sink
	Clock    clock.Clock
	Logger   *slog.Logger
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

// TopicInfo describes a topic that was created.
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

// Controller runs one broker's part in controlling the cluster: it stands for
// election, and acts while elected. Its methods are safe for concurrent use.
type Controller struct{ o Options }

// New returns a Controller that Start brings to life.
func New(o Options) *Controller { return &Controller{o: o} }

// Start stands for election and begins to watch.
func (c *Controller) Start(ctx context.Context) error { return nil }

// Close resigns, and returns once nothing calls the Sink any more.
func (c *Controller) Close() error { return nil }

// IsController reports whether this broker holds the office.
func (c *Controller) IsController() bool { return false }

// CreateTopic creates a topic, or only checks that it could.
func (c *Controller) CreateTopic(ctx context.Context, r TopicRequest) (TopicInfo, error) {
	return TopicInfo{}, ErrNotController
}

// DeleteTopic deletes the topic of that name and returns once it is gone.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error { return ErrNotController }

// DeleteTopicID deletes the topic with that id.
func (c *Controller) DeleteTopicID(ctx context.Context, id znode.TopicID) (name string, err error) {
	return "", ErrNotController
}

// CreatePartitions grows a topic.
func (c *Controller) CreatePartitions(ctx context.Context, r PartitionsRequest) error {
	return ErrNotController
}

// AlterConfig replaces the dynamic configuration of one entity by what change
// makes of it. change may be called more than once.
func (c *Controller) AlterConfig(ctx context.Context, entity znode.EntityType, name string, change func(config map[string]string) error) error {
	return ErrNotController
}

// ValidateTopicName applies Kafka's rule (Topic.java): 1 to 249 characters of
// a–z, A–Z, 0–9, '.', '_' and '-', neither "." nor "..". The error wraps
// ErrInvalidTopic.
func ValidateTopicName(name string) error { return nil }
