package shard

import "tidemark/protocol/record"

// Log is the leader's replica of one partition of the internal topic. It is safe for
// concurrent use, and comparable: two are equal where they are the same replica.
type Log interface {
	// LogStartOffset is the first offset there is.
	LogStartOffset() int64
	// LogEndOffset is the offset of the next append.
	LogEndOffset() int64
	// HighWatermark is the first offset that is not committed.
	HighWatermark() int64
	// Read appends to dst whole batches from the one that holds offset on, at
	// least one where there is any below the log end, uncommitted ones too. It
	// should stop near maxBytes; a larger batch comes alone.
	Read(dst []byte, offset int64, maxBytes int) ([]byte, error)
	// Append writes one batch as acks=all of the leader, without waiting for its
	// commit, and returns the offset after it. On an error nothing was written.
	// The batch is the caller's again on return. The leader epoch is that of the
	// leadership the caller was told of; any other must be refused.
	Append(leaderEpoch int32, b record.Batch) (end int64, err error)
	// AppendMarker is Append of the control record that ends a producer's
	// transaction. It is refused where the log knows a later epoch of the producer
	// or a later transaction coordinator; with newer, as in transaction version 2,
	// where its producer epoch is not greater than that of the data too.
	AppendMarker(leaderEpoch int32, m record.EndTxnMarker, newer bool) (end int64, err error)
	// Watch calls moved after each move of the high watermark until stop is
	// called. moved does not block and may be called from any goroutine, also from
	// inside Append.
	Watch(moved func()) (stop func())
}

// Codec turns a machine's records into the keys and values of the topic's format
// and back. It is safe for concurrent use.
type Codec[R any] interface {
	// Encode appends nothing to the arguments and returns fresh memory. A nil
	// value is a tombstone.
	Encode(r R) (key, value []byte)
	// Decode copies what it keeps of key and value. ok is false for a record of a
	// kind that this machine does not know, which is passed over.
	Decode(key, value []byte) (r R, ok bool, err error)
}
