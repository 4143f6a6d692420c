// Package config holds every configuration name the broker honours, once: its
// parser, default, valid values, documentation and topic synonym are one row of
// a typed table (see defs_broker.go, defs_topic.go, defs_own.go). Parsing,
// DescribeConfigs and the reference page all read that table.
//
// Names are Kafka's (KafkaConfig, TopicConfig); the few of our own are marked.
// Names Kafka knows and this broker does not act upon are listed in known.go: a
// file that carries them is accepted with a warning. Any other name is an error
// that says which right name is nearest.
//
// The package reads files and text only; it opens nothing, and it does not know
// which storage engines exist.
package config

import (
	"fmt"
	"sort"
	"time"
)

// Broker is one effective configuration. It is immutable after Parse; With
// returns a changed copy.
type Broker struct {
	// BrokerID is broker.id (or node.id).
	BrokerID int32
	// Rack is broker.rack; empty when unset.
	Rack string
	// Listener is where clients connect (listeners).
	Listener Listener
	// Advertised is what clients are told to connect to; its zero value means
	// the address the listener really got.
	Advertised Listener
	// AllowOpenListener permits a Listener beyond loopback without
	// authentication (listeners.allow.open).
	AllowOpenListener bool
	// MetricsListener is the host:port of metrics, pprof and health; empty
	// switches them off (metrics.listener).
	MetricsListener string

	// ZookeeperConnect lists host:port servers; empty starts the embedded one.
	ZookeeperConnect []string
	// ZookeeperChroot is the path behind the server list; "" or "/kafka".
	ZookeeperChroot string
	// ZookeeperSessionTimeout is zookeeper.session.timeout.ms.
	ZookeeperSessionTimeout time.Duration
	// ZookeeperConnectionTimeout is zookeeper.connection.timeout.ms.
	ZookeeperConnectionTimeout time.Duration

	// LogDirs are the data directories (log.dirs, log.dir), at least one.
	LogDirs []string
	// RecoveryThreads is num.recovery.threads.per.data.dir; 0 means one per CPU.
	RecoveryThreads int32
	// NumPartitions is num.partitions: of topics created without a count.
	NumPartitions int32
	// DefaultReplicationFactor is default.replication.factor.
	DefaultReplicationFactor int32
	// AutoCreateTopics is auto.create.topics.enable.
	AutoCreateTopics bool
	// DeleteTopics is delete.topic.enable.
	DeleteTopics bool

	// RetentionCheckInterval is log.retention.check.interval.ms.
	RetentionCheckInterval time.Duration
	// RecoveryCheckpointInterval is log.flush.offset.checkpoint.interval.ms.
	RecoveryCheckpointInterval time.Duration
	// LogStartCheckpointInterval is log.flush.start.offset.checkpoint.interval.ms.
	LogStartCheckpointInterval time.Duration
	// HighWatermarkCheckpointInterval is
	// replica.high.watermark.checkpoint.interval.ms.
	HighWatermarkCheckpointInterval time.Duration
	// ProducerIDExpiration is producer.id.expiration.ms.
	ProducerIDExpiration time.Duration
	// ProducerIDExpirationCheckInterval is producer.id.expiration.check.interval.ms.
	ProducerIDExpirationCheckInterval time.Duration
	// DecompressedBytes bounds what one batch may decompress to
	// (max.decompressed.message.bytes).
	DecompressedBytes int64
	// Cleaner is log.cleaner.*.
	Cleaner Cleaner
	// Groups is group.* and offsets.*.
	Groups Groups
	// Transactions is transaction.* and transactional.id.*.
	Transactions Transactions
	// Replication is how this broker's replicas follow, Leadership who leads.
	Replication Replication
	Leadership  Leadership

	// SocketRequestMaxBytes is socket.request.max.bytes: the greatest frame.
	SocketRequestMaxBytes int32
	// SocketSendBufferBytes and SocketReceiveBufferBytes size the kernel's
	// buffers; -1 leaves them to the kernel.
	SocketSendBufferBytes, SocketReceiveBufferBytes int32
	// TraceDir is trace.dir; empty for no trace.
	TraceDir string
	// BindAddress is socket.bind.address; empty leaves it to the system.
	BindAddress string
	// LoopbackCongestion is the congestion control of connections within this
	// machine; empty leaves them the system's.
	LoopbackCongestion string
	// QueuedRequestBytes is queued.max.request.bytes: the in-flight budget.
	QueuedRequestBytes int64
	// QueuedRequestsPerConnection bounds one connection's unanswered requests
	// (queued.max.requests.per.connection).
	QueuedRequestsPerConnection int32
	// MaxConnections is max.connections.
	MaxConnections int32
	// MaxConnectionsPerIP is max.connections.per.ip.
	MaxConnectionsPerIP int32
	// MaxConnectionRate is max.connection.creation.rate, per second.
	MaxConnectionRate int32
	// ConnectionsMaxIdle is connections.max.idle.ms; 0 means no limit.
	ConnectionsMaxIdle time.Duration
	// FrameTimeout is socket.frame.timeout.ms: the patience with a request that
	// has begun to arrive.
	FrameTimeout time.Duration
	// WriteTimeout is socket.write.timeout.ms: the patience with a peer that
	// does not read its responses.
	WriteTimeout time.Duration
	// FetchMaxBytes is fetch.max.bytes: the broker's own bound of a response.
	FetchMaxBytes int32

	// TopicDefaults is what a topic gets without overrides.
	TopicDefaults Topic

	origins  map[string]Origin // by canonical name, explicit settings only
	warnings []string
}

