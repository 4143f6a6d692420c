package config

import (
	"fmt"
	"strconv"
	"time"
)

// Groups configures consumer groups and where their offsets are kept.
type Groups struct {
	// MinSessionTimeout and MaxSessionTimeout bound what a member may ask for
	// (group.min.session.timeout.ms, group.max.session.timeout.ms).
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// InitialRebalanceDelay is group.initial.rebalance.delay.ms.
	InitialRebalanceDelay time.Duration
	// MaxSize is group.max.size.
	MaxSize int32
	// ConsumerSessionTimeout, ConsumerHeartbeatInterval and ConsumerMaxSize are
	// group.consumer.*: of groups of KIP-848, in which the broker decides on them.
	ConsumerSessionTimeout, ConsumerHeartbeatInterval time.Duration
	ConsumerMaxSize                                   int32
	// TimeoutRule is TimeoutRuleRebalance or TimeoutRuleSession.
	TimeoutRule string
	// Retention is offsets.retention.minutes, RetentionCheckInterval
	// offsets.retention.check.interval.ms.
	Retention, RetentionCheckInterval time.Duration
	// MetadataBytes is offset.metadata.max.bytes.
	MetadataBytes int32
	// CommitTimeout is offsets.commit.timeout.ms.
	CommitTimeout time.Duration
	// LoadBytes is offsets.load.buffer.size.
	LoadBytes int32
	// Partitions, ReplicationFactor and SegmentBytes are offsets.topic.*.
	Partitions, ReplicationFactor, SegmentBytes int32
	// Storage is OffsetsInKafka or OffsetsInZooKeeper.
	Storage string
}

// The values of offsets.storage.
const (
	OffsetsInKafka     = "kafka"
	OffsetsInZooKeeper = "zookeeper"
)

// The values of group.rebalance.timeout.rule.
const (
	TimeoutRuleRebalance = "rebalance"
	TimeoutRuleSession   = "session"
)

var minutes = format[time.Duration]{Int, parseMinutes, func(v time.Duration) string { return strconv.FormatInt(int64(v/time.Minute), 10) }}

func parseMinutes(s string) (time.Duration, error) {
	v, err := parseInt(s)
	return time.Duration(v) * time.Minute, err
}

// groupDefs are the names of the group coordinator.
var groupDefs = []Def{
	broker("group.min.session.timeout.ms", func(b *Broker) *time.Duration { return &b.Groups.MinSessionTimeout }, millis, "6000",
		"Shortest session that a member of a group may ask for; a session that is silent for its length is over.", lasting(0)),
	broker("group.max.session.timeout.ms", func(b *Broker) *time.Duration { return &b.Groups.MaxSessionTimeout }, millis, "1800000",
		"Longest session that a member of a group may ask for.", lasting(0)),
	broker("group.initial.rebalance.delay.ms", func(b *Broker) *time.Duration { return &b.Groups.InitialRebalanceDelay }, millis, "3000",
		"How long the first member of an empty group waits for others, so that they share the first assignment; each one that comes has the group wait that long again, up to the rebalance timeout.", lasting(0)),
	broker("group.max.size", func(b *Broker) *int32 { return &b.Groups.MaxSize }, integer, fmt.Sprint(noLimit),
		"Members that a group may have.", atLeast[int32](1)),
	broker("group.consumer.session.timeout.ms", func(b *Broker) *time.Duration { return &b.Groups.ConsumerSessionTimeout }, millis, "45000",
		"Session of members that speak the new protocol (group.protocol=consumer, KIP-848).", lasting(time.Millisecond)),
	broker("group.consumer.heartbeat.interval.ms", func(b *Broker) *time.Duration { return &b.Groups.ConsumerHeartbeatInterval }, millis, "5000",
		"How often such members are told to heartbeat; by it they learn of new assignments.", lasting(time.Millisecond)),
	broker("group.consumer.max.size", func(b *Broker) *int32 { return &b.Groups.ConsumerMaxSize }, integer, fmt.Sprint(noLimit),
		"Members that a group of the new protocol may have.", atLeast[int32](1)),
	broker("offsets.retention.minutes", func(b *Broker) *time.Duration { return &b.Groups.Retention }, minutes, "10080",
		"How long committed offsets are kept once nobody uses them: counted from when their group lost its last member, or from the commit where there are no members or none reads the topic.",
		atLeastOne("minute", time.Minute)),
	broker("offsets.retention.check.interval.ms", func(b *Broker) *time.Duration { return &b.Groups.RetentionCheckInterval }, millis, "600000",
		"How often offsets past their retention are looked for.", lasting(time.Millisecond)),
	broker("offset.metadata.max.bytes", func(b *Broker) *int32 { return &b.Groups.MetadataBytes }, integer, "4096",
		"Longest text that a client may keep beside a committed offset.", atLeast[int32](0)),
	broker("offsets.commit.timeout.ms", func(b *Broker) *time.Duration { return &b.Groups.CommitTimeout }, millis, "5000",
		"How long what a coordinator writes may take until every in-sync replica has it.", lasting(time.Millisecond)),
	broker("offsets.load.buffer.size", func(b *Broker) *int32 { return &b.Groups.LoadBytes }, integer, "5242880",
		"How much of a partition of __consumer_offsets is read at a time when its groups are loaded.", atLeast[int32](1)),
	broker("offsets.topic.num.partitions", func(b *Broker) *int32 { return &b.Groups.Partitions }, integer, "50",
		"Partitions of __consumer_offsets, counted when it is created. Not to change later: a group belongs to a partition by its id's hash.", atLeast[int32](1)),
	broker("offsets.topic.replication.factor", func(b *Broker) *int32 { return &b.Groups.ReplicationFactor }, integer, "3",
		"Replication factor of __consumer_offsets; fewer where fewer brokers live when it is created.", atLeast[int32](1)),
	broker("offsets.topic.segment.bytes", func(b *Broker) *int32 { return &b.Groups.SegmentBytes }, integer, "104857600",
		"Segment size of __consumer_offsets: small keeps compaction and loading quick.", atLeast[int32](1)),
}

// check validates what one row alone cannot.
func (g *Groups) check() error {
	if g.MinSessionTimeout > g.MaxSessionTimeout {
		return fmt.Errorf("group.min.session.timeout.ms: %d is more than group.max.session.timeout.ms %d",
			g.MinSessionTimeout.Milliseconds(), g.MaxSessionTimeout.Milliseconds())
	}
	if g.ConsumerHeartbeatInterval >= g.ConsumerSessionTimeout {
		return fmt.Errorf("group.consumer.heartbeat.interval.ms: %d is not less than group.consumer.session.timeout.ms %d",
			g.ConsumerHeartbeatInterval.Milliseconds(), g.ConsumerSessionTimeout.Milliseconds())
	}
	return nil
}
