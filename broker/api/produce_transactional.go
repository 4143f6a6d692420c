package api

import (
	"errors"
	"time"

	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/commitlog"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/record"
)

// Batches of a transaction. Before a partition takes the first one its leader asks the
// transaction's coordinator whether the partition is part of it (KIP-890): what comes
// late, after the marker, would otherwise leave a transaction open that nobody ends.
// From version 12 on, the leader takes the partition into the transaction instead.
//
// The connection waits for the answer, so that the producer's batches stay in order.

const (
	// firstAbortableProduce is the version that knows TRANSACTION_ABORTABLE.
	firstAbortableProduce = 11
	// firstAddingProduce is the version from which clients leave it to the leader to
	// take partitions into a transaction.
	firstAddingProduce = 12
	// concurrentWait is how long the end of the transaction before is waited for,
	// concurrentPause how often it is looked for.
	concurrentWait  = time.Second
	concurrentPause = 20 * time.Millisecond
)

var errNoTransactionalID = errors.Join(errors.New("a transactional batch without a transactional id"), commitlog.ErrInvalidTxnState)

// verify begins the verification of the batches that need it and waits for the
// coordinator. Those of a request without a transactional id are refused one by one.
func (p *produce) verify() {
	if p.txnID == nil {
		return
	}
	q := txns.Question{Add: p.call.header.Version >= firstAddingProduce}
	var asked []*producePart
	for i := range p.parts {
		part := &p.parts[i]
		b := part.batch
		if part.err != nil || !b.IsTransactional() {
			continue
		}
		var needed bool
		if part.guard, needed = part.partition.StartVerification(b.ProducerID(), b.ProducerEpoch(), b.BaseSequence()); !needed {
			continue
		}
		if !q.Add && !p.server.o.Configs.Broker().Transactions.Verification {
			part.guard = commitlog.Unverified
			continue
		}
		q.Producer = txn.Producer{ID: string(p.txnID), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch()}
		q.Partitions = append(q.Partitions, txn.Partition{Topic: part.partition.Topic.Name, Index: part.index})
		asked = append(asked, part)
	}
	if len(asked) == 0 {
		return
	}
	for i, err := range p.server.ask(q) {
		asked[i].err = verifiedError(err, p.call.header.Version)
	}
}

// ask puts the question to the coordinator and waits for the answer, also for the end
// of the producer's transaction before.
func (s *Server) ask(q txns.Question) []error {
	for waited := time.Duration(0); ; waited += concurrentPause {
		answers := make(chan []error, 1)
		s.o.Txns.Ask(q, func(errs []error) { answers <- errs })
		errs := <-answers
		if !errors.Is(errs[0], txn.ErrConcurrent) || waited >= concurrentWait {
			return errs
		}
		pause := make(chan struct{})
		s.o.Clock.AfterFunc(concurrentPause, func() { close(pause) })
		<-pause
	}
}

// verifiedError is what a producer is told of a coordinator's answer to the leader.
func verifiedError(err error, version int16) error {
	switch {
	case errors.Is(err, txn.ErrFenced):
		return commitlog.ErrInvalidProducerEpoch
	case errors.Is(err, txn.ErrAbortable) && version < firstAbortableProduce:
		return commitlog.ErrInvalidTxnState
	case errors.Is(err, txn.ErrConcurrent) && version < firstAddingProduce,
		errors.Is(err, shard.ErrNotCoordinator), errors.Is(err, shard.ErrLoadInProgress),
		errors.Is(err, shard.ErrOverloaded), errors.Is(err, shard.ErrCommitTimeout):
		return replica.ErrNotEnoughReplicas // which every client tries again
	}
	return err
}

// appendTransactional writes a batch that was verified where that was needed.
func (p *produce) appendTransactional(part *producePart, b record.Batch) (commitlog.AppendInfo, bool, error) {
	if p.txnID == nil {
		return noAppend, false, errNoTransactionalID
	}
	return part.partition.AppendTransactional(b, p.acks, part.guard)
}
