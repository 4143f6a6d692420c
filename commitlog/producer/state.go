// Package producer keeps what a partition must remember about idempotent
// producers: per producer id its epoch and last five batches, so that a retry
// is answered instead of appended and a gap is refused (Kafka's
// ProducerStateManager, KIP-98). Snapshots have Kafka's bytes; see
// docs/formats/producer-snapshot.md.
//
// The package is pure: no clock, no files. A State is not safe for concurrent
// use; the log guards it with its append lock.
package producer

import "errors"

// The refusals of Check.
var (
	// ErrOutOfOrderSequence: the batch leaves a gap or starts an epoch at a
	// sequence other than 0.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidEpoch: a newer producer epoch has been seen.
	ErrInvalidEpoch = errors.New("invalid producer epoch")
)
