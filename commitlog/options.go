package commitlog

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tidemark/commitlog/index"
	"tidemark/engines"
	"tidemark/protocol/record"
)

// KeepCodec is the Options.Compression that stores batches as they came
// (compression.type=producer).
const KeepCodec record.Codec = -1

// Options is the configuration of one log. The zero value is not usable; start
// from DefaultOptions and set the two engines. Fields named after Kafka's topic
// configs mean what those mean.
type Options struct {
	// Append writes new segments and Read serves all; both are required. A
	// change of Append takes effect at the next roll, of Read at once.
	Append engines.AppendSpec
	Read   engines.ReadSpec

	// SegmentBytes (segment.bytes) is the size a segment does not outgrow; at
	// most math.MaxInt32, as positions are 32 bits wide in the index.
	SegmentBytes int64
	// SegmentMs (segment.ms) and SegmentJitterMs (segment.jitter.ms) bound the
	// age of the active segment; the jitter is drawn anew for each segment.
	SegmentMs, SegmentJitterMs int64
	// IndexIntervalBytes (index.interval.bytes) is how much log lies between
	// two index entries, IndexMaxBytes (segment.index.bytes) the size at which
	// a full index makes the log roll.
	IndexIntervalBytes, IndexMaxBytes int64

	// NoPrefault (storage.prefault is false) leaves the pages of a segment
	// to their first use; NoInPlace (storage.append.inplace is false) has
	// AppendInPlace take nothing. Both are for comparisons.
	NoPrefault, NoInPlace bool

	// RetentionBytes (retention.bytes) and RetentionMs (retention.ms) bound
	// what ApplyRetention keeps; negative means no bound.
	RetentionBytes, RetentionMs int64
	// FileDeleteDelay (file.delete.delay.ms) is how long the files of a removed
	// segment stay, renamed to .deleted.
	FileDeleteDelay time.Duration

	// FlushMessages (flush.messages) and FlushMs (flush.ms) say after how many
	// records, or how long after an append, the log is synced.
	FlushMessages, FlushMs int64

	// Cache (storage.cache) is what becomes of written pages in the page cache.
	Cache CachePolicy
	// Background runs what a log does beside its appends for Cache, which has no
	// effect without. It counts at Open only.
	Background *Turns

	// LogAppendTime (message.timestamp.type) stamps batches on append.
	LogAppendTime bool
	// Compression (compression.type) is KeepCodec or the codec every batch is
	// stored with; CompressionLevel is its level or record.DefaultLevel.
	Compression      record.Codec
	CompressionLevel int
	// Validation (storage.validation) is how deep a leader checks a batch.
	Validation record.Mode
	// MaxMessageBytes (max.message.bytes) bounds a batch; 0 is no bound.
	MaxMessageBytes int
	// TimestampBeforeMaxMs and TimestampAfterMaxMs
	// (message.timestamp.before.max.ms, …after…) bound how far a record's
	// timestamp may lie from the clock; negative is no bound.
	TimestampBeforeMaxMs, TimestampAfterMaxMs int64
	// Compacted (cleanup.policy contains compact) makes keys mandatory, and
	// Compaction count.
	Compacted  bool
	Compaction Compaction
	// DecompressedLimit bounds what one batch may decompress to, in bytes; 0 is
	// the default of package record.
	DecompressedLimit int64

	// ProducerExpiryMs (producer.id.expiration.ms) is how long an idle
	// producer's sequence numbers are remembered, by the broker's clock.
	ProducerExpiryMs int64
}

// DefaultOptions returns Kafka's defaults, without engines.
func DefaultOptions() Options {
	return Options{
		SegmentBytes:         1 << 30,
		SegmentMs:            7 * 24 * 3600 * 1000,
		IndexIntervalBytes:   4096,
		IndexMaxBytes:        10 << 20,
		RetentionBytes:       -1,
		RetentionMs:          7 * 24 * 3600 * 1000,
		FileDeleteDelay:      time.Minute,
		FlushMessages:        math.MaxInt64,
		FlushMs:              math.MaxInt64,
		Compression:          KeepCodec,
		CompressionLevel:     record.DefaultLevel,
		MaxMessageBytes:      1<<20 + 12,
		TimestampBeforeMaxMs: -1,
		TimestampAfterMaxMs:  3600 * 1000,
		ProducerExpiryMs:     24 * 3600 * 1000,
		Compaction:           DefaultCompaction(),
	}
}

// CachePolicy says what becomes of a log's pages in the page cache.
type CachePolicy int8

const (
	// KeepCache leaves them to the system.
	KeepCache CachePolicy = iota
	// DropBehind starts their way to the disk early and drops those that lie
	// behind a window at the end of the log.
	DropBehind
)

// validation is the rules for a batch that arrives at nowMs.
func (o *Options) validation(nowMs int64) record.Validation {
	return record.Validation{
		Mode:            o.mode(),
		MaxMessageBytes: o.MaxMessageBytes,
		RequireKeys:     o.Compacted,
		LogAppendTime:   o.LogAppendTime,
		NowMs:           nowMs,
		BeforeMaxMs:     o.TimestampBeforeMaxMs,
		AfterMaxMs:      o.TimestampAfterMaxMs,
		Limits:          record.Limits{DecompressedBytes: o.DecompressedLimit},
	}
}

// check refuses options no log can work with.
func (o *Options) check() error {
	switch {
	case o.Append.Open == nil || o.Read.Open == nil:
		return errors.New("options: no engines")
	case o.SegmentBytes <= 0 || o.SegmentBytes > math.MaxInt32:
		return fmt.Errorf("options: segment size of %d bytes", o.SegmentBytes)
	case o.IndexMaxBytes < 2*index.TimeEntrySize || o.IndexMaxBytes > math.MaxInt32:
		return fmt.Errorf("options: index size of %d bytes", o.IndexMaxBytes)
	case o.IndexIntervalBytes < 0 || o.SegmentMs <= 0 || o.SegmentJitterMs < 0:
		return fmt.Errorf("options: index interval %d, segment age %d, jitter %d", o.IndexIntervalBytes, o.SegmentMs, o.SegmentJitterMs)
	case o.FlushMessages <= 0 || o.FlushMs < 0:
		return fmt.Errorf("options: flush every %d records, %d ms", o.FlushMessages, o.FlushMs)
	}
	return nil
}

// OpenState is what the checkpoints of the log directory say about one log.
type OpenState struct {
	// CleanShutdown: the process that last had the log open closed it, so no
	// segment needs a recovery scan.
	CleanShutdown bool
	// RecoveryPoint is the offset before which everything was synced; after an
	// unclean stop only segments that reach beyond it are scanned.
	RecoveryPoint int64
	// LogStartOffset is the first offset kept; 0 where no checkpoint says more.
	LogStartOffset int64
	// HighWatermark is the first offset that other replicas may lack. A transaction
	// whose marker lies at or above it bounds the last stable offset until the high
	// watermark has passed the marker; with 0, all of a log with transactions is
	// looked at.
	HighWatermark int64
	// FirstDirty is the first offset not cleaned; 0 cleans all again.
	FirstDirty int64
}
