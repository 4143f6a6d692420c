package record

import (
	"errors"
	"fmt"
)

// The classes of error that callers tell apart with errors.Is.
var (
	// ErrShort: the buffer ends inside a batch. Never wrapped.
	ErrShort = errors.New("buffer ends inside a batch")
	// ErrCorrupt: the bytes are damaged (Kafka's CORRUPT_MESSAGE).
	ErrCorrupt = errors.New("corrupt batch")
	// ErrInvalidRecord: the bytes are as sent but break a rule (INVALID_RECORD).
	ErrInvalidRecord = errors.New("invalid record")
	// ErrTooLarge: the batch, or what it decompresses to, is over the limit
	// (MESSAGE_TOO_LARGE).
	ErrTooLarge = errors.New("batch too large")
	// ErrUnsupportedCodec: the codec is unknown or not allowed here
	// (UNSUPPORTED_COMPRESSION_TYPE).
	ErrUnsupportedCodec = errors.New("unsupported compression type")
	// ErrInvalidTimestamp: a timestamp or its type is not allowed
	// (INVALID_TIMESTAMP).
	ErrInvalidTimestamp = errors.New("invalid timestamp")
)

// RecordError says which record of a batch is wrong, for the record_errors of a
// Produce response (KIP-467).
type RecordError struct {
	// Index counts the batch's records from 0.
	Index int32
	// Reason is one sentence for the producer.
	Reason string
	// Err is the class: ErrInvalidRecord, ErrInvalidTimestamp, ErrTooLarge or
	// ErrCorrupt.
	Err error
}

// Error describes the record and what is wrong with it.
func (e *RecordError) Error() string {
	return fmt.Sprintf("record %d: %s: %v", e.Index, e.Reason, e.Err)
}

// Unwrap gives the class to errors.Is.
func (e *RecordError) Unwrap() error { return e.Err }

// RecordErrors are the wrong records of one batch, at least one and at most
// MaxRecordErrors, in the order of their indexes.
type RecordErrors []*RecordError

// MaxRecordErrors bounds how many wrong records of a batch are told apart.
const MaxRecordErrors = 100

// Error describes the first wrong record and how many there are.
func (e RecordErrors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%d records rejected, first %v", len(e), e[0])
}

// Unwrap gives the class of the whole batch and the first wrong record to
// errors.Is and errors.As. As in Kafka's LogValidator, one invalid timestamp
// makes the whole an ErrInvalidTimestamp.
func (e RecordErrors) Unwrap() []error {
	class := e[0].Err
	for _, r := range e {
		if errors.Is(r.Err, ErrInvalidTimestamp) {
			class = ErrInvalidTimestamp
		}
	}
	return []error{class, &RecordError{Index: e[0].Index, Reason: e[0].Reason, Err: class}}
}

// ErrorsOf returns the wrong records that err names, nil when the error
// concerns the batch as a whole.
func ErrorsOf(err error) RecordErrors {
	var all RecordErrors
	if errors.As(err, &all) {
		return all
	}
	var one *RecordError
	if errors.As(err, &one) {
		return RecordErrors{one}
	}
	return nil
}
