// Package group is the group coordinator's core: who is in a consumer group, which
// generation and assignment it has, and which offsets it committed. It follows
// Kafka's GroupCoordinator and GroupMetadata (classic protocol of KIP-62 with
// static membership, KIP-345, and members that must know their id, KIP-394).
//
// Groups is a machine for package shard. It has no clock, goroutine, I/O or
// randomness: time, tokens of requests and fresh member ids are arguments; records,
// replies and timers come back in the Outcome. What a log must hold changes only in
// Replay; who waits, and who has not been heard of, lives in memory and is lost with
// it, which clients are made for. Protocol metadata and assignments are bytes that
// are never looked into.
//
//	         member joins                all joined, or the rebalance timed out
//	Empty ────────────────► PreparingRebalance ────────────────► CompletingRebalance
//	  ▲                       ▲    ▲      │                         │        │
//	  │   timed out, no member│    │      │ none left    join, leave│        │ leader's
//	  └───────────────────────┼────┼──────┘              or silence │        │ sync
//	                          │    └────────────────────────────────┘        ▼
//	                          └───────────── join, leave or silence ────── Stable
//
// An Empty group without offsets, and a deleted one, is Dead: it is gone.
//
// The files consumer*.go, reconcile.go and assignor.go are the newer protocol
// (KIP-848), where the coordinator assigns. Not there: groups with members of both
// protocols.
package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// Outcome is what an operation wants done.
type Outcome = shard.Outcome[Record]

// State is a classic group's state.
type State int8

// The states, in Kafka's order.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

var stateNames = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

// String is the name in DescribeGroups and ListGroups.
func (s State) String() string { return stateNames[s] }

// TimeoutRule says how long a rebalance waits for members to join again.
type TimeoutRule int8

const (
	// LargestRebalanceTimeout waits for the largest rebalance timeout of the
	// members (KIP-62).
	LargestRebalanceTimeout TimeoutRule = iota
	// LargestSessionTimeout waits for the largest session timeout, as before KIP-62.
	LargestSessionTimeout
)

// NewMemberJoinTimeout is how long a member that joined a rebalance for the first
// time is kept while its join waits (Kafka's NewMemberJoinTimeoutMs): it cannot
// heartbeat before it knows its id.
const NewMemberJoinTimeout = 5 * time.Minute

// Options are the coordinator's settings; each names its Kafka config.
type Options struct {
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms
	MaxSize               int           // group.max.size
	MaxMetadataBytes      int           // offset.metadata.max.bytes
	OffsetsRetention      time.Duration // offsets.retention.minutes
	RetentionInterval     time.Duration // offsets.retention.check.interval.ms
	TimeoutRule           TimeoutRule   // group.rebalance.timeout.rule

	ConsumerSessionTimeout    time.Duration // group.consumer.session.timeout.ms
	ConsumerHeartbeatInterval time.Duration // group.consumer.heartbeat.interval.ms
	ConsumerMaxSize           int           // group.consumer.max.size

	// PlainOffsets, where given, says that nothing but the number of an offset is
	// kept (offsets.storage=zookeeper), and of which groups: no metadata, leader
	// epoch or expiry of its own, and nothing of a transaction.
	PlainOffsets func(group string) bool

	// Watch, where it is not nil, is told what changes but for what is loaded. It must
	// not block.
	Watch func(Change)

	// Subscription reads the topics out of a consumer's metadata, for the deletion
	// and expiry of offsets; ok is false where it cannot. Nil never can: then the
	// offsets of a group with consumers are all in use.
	Subscription func(metadata []byte) (topics []string, ok bool)
}

// NewOptions returns Kafka's defaults.
func NewOptions() Options {
	return Options{
		MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute,
		InitialRebalanceDelay: 3 * time.Second, MaxSize: 1<<31 - 1,
		MaxMetadataBytes: 4096, OffsetsRetention: 7 * 24 * time.Hour, RetentionInterval: 10 * time.Minute,
		ConsumerSessionTimeout: 45 * time.Second, ConsumerHeartbeatInterval: 5 * time.Second, ConsumerMaxSize: 1<<31 - 1,
	}
}
