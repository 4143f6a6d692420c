// Package groups runs this broker's group coordinator: it hosts a group.Groups on
// each partition of __consumer_offsets that the broker leads, says which partition
// is a group's, and how the topic is to be created. It is the part of Kafka's
// GroupCoordinatorService that is neither pure nor protocol.
//
// It decides nothing about groups, which package group does, and nothing about
// leadership, of which it is told.
package groups

import (
	"log/slog"
	"math"
	"strconv"

	"tidemark/broker/api/codec"
	"tidemark/broker/config"
	"tidemark/broker/metadata"
	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/znode"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
)

// Topic holds groups and offsets.
const Topic = "__consumer_offsets"

// Options make a Coordinator. All fields but Offsets are required.
type Options struct {
	BrokerID int32
	// Trace takes what happens to groups; nil is off.
	Trace *trace.Tracer
	// Config is the broker's own configuration.
	Config *config.Broker
	// Replicas finds the partitions, Metadata counts them.
	Replicas *replica.Manager
	Metadata *metadata.Cache
	// Offsets is needed with offsets.storage=zookeeper.
	Offsets OffsetStore
	Clock   clock.Clock
	Logger  *slog.Logger
}

// Operation is one request put to the groups of a partition.
type Operation = shard.Operation[*group.Groups, group.Record]

// Coordinator coordinates the groups whose partitions this broker leads. It is safe
// for concurrent use.
type Coordinator struct {
	o       Options
	watches *purgatory.Purgatory
	host    *shard.Host[*group.Groups, group.Record]
}

// maxQueued bounds the requests that wait for one partition's goroutine.
const maxQueued = 100_000

// New returns a coordinator of no partition. Close it.
func New(o Options) *Coordinator {
	settings := groupOptions(&o.Config.Groups)
	var store shard.Store[group.Record]
	if o.Config.Groups.Storage == config.OffsetsInZooKeeper {
		store = zookeeperOffsets{o.Offsets, o.BrokerID}
	}
	c := &Coordinator{o: o, watches: purgatory.New(o.Clock)}
	settings.Watch = watch(o.Trace, o.Clock)
	c.host = shard.New(shard.Options[*group.Groups, group.Record]{
		Clock: o.Clock, New: func(int32) *group.Groups { return group.New(settings) }, Codec: codec.Groups{}, Store: store,
		CommitTimeout: o.Config.Groups.CommitTimeout, MaxQueued: maxQueued, LoadBytes: int(o.Config.Groups.LoadBytes),
		Failed: func(partition int32, err error) {
			o.Logger.Error("group coordinator", "topic", Topic, "partition", partition, "error", err)
		},
	})
	return c
}

// groupOptions translates names and units.
func groupOptions(c *config.Groups) group.Options {
	o := group.NewOptions()
	o.MinSessionTimeout, o.MaxSessionTimeout = c.MinSessionTimeout, c.MaxSessionTimeout
	o.InitialRebalanceDelay, o.MaxSize = c.InitialRebalanceDelay, int(c.MaxSize)
	o.MaxMetadataBytes, o.OffsetsRetention, o.RetentionInterval = int(c.MetadataBytes), c.Retention, c.RetentionCheckInterval
	o.ConsumerSessionTimeout, o.ConsumerHeartbeatInterval, o.ConsumerMaxSize = c.ConsumerSessionTimeout, c.ConsumerHeartbeatInterval, int(c.ConsumerMaxSize)
	if c.TimeoutRule == config.TimeoutRuleSession {
		o.TimeoutRule = group.LargestSessionTimeout
	}
	if c.Storage == config.OffsetsInZooKeeper {
		o.PlainOffsets = znode.NodeName
	}
	o.Subscription = codec.Subscription
	return o
}

// TopicSettings is how the topic is created with that many brokers alive.
func (c *Coordinator) TopicSettings(brokers int) (partitions int32, replicationFactor int16, settings map[string]string) {
	g := &c.o.Config.Groups
	factor := min(int(g.ReplicationFactor), max(brokers, 1), math.MaxInt16)
	return g.Partitions, int16(factor), map[string]string{
		"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": strconv.Itoa(int(g.SegmentBytes)),
		"storage.append.engine": "buffered", "storage.flush": config.FlushOS,
	}
}

// Led takes note of who leads a partition of the topic since which leader epoch. The
// replica must know already.
func (c *Coordinator) Led(partition, leader, leaderEpoch int32) {
	p := c.o.Replicas.Partition(Topic, partition)
	if leader == c.o.BrokerID && p != nil {
		c.host.Elected(partition, leaderEpoch, p.ForCoordinator(c.watches))
		return
	}
	c.host.Resigned(partition, leaderEpoch)
}

// Stopped takes note that a partition of the topic is here no more.
func (c *Coordinator) Stopped(partition int32) { c.host.Resigned(partition, shard.AnyEpoch) }

// Partition is where a group belongs; ok is false while the topic is not there.
func (c *Coordinator) Partition(groupID string) (partition int32, ok bool) {
	t := c.o.Metadata.View().Topic(Topic)
	if t == nil || len(t.Partitions) == 0 {
		return 0, false
	}
	return shard.PartitionFor(groupID, int32(len(t.Partitions))), true
}

// Submit puts an operation to the partition of a group. done is called exactly once,
// at once where the operation is refused, and must not block. Beside the errors of
// packages group and replica there are those of package shard.
func (c *Coordinator) Submit(groupID string, operation Operation, done func(shard.Reply)) {
	partition, ok := c.Partition(groupID)
	if !ok {
		done(shard.Reply{Err: shard.ErrNotCoordinator})
		return
	}
	c.host.Submit(partition, operation, done)
}

// SubmitAll puts an operation to every partition that is coordinated here. done is
// called exactly once, with the replies in order of the partitions.
func (c *Coordinator) SubmitAll(operation Operation, done func([]shard.Reply)) {
	c.host.SubmitAll(operation, done)
}

// Close ends all coordination and waits for it; who still waits is told
// shard.ErrNotCoordinator.
func (c *Coordinator) Close() {
	c.host.Close()
	c.watches.Close()
}
