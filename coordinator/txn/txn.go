// Package txn is the transaction coordinator's core: which producer id and epoch a
// transactional id has, which partitions its open transaction wrote to, and how it
// was decided. It follows Kafka's TransactionCoordinator and TransactionMetadata
// (KIP-98, KIP-360, KIP-447, KIP-588, KIP-890).
//
// Txns is a machine for package shard. It has no clock, goroutine, I/O or
// randomness: time, tokens of requests and fresh producer ids are arguments;
// records, replies and timers come back in the Outcome. Nothing of a transaction
// changes but by Replay, so a refused append needs no undoing and a machine made
// again from the log goes on where the other one stopped.
//
//	            partitions added              EndTxn, timeout, fencing
//	Empty ────────────────────► Ongoing ──────────────┬──────────────────┐
//	  ▲                           ▲                   ▼                  ▼
//	  │ InitProducerId            │             PrepareCommit       PrepareAbort
//	  │                           │                   │ markers are      │
//	  │                           │ partitions added  ▼ everywhere       ▼
//	  └───────────────────────────┴───────────── CompleteCommit     CompleteAbort
//
// A decision is first written, then told to the partitions: whoever carries markers
// asks with Work, is answered once the decision is committed, and comes back with
// Complete. Between the two the transaction is in its Prepare state, in which it
// survives any number of coordinators.
//
// Clients of transaction.version 2 get a new epoch with every transaction (KIP-890):
// the epoch rises as the decision is written, its markers carry the new epoch, and
// what was sent before is too old for every partition from then on.
package txn

import (
	"math"
	"time"

	"tidemark/coordinator/shard"
)

// Outcome is what an operation wants done.
type Outcome = shard.Outcome[*Record]

// State is a transaction's state; the numbers are Kafka's.
type State int8

// The states. Dead and PrepareEpochFence are never written: a transactional id that
// expires has a tombstone, and fencing writes PrepareAbort with the raised epoch.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
)

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is the name in DescribeTransactions and ListTransactions.
func (s State) String() string { return stateNames[s] }

// KnownState says whether there is a state of that name.
func KnownState(name string) bool {
	for _, known := range stateNames {
		if name == known {
			return true
		}
	}
	return false
}

// None stands for an absent producer id, epoch or time.
const None = -1

// lastEpoch is the greatest epoch that a client gets; the one above it is only ever
// used to fence it. After it comes another producer id.
const lastEpoch = math.MaxInt16 - 1

// EpochBump is the transaction.version from which every transaction has an epoch of
// its own.
const EpochBump = 2

// Options are the coordinator's settings; each names its Kafka config.
type Options struct {
	MaxTimeout     time.Duration // transaction.max.timeout.ms
	AbortInterval  time.Duration // transaction.abort.timed.out.transaction.cleanup.interval.ms
	Expiration     time.Duration // transactional.id.expiration.ms
	ExpireInterval time.Duration // transaction.remove.expired.transaction.cleanup.interval.ms

	// Watch, where it is not nil, is told of each record that is written. It must not
	// block.
	Watch func(*Record)
}

// NewOptions returns Kafka's defaults.
func NewOptions() Options {
	return Options{
		MaxTimeout: 15 * time.Minute, AbortInterval: 10 * time.Second,
		Expiration: 7 * 24 * time.Hour, ExpireInterval: time.Hour,
	}
}