// Topic is the effective configuration of one topic. It is a plain value.
type Topic struct {
	// AppendEngine and ReadEngine name engines of the catalog.
	AppendEngine, ReadEngine string
	// Flush is FlushOS, FlushBatch or FlushGroup.
	Flush string
	// Cache is CacheKeep or CacheDropBehind.
	Cache string
	// Validation is ValidateRecords or ValidateHeader.
	Validation string
	// InPlace is storage.append.inplace, Prefault storage.prefault.
	InPlace, Prefault bool

	// CleanupPolicy holds "delete", "compact" or both.
	CleanupPolicy []string
	// Compaction is how far back compact goes.
	Compaction Compaction
	// CompressionType is "producer", "uncompressed" or a codec's name.
	CompressionType string
	// GzipLevel, LZ4Level and ZstdLevel are the broker's levels per codec.
	GzipLevel, LZ4Level, ZstdLevel int32
	// MaxMessageBytes bounds one batch as it arrives.
	MaxMessageBytes int32
	// MinInsyncReplicas is needed by acks=all.
	MinInsyncReplicas int32
	// Strategy names a strategy of the catalog of replication; it is fixed when
	// the topic is created.
	Strategy string
	// UncleanElection is unclean.leader.election.enable.
	UncleanElection bool
	// LeaderThrottled and FollowerThrottled are the replicas whose replication
	// Replication.LeaderThrottle and FollowerThrottle bound.
	LeaderThrottled, FollowerThrottled ThrottledReplicas

	// SegmentBytes, SegmentMs and SegmentJitterMs say when a segment rolls.
	SegmentBytes               int32
	SegmentMs, SegmentJitterMs int64
	// SegmentIndexBytes bounds one index file.
	SegmentIndexBytes int32
	// IndexIntervalBytes is the distance between two index entries.
	IndexIntervalBytes int32
	// RetentionBytes and RetentionMs bound the log; -1 means no limit.
	RetentionBytes, RetentionMs int64
	// FileDeleteDelayMs is how long a deleted segment's file stays.
	FileDeleteDelayMs int64
	// FlushMessages and FlushMs force a flush; 1<<63-1 means never.
	FlushMessages, FlushMs int64

	// TimestampType is "CreateTime" or "LogAppendTime".
	TimestampType string
	// TimestampBeforeMaxMs and TimestampAfterMaxMs bound how far a record's
	// timestamp may lie behind and ahead of the broker's clock.
	TimestampBeforeMaxMs, TimestampAfterMaxMs int64
}

// Values of Topic.Flush, Topic.Cache and Topic.Validation.
const (
	FlushOS         = "os"
	FlushBatch      = "batch"
	FlushGroup      = "group"
	CacheKeep       = "keep"
	CacheDropBehind = "dropbehind"
	ValidateRecords = "records"
	ValidateHeader  = "header"
)

// Compacts reports whether cleanup.policy names compact.
func (t Topic) Compacts() bool { return has(t.CleanupPolicy, "compact") }

// Deletes reports whether cleanup.policy names delete.
func (t Topic) Deletes() bool { return has(t.CleanupPolicy, "delete") }

// LogAppendTime reports whether the broker stamps records itself.
func (t Topic) LogAppendTime() bool { return t.TimestampType == "LogAppendTime" }

func has(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// Default returns the configuration of a broker started with nothing.
func Default() *Broker {
	b, err := Parse(nil)
	if err != nil {
		panic("config: the defaults do not validate: " + err.Error())
	}
	return b
}

// Topic returns the broker's topic defaults with a topic's own settings on top.
// The error names each setting that is unknown or out of range.
func (b *Broker) Topic(overrides map[string]string) (Topic, error) {
	t := b.TopicDefaults
	t.CleanupPolicy = append([]string(nil), t.CleanupPolicy...)
	var errs errorList
	for _, name := range sortedKeys(overrides) {
		errs.add(t.set(name, overrides[name]))
	}
	if errs.empty() {
		errs.add(t.check())
	}
	return t, errs.err()
}

// CheckAltered reports an error where a topic's overrides, changed from one to
// the other, change a setting that is fixed when the topic is created. An
// override that says what was in force is no change.
func (b *Broker) CheckAltered(from, to map[string]string) error {
	before, err := b.Topic(from)
	if err != nil {
		return err
	}
	after, err := b.Topic(to)
	if err != nil {
		return err
	}
	var errs errorList
	for _, d := range TopicDefs() {
		if was, is := d.TopicValue(&before), d.TopicValue(&after); d.Fixed && was != is {
			errs.add(fmt.Errorf("%s: a topic keeps the one that it was created with, which is %s", d.TopicName, was))
		}
	}
	return errs.err()
}

// With returns a copy in which the given dynamic broker settings replace the
// static ones (Kafka's DynamicBrokerConfig). A name that is not dynamic is an
// error.
func (b *Broker) With(dynamic map[string]string) (*Broker, error) {
	next := *b
	next.origins = make(map[string]Origin, len(b.origins)+len(dynamic))
	for k, v := range b.origins {
		next.origins[k] = v
	}
	var errs errorList
	for _, name := range sortedKeys(dynamic) {
		errs.add(next.setDynamic(name, dynamic[name]))
	}
	if errs.empty() {
		errs.add(next.check())
	}
	return &next, errs.err()
}

// Warnings lists, for people, the settings that were accepted and do nothing.
func (b *Broker) Warnings() []string { return append([]string(nil), b.warnings...) }

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
