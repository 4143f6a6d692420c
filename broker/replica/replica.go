// Package replica keeps the partitions that this broker holds: it finds, opens
// and deletes their logs, appends as leader, reads up to the high watermark, and
// runs what happens by the clock (retention, flush, checkpoints). It is Kafka's
// ReplicaManager, Partition and LogManager.
//
// A Partition holds its log, leadership and high watermark under one lock; how
// far the high watermark may go is one function, highWatermark in commit.go. The
// path of a produce or a fetch takes no lock that is shared between partitions.
//
// The package decides nothing about leadership: Apply and Stop tell it. It knows
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
	"tidemark/internal/vfs"
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
}

// State is what the controller decided about one partition.
type State struct {
	Topic          string
	TopicID        [16]byte
	Index          int32
	Leader         int32
	LeaderEpoch    int32
	PartitionEpoch int32
	Replicas       []int32
	ISR            []int32 // a subset of Replicas
}

// ID names a partition.
type ID = checkpoint.TopicPartition
