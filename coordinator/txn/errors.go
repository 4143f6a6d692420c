package txn

import "errors"

// The errors of replies. Each is one of Kafka's error codes, given in capitals, but
// for ErrNeedProducerID.
var (
	ErrConcurrent     = errors.New("the transaction before is still being ended")                                // CONCURRENT_TRANSACTIONS
	ErrFenced         = errors.New("a newer producer has this transactional id")                                 // PRODUCER_FENCED
	ErrUnknownMapping = errors.New("the producer id is not that of the transactional id")                        // INVALID_PRODUCER_ID_MAPPING
	ErrInvalidState   = errors.New("the transaction is not in a state that allows this")                         // INVALID_TXN_STATE
	ErrInvalidTimeout = errors.New("transaction timeout out of range: it is at most transaction.max.timeout.ms") // INVALID_TRANSACTION_TIMEOUT
	ErrAbortable      = errors.New("the partition is not in the open transaction: abort it")                     // TRANSACTION_ABORTABLE
	ErrNotFound       = errors.New("no such transactional id")                                                   // TRANSACTIONAL_ID_NOT_FOUND

	// ErrNeedProducerID asks for the same request again with a fresh producer id.
	// It is for whoever hosts the machine and never leaves the broker.
	ErrNeedProducerID = errors.New("a fresh producer id is needed")
)
