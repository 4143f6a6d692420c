package commitlog

import (
	"errors"
	"fmt"

	"tidemark/commitlog/producer"
	"tidemark/internal/vfs"
)

// The errors that callers tell apart with errors.Is. Those of package record
// that validation finds pass through with their class.
var (
	// ErrOffsetOutOfRange: the offset is before the log start offset or after
	// the log end offset (OFFSET_OUT_OF_RANGE).
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrClosed: the log was closed or deleted.
	ErrClosed = errors.New("log is closed")
	// ErrRecordListTooLarge: the batch does not fit into a segment
	// (RECORD_LIST_TOO_LARGE).
	ErrRecordListTooLarge = errors.New("batch larger than a segment")
	// ErrFailed: a write or a sync failed for good; the log takes no more
	// appends (KAFKA_STORAGE_ERROR). A full disk is not that: it is an error of
	// the one append, with ENOSPC.
	ErrFailed = errors.New("log storage failed")
	// ErrUnexpectedOffset: AppendAsFollower got a batch that does not continue
	// the log.
	ErrUnexpectedOffset = errors.New("batch does not continue the log")
	// ErrOutOfOrderSequence and ErrInvalidProducerEpoch are the two refusals of
	// the idempotent producer's rule (OUT_OF_ORDER_SEQUENCE_NUMBER,
	// INVALID_PRODUCER_EPOCH).
	ErrOutOfOrderSequence   = producer.ErrOutOfOrderSequence
	ErrInvalidProducerEpoch = producer.ErrInvalidEpoch
	// ErrInvalidTxnState and ErrCoordinatorFenced are the two of transactions
	// (INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED).
	ErrInvalidTxnState   = producer.ErrInvalidTxnState
	ErrCoordinatorFenced = producer.ErrCoordinatorFenced
)

// CorruptError says that bytes which must form batches do not.
type CorruptError struct {
	// Path is the segment file, Position the first byte that makes no sense.
	Path     string
	Position int64
	// Err is what is wrong there.
	Err error
}

// Error names the place and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s corrupt at position %d: %v", e.Path, e.Position, e.Err)
}

// Unwrap returns the reason.
func (e *CorruptError) Unwrap() error { return e.Err }

// fail makes the log refuse appends from now on; the first failure stays.
func (l *Log) fail(err error) error {
	failure := fmt.Errorf("%w: %w", ErrFailed, err)
	l.failure.CompareAndSwap(nil, &failure)
	return failure
}

// writeFailed decides what a failed write means: a full disk may have room
// again, anything else ends the log's service.
func (l *Log) writeFailed(err error) error {
	if vfs.IsFull(err) {
		return err
	}
	return l.fail(err)
}
