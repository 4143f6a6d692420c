// Package replica keeps the partitions that this broker holds: it finds, opens
// and deletes their logs, appends as leader, reads up to the high watermark, and
// runs what happens by the clock (retention, flush, checkpoints). It is Kafka's
// ReplicaManager, Partition and LogManager.
//
// A Partition is a log and a replication.Machine: the partition tells the machine
// what happened and does what it wants (machine.go), so that high watermark,
// acknowledgements, in-sync set and truncation are the strategy's alone. The path of
// a produce or a fetch takes no lock that is shared between partitions.
//
// The package decides nothing about leadership: Apply, Stop and Fence tell it. It knows
// no protocol codes; its errors are listed below and mapped by broker/api.
package replica

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/engines"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// Errors that callers tell apart. Errors of package commitlog and package record
// pass through.
var (
	// ErrNotLeader: this broker does not lead the partition.
	ErrNotLeader = errors.New("not the leader of the partition")
	// ErrUnknownPartition: this broker holds no such partition.
	ErrUnknownPartition = errors.New("unknown partition")
	// ErrFencedEpoch: the caller knows an older leader epoch.
	ErrFencedEpoch = errors.New("leader epoch is old")
	// ErrUnknownEpoch: the caller knows a newer leader epoch.
	ErrUnknownEpoch = errors.New("leader epoch is not known yet")
	// ErrNotEnoughReplicas: the in-sync set is smaller than min.insync.replicas.
	ErrNotEnoughReplicas = errors.New("fewer in-sync replicas than min.insync.replicas")
	// ErrNotEnoughReplicasAfterAppend: it became so before the batch was
	// acknowledged, which stays in the log.
	ErrNotEnoughReplicasAfterAppend = errors.New("appended, and fewer in-sync replicas than min.insync.replicas since")
	// ErrOffsetNotAvailable: the high watermark of a new leader is not known yet.
	ErrOffsetNotAvailable = errors.New("the new leader's high watermark is not known yet")
	// ErrStaleBrokerEpoch: an earlier life of the broker asks.
	ErrStaleBrokerEpoch = errors.New("broker epoch is old")
	// ErrUnknownReplica: a fetch of a broker that is not assigned.
	ErrUnknownReplica = errors.New("the broker is no replica of the partition")
	// ErrStorage: the disk let the log down; a log directory that failed is
	// offline for good.
	ErrStorage = errors.New("storage error")
)

// TopicConfig is what a topic's configuration means for its replicas.
type TopicConfig struct {
	// AppendEngine and ReadEngine name engines of the catalog.
	AppendEngine, ReadEngine string
	// Log configures each log; Append and Read are filled in from the names.
	Log commitlog.Options
	// Flush says when records count as written.
	Flush FlushPolicy
	// MinInsyncReplicas is how many in-sync replicas acks=all needs.
	MinInsyncReplicas int32
	// Strategy names the replication strategy in Options.Strategies; "" is isr. A
	// partition keeps the one that it was first applied with.
	Strategy string
	// UncleanElection is unclean.leader.election.enable.
	UncleanElection bool
	// LeaderThrottled and FollowerThrottled say of which replicas the leaders' sending
	// and the followers' fetching is bound by Options.ThrottleRates; nil is none.
	LeaderThrottled, FollowerThrottled func(partition, broker int32) bool
}

// FlushPolicy says when records count as written: for acks=1, for acks=all, for
// the high watermark and for what a follower reports.
type FlushPolicy int8

const (
	// FlushOS counts what is appended.
	FlushOS FlushPolicy = iota
	// FlushBatch counts a batch after a sync of its own, one for each batch of a
	// partition, in order.
	FlushBatch
	// FlushGroup counts what a sync has covered; all that was appended before it
	// began shares it. A device has one flusher for it (commitlog.Turns).
	FlushGroup
)

// SyncedAcks says that only synced records count. Log.FlushMessages is then best
// out of reach, as appends ask for syncs themselves.
func (c *TopicConfig) SyncedAcks() bool { return c.Flush != FlushOS }

