package api

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
)

// Configs is the configuration in force: the static one, the dynamic broker
// settings and the topics' overrides. It is safe for concurrent use; mu guards
// the maps, which are never changed in place.
type Configs struct {
	static *config.Broker
	entity string // this broker's name below /config/brokers

	broker atomic.Pointer[config.Broker]

	mu             sync.Mutex
	dynamic        map[string]string // of this broker
	dynamicDefault map[string]string // of all brokers
	topics         map[string]map[string]string
}

// NewConfigs returns a Configs without dynamic settings.
func NewConfigs(static *config.Broker) *Configs {
	c := &Configs{static: static, entity: fmt.Sprint(static.BrokerID), topics: make(map[string]map[string]string)}
	c.broker.Store(static)
	return c
}

// Broker is the broker's effective configuration.
func (c *Configs) Broker() *config.Broker { return c.broker.Load() }

// Overrides returns a topic's own settings; the map is shared and read-only.
func (c *Configs) Overrides(topic string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics[topic]
}

// SetTopic replaces a topic's own settings; nil forgets them.
func (c *Configs) SetTopic(topic string, overrides map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(overrides) == 0 {
		delete(c.topics, topic)
		return
	}
	c.topics[topic] = overrides
}

// SetBroker replaces the dynamic settings of an entity below /config/brokers and
// reports whether they concern this broker. A setting that is not valid here is
// an error, and then everything stays as it was.
func (c *Configs) SetBroker(entity string, settings map[string]string) (mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, all := c.dynamic, c.dynamicDefault
	switch entity {
	case c.entity:
		own = settings
	case znode.DefaultEntity:
		all = settings
	default:
		return false, nil
	}
	merged := maps.Clone(all)
	if merged == nil {
		merged = make(map[string]string)
	}
	maps.Copy(merged, own)
	next, err := c.static.With(merged)
	if err != nil {
		return true, fmt.Errorf("dynamic configuration of brokers: %w", err)
	}
	c.dynamic, c.dynamicDefault = own, all
	c.broker.Store(next)
	return true, nil
}

// brokerLayers returns the dynamic settings of this broker and of all brokers.
func (c *Configs) brokerLayers() (own, all map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dynamic, c.dynamicDefault
}

// Topic is what a topic's configuration means for its replicas. Overrides that
// are not valid, written by somebody else into ZooKeeper, leave the defaults.
func (c *Configs) Topic(topic string) replica.TopicConfig {
	b := c.Broker()
	return replicaConfig(b, inForce(b, c.Overrides(topic)))
}

// replicaConfig translates names and units.
func replicaConfig(b *config.Broker, t config.Topic) replica.TopicConfig {
	r := replica.NewTopicConfig()
	r.AppendEngine, r.ReadEngine = t.AppendEngine, t.ReadEngine
	r.MinInsyncReplicas, r.Strategy, r.UncleanElection = t.MinInsyncReplicas, t.Strategy, t.UncleanElection
	r.LeaderThrottled, r.FollowerThrottled = t.LeaderThrottled.Has, t.FollowerThrottled.Has
	o := &r.Log
	o.SegmentBytes = int64(t.SegmentBytes)
	o.SegmentMs, o.SegmentJitterMs = t.SegmentMs, t.SegmentJitterMs
	o.IndexIntervalBytes, o.IndexMaxBytes = int64(t.IndexIntervalBytes), int64(t.SegmentIndexBytes)
	o.RetentionBytes, o.RetentionMs = t.RetentionBytes, t.RetentionMs
	if !t.Deletes() {
		o.RetentionBytes, o.RetentionMs = -1, -1
	}
	o.FileDeleteDelay = time.Duration(t.FileDeleteDelayMs) * time.Millisecond
	o.FlushMessages, o.FlushMs = t.FlushMessages, t.FlushMs
	switch {
	case t.Flush == config.FlushGroup:
		r.Flush, o.FlushMessages = replica.FlushGroup, math.MaxInt64
	case t.Flush == config.FlushBatch || t.FlushMessages == 1:
		r.Flush, o.FlushMessages = replica.FlushBatch, math.MaxInt64
	}
	if t.Cache == config.CacheDropBehind {
		o.Cache = commitlog.DropBehind
	}
	// A sync would write the zeros of the pages that are made present ahead.
	o.NoInPlace, o.NoPrefault = !t.InPlace, !t.Prefault || r.Flush != replica.FlushOS
	o.LogAppendTime = t.LogAppendTime()
	o.Compression, o.CompressionLevel = compression(t)
	o.Validation = record.Records
	if t.Validation == config.ValidateHeader {
		o.Validation = record.HeaderOnly
	}
	o.MaxMessageBytes = int(t.MaxMessageBytes)
	o.TimestampBeforeMaxMs, o.TimestampAfterMaxMs = t.TimestampBeforeMaxMs, t.TimestampAfterMaxMs
	o.Compacted = t.Compacts()
	o.Compaction = commitlog.Compaction{DeleteRetentionMs: t.Compaction.DeleteRetentionMs, MinLagMs: t.Compaction.MinLagMs,
		MaxLagMs: t.Compaction.MaxLagMs, MinDirtyRatio: t.Compaction.MinDirtyRatio}
	if o.Compacted {
		o.SegmentMs = min(o.SegmentMs, o.Compaction.MaxLagMs)
	}
	o.DecompressedLimit = b.DecompressedBytes
	o.ProducerExpiryMs = b.ProducerIDExpiration.Milliseconds()
	return r
}

// compression is the codec that batches are stored with.
func compression(t config.Topic) (record.Codec, int) {
	switch t.CompressionType {
	case "uncompressed":
		return record.None, record.DefaultLevel
	case "gzip":
		return record.Gzip, gzipLevel(t.GzipLevel)
	case "snappy":
		return record.Snappy, record.DefaultLevel
	case "lz4":
		return record.LZ4, int(t.LZ4Level)
	case "zstd":
		return record.Zstd, int(t.ZstdLevel)
	default: // producer
		return commitlog.KeepCodec, record.DefaultLevel
	}
}

// gzipLevel is the level to use; −1 is Kafka's word for the codec's default.
func gzipLevel(configured int32) int {
	if configured == -1 {
		return record.DefaultLevel
	}
	return int(configured)
}

// validTopic checks overrides as a whole: names, values and whether the engines
// that they name exist and run here.
func (s *Server) validTopic(overrides map[string]string) error {
	b := s.o.Configs.Broker()
	t, err := b.Topic(overrides)
	if err == nil {
		err = s.o.Replicas.CheckConfig(replicaConfig(b, t))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalidConfig, err)
	}
	return nil
}
