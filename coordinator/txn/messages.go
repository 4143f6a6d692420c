package txn

import "time"

// Requests and replies carry what every version of the API means. A reply's Body is
// a pointer to the reply type named beside the request.

// Partition is a partition of a topic that a transaction wrote to.
type Partition struct {
	Topic string
	Index int32
}

// Producer is who asks: a transactional id with the identity it was given.
type Producer struct {
	ID            string
	ProducerID    int64
	ProducerEpoch int16
}

// InitRequest is answered by a Producer's identity, an InitReply (InitProducerId).
type InitRequest struct {
	// Producer has None for id and epoch, or those of a producer that goes on after
	// an error (KIP-360).
	Producer
	// Timeout is how long its transactions may stay open.
	Timeout time.Duration
	// Fresh is a producer id never used before, or None: then the answer may be
	// ErrNeedProducerID.
	Fresh int64
}

// InitReply is the answer to an InitRequest.
type InitReply struct {
	ProducerID    int64
	ProducerEpoch int16
}

// AddRequest is answered by an error or none (AddPartitionsToTxn, AddOffsetsToTxn).
type AddRequest struct {
	Producer
	Partitions []Partition
	// ClientVersion is the client's transaction.version.
	ClientVersion int16
}

// VerifyRequest is answered by a VerifyReply (AddPartitionsToTxn, verify only).
type VerifyRequest struct {
	Producer
	Partitions []Partition
}

// VerifyReply has an error for each partition of the request, in its order: nil, or
// ErrAbortable for one that is not in the open transaction.
type VerifyReply struct{ Errs []error }

// EndRequest is answered by an EndReply (EndTxn).
type EndRequest struct {
	Producer
	Commit bool
	// Bump says that the client's transaction.version is 2: it takes a new epoch.
	Bump bool
	// Fresh is as in InitRequest.
	Fresh int64
}

// EndReply is the identity of the producer's next transaction.
type EndReply struct {
	ProducerID    int64
	ProducerEpoch int16
}

// WorkRequest waits for decisions to carry out and is answered by a WorkReply. One
// waits at a time; an earlier one is answered with nothing.
type WorkRequest struct {
	// All asks for every undone decision, those handed out before too.
	All bool
}

// WorkReply has decisions that are committed, in order of their transactional ids.
type WorkReply struct{ Decisions []Decision }

// Decision is the end of a transaction: a marker is due in each of its partitions.
type Decision struct {
	Producer
	Commit bool
	// Version is the transaction.version of the client.
	Version int16
	// Partitions may be empty.
	Partitions []Partition
}

// CompleteRequest says that the markers of a decision are written. It is answered by
// an error or none; ErrInvalidState says that nothing is due any more.
type CompleteRequest struct{ Producer }

// DescribeReply is the answer to Describe, which may be ErrNotFound.
type DescribeReply struct {
	Producer
	State   State
	Timeout time.Duration
	// Start is when the transaction began; zero where none did.
	Start      time.Time
	Partitions []Partition
}

// ListRequest is answered by a ListReply. Empty filters let all pass.
type ListRequest struct {
	States      []string
	ProducerIDs []int64
	// OpenFor lets only transactions pass that have been open that long; negative
	// lets all pass.
	OpenFor time.Duration
	// Matches lets only those ids pass for which it is true; nil lets all pass.
	Matches func(id string) bool
}

// ListReply has the transactional ids of one shard in order.
type ListReply struct{ Transactions []Listed }

// Listed is an entry of a ListReply.
type Listed struct {
	ID         string
	ProducerID int64
	State      State
}