// NewTopicConfig returns Kafka's defaults, without engines.
func NewTopicConfig() TopicConfig {
	return TopicConfig{Log: commitlog.DefaultOptions(), MinInsyncReplicas: 1}
}

// Options configure a Manager.
type Options struct {
	BrokerID  int32
	ClusterID string
	FS        vfs.FS
	// Dirs are the log directories; at least one.
	Dirs    []string
	Engines engines.Catalog
	// Config returns a topic's configuration; it must not call the Manager.
	Config func(topic string) TopicConfig
	Clock  clock.Clock
	Logger *slog.Logger
	// Failed, if not nil, is told when the last log directory has gone offline:
	// nothing is served any more. It must not block, and not call the Manager.
	Failed func(error)
	// Offline, if not nil, is told of every log directory, and every replica by itself,
	// that goes offline, under the same conditions.
	Offline func()
	// RecoveryThreads bounds how many logs of a directory are opened at a time;
	// 0 means one per CPU for all directories together.
	RecoveryThreads int
	// AckCell, where it is set, returns the cell that holds a partition's
	// acknowledged end; logDir is the directory of its log.
	AckCell func(logDir string) (*atomic.Uint64, error)
	// The intervals of the schedule; 0 switches a task off.
	RetentionCheckInterval          time.Duration
	RecoveryCheckpointInterval      time.Duration
	LogStartCheckpointInterval      time.Duration
	HighWatermarkCheckpointInterval time.Duration
	ProducerExpiryCheckInterval     time.Duration
	// Cleaner configures the compaction of logs.
	Cleaner CleanerOptions

	// Strategies is what topics choose a replication strategy from; an empty catalog
	// stands for isr alone.
	Strategies replication.Catalog
	// BrokerEpoch returns the broker epoch of the present registration,
	// replication.NoBrokerEpoch while there is none; nil is that always. It is asked
	// under locks and must not block.
	BrokerEpoch func() int64
	// Lease reports whether this broker's session cannot have expired yet; without
	// it nothing is appended or acknowledged as leader. It is asked for every
	// acknowledgement and must not block; nil holds always.
	Lease func() bool
	// LagTimeMax is replica.lag.time.max.ms; 0 is Kafka's default.
	LagTimeMax time.Duration
	// Truncation is replica.truncation.
	Truncation replication.Truncation
	// ELR is eligible.leader.replicas.
	ELR bool
	// ISR writes in-sync sets; nil for a broker that is its partitions' only replica.
	ISR ISR
	// Leaders reaches the leaders of what this broker follows, as Fetch says; nil
	// likewise.
	Leaders Leaders
	Fetch   FetchOptions
	// Trace takes the events of partitions; nil is off.
	Trace *trace.Tracer
	// ThrottleRates returns the present rates of throttled replicas; nil is no bound.
	// It is asked often and must not block.
	ThrottleRates func() Rates
}

// State is what the controller decided about one partition.
type State struct {
	Topic          string
	TopicID        [16]byte
	Index          int32
	Leader         int32
	LeaderEpoch    int32
	PartitionEpoch int32
	// ControllerEpoch is the controller's that decided; a lower one than was
	// obeyed before is not.
	ControllerEpoch int32
	// Replicas are the assigned ones, preferred first; Adding and Removing are the
	// parts of them that a reassignment brings and takes.
	Replicas, Adding, Removing []int32
	// ISR is a subset of Replicas, ELR (KIP-966) another.
	ISR, ELR []replication.Member
	// IsNew: the partition was just created.
	IsNew bool
	// Recovering: the leader was elected uncleanly.
	Recovering bool
}

// Members are brokers as members of which nothing else is known.
func Members(brokers ...int32) []replication.Member {
	out := make([]replication.Member, len(brokers))
	for i, b := range brokers {
		out[i] = replication.Member{Broker: b, BrokerEpoch: replication.NoBrokerEpoch}
	}
	return out
}

// ID names a partition.
type ID = checkpoint.TopicPartition
