// Package commitlog stores one replica's log.
package commitlog

import (
	"time"

	"tidemark/commitlog/producer"
	"tidemark/engines"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// AppendOrigin says who a leader's append comes from (Kafka's AppendOrigin).
type AppendOrigin int8

// The origins.
const (
	// Client is a produce request: full validation.
	Client AppendOrigin = iota
	// Coordinator is a group or transaction coordinator on this broker, or a
	// strategy's own control batch: control batches are allowed.
	Coordinator
)

// AppendInfo is what became of an append.
type AppendInfo struct {
	// BaseOffset and LastOffset are the offsets given (of a duplicate: given
	// back then).
	BaseOffset, LastOffset int64
	// LogAppendTimeMs is the time stamped into the batch, -1 where producers
	// stamp.
	LogAppendTimeMs int64
	// LogStartOffset is the log start offset at the time.
	LogStartOffset int64
	// Duplicate: the batch is a retry of one that is in the log already.
	Duplicate bool
	// Rolled: a new segment was started.
	Rolled bool
	// Bytes is how many bytes were appended.
	Bytes int64
}

// ReadInfo is the answer to Read.
type ReadInfo struct {
	// Chunk holds whole batches; nil when there is nothing to give. The caller
	// releases it.
	Chunk engines.Chunk
	// Bytes is the length of the chunk.
	Bytes int64
	// SegmentBase and Position say where the chunk starts.
	SegmentBase, Position int64
	// LogStartOffset and LogEndOffset at the time of the read.
	LogStartOffset, LogEndOffset int64
}

// TimestampOffset is a record's timestamp and offset.
type TimestampOffset struct {
	TimestampMs, Offset int64
}

// OpenReport says what Open found and did.
type OpenReport struct {
	// SegmentsScanned counts segments whose every batch was checked.
	SegmentsScanned int
	// TruncatedBytes were cut off after LogEndOffset.
	TruncatedBytes int64
	// Corruption is set when what was cut was not a torn tail: valid batches
	// followed. Acknowledged records may be lost; say it loudly.
	Corruption *CorruptError
	// SegmentsDropped counts whole segments removed because they lay behind a
	// corruption.
	SegmentsDropped int
	// Notes are one sentence each for rebuilt indexes, ignored snapshots,
	// removed leftovers.
	Notes []string
}

// Log is one replica's log.
type Log struct{}

// Open opens or creates the log in dir.
func Open(fs vfs.FS, dir string, o Options, s OpenState, c clock.Clock) (*Log, error) {
	return nil, ErrClosed
}

// Report returns what Open found.
func (l *Log) Report() OpenReport { return OpenReport{} }

// AppendAsLeader validates b, gives it offsets and appends it.
func (l *Log) AppendAsLeader(b record.Batch, leaderEpoch int32, origin AppendOrigin) (AppendInfo, error) {
	return AppendInfo{}, ErrClosed
}

// AppendAsFollower appends the leader's batches as they are.
func (l *Log) AppendAsFollower(batches []byte) (AppendInfo, error) { return AppendInfo{}, ErrClosed }

// Read returns whole batches from the one that contains offset, below boundOffset.
func (l *Log) Read(offset, maxBytes, boundOffset int64, minOneBatch bool) (ReadInfo, error) {
	return ReadInfo{}, ErrClosed
}

// Available is how many bytes a reader at offset could get below boundOffset, at most limit.
func (l *Log) Available(offset, boundOffset, limit int64) int64 { return 0 }

// LogStartOffset is the first offset kept.
func (l *Log) LogStartOffset() int64 { return 0 }

// LogEndOffset is the next offset to be given.
func (l *Log) LogEndOffset() int64 { return 0 }

// RecoveryPoint is the offset before which everything is synced.
func (l *Log) RecoveryPoint() int64 { return 0 }

// Size is the sum of the sizes of all segments in bytes.
func (l *Log) Size() int64 { return 0 }

// LatestEpoch is the newest leader epoch in the log.
func (l *Log) LatestEpoch() (epoch int32, ok bool) { return -1, false }

// AssignEpoch notes that epoch starts at start.
func (l *Log) AssignEpoch(epoch int32, start int64) error { return ErrClosed }

// EndOffsetForEpoch answers OffsetForLeaderEpoch.
func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) { return -1, -1 }

// OffsetForTimestamp finds the first record with a timestamp of at least timestampMs.
func (l *Log) OffsetForTimestamp(timestampMs int64) (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, ErrClosed
}

// OffsetOfMaxTimestamp finds the record with the largest timestamp.
func (l *Log) OffsetOfMaxTimestamp() (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, ErrClosed
}

// AdvanceLogStart drops the records before offset (DeleteRecords).
func (l *Log) AdvanceLogStart(offset int64) error { return ErrClosed }

// TruncateTo drops the batches that reach offset or lie after it.
func (l *Log) TruncateTo(offset int64) error { return ErrClosed }

// TruncateFullyAndStartAt drops everything and continues at offset.
func (l *Log) TruncateFullyAndStartAt(offset int64) error { return ErrClosed }

// Flush syncs everything appended before the call.
func (l *Log) Flush() error { return ErrClosed }

// Roll starts a new segment unless the active one is empty.
func (l *Log) Roll() error { return ErrClosed }

// ApplyRetention deletes old segments, none that reaches highWatermark.
func (l *Log) ApplyRetention(now time.Time, highWatermark int64) (deleted int, err error) {
	return 0, ErrClosed
}

// ExpireProducers forgets idle producers.
func (l *Log) ExpireProducers(now time.Time) int { return 0 }

// Producers lists the remembered producers by id.
func (l *Log) Producers() []producer.Entry { return nil }

// Reconfigure changes the options.
func (l *Log) Reconfigure(o Options) error { return ErrClosed }

// Err is the failure after which the log takes no more appends; nil while there is none.
func (l *Log) Err() error { return nil }

// Close flushes and closes.
func (l *Log) Close() error { return nil }

// Delete closes the log and removes its directory.
func (l *Log) Delete() error { return nil }
