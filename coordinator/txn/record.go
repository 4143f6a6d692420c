package txn

import (
	"cmp"
	"slices"
)

// Record is all that is known of one transactional id (TransactionLogKey and
// TransactionLogValue). A Record never changes once it is made.
type Record struct {
	ID string
	// Tombstone says that the transactional id is gone; all below is empty then.
	Tombstone     bool
	ProducerID    int64
	ProducerEpoch int16
	// PreviousProducerID is the producer id before the last change, None where
	// unknown; NextProducerID the one that follows once the epochs of ProducerID are
	// used up and the transaction is complete, else None.
	PreviousProducerID, NextProducerID int64
	// PreviousEpoch is the epoch that the producer had before it was given
	// ProducerEpoch on its own demand, None where another took its place. It is not
	// in the log, so a request that is repeated after a failover may be refused.
	PreviousEpoch int16
	TimeoutMs     int32
	State         State
	// Partitions are those of the open or undone transaction, in order.
	Partitions []Partition
	// StartMs is when the transaction began, None before the first.
	StartMs, UpdateMs int64
	// ClientVersion is the transaction.version of the client that wrote it.
	ClientVersion int16
}

// compare orders partitions.
func compare(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
}

// has says whether the partition belongs to the transaction.
func (r *Record) has(p Partition) bool {
	_, ok := slices.BinarySearchFunc(r.Partitions, p, compare)
	return ok
}

// with returns r's partitions and the given ones, in order and each once.
func (r *Record) with(more []Partition) []Partition {
	all := slices.Concat(r.Partitions, more)
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

// undone says that markers are due.
func (r *Record) undone() bool { return r.State == PrepareCommit || r.State == PrepareAbort }

// exhausted says that the producer id has no further epoch for a client.
func (r *Record) exhausted() bool { return r.ProducerEpoch >= lastEpoch }

// identity is who holds the transactional id.
func (r *Record) identity() Producer { return Producer{r.ID, r.ProducerID, r.ProducerEpoch} }

// next is the record that follows r at a time, the same but for what the caller
// changes.
func (r *Record) next(nowMs int64) *Record {
	n := *r
	n.PreviousProducerID, n.NextProducerID, n.UpdateMs = r.ProducerID, None, nowMs
	return &n
}
