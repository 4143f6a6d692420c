package api

import (
	"errors"
	"slices"
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
	concurrentPause = 5 * time.Millisecond
)

var errNoTransactionalID = errors.Join(errors.New("a transactional batch without a transactional id"), commitlog.ErrInvalidTxnState)

// verify has the coordinator asked about the batches that need it, and waits for the
// answer; also for the end of the producer's transaction before, whose marker makes the
// verification void that it finds under way.
func (p *produce) verify() {
	if p.txnID == nil {
		return // such batches are refused one by one
	}
	for waited := time.Duration(0); ; waited += concurrentPause {
		asked, q := p.question()
		if len(asked) == 0 {
			return
		}
		errs := p.server.ask(q)
		if waited < concurrentWait && slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, txn.ErrConcurrent) }) {
			p.server.pause(concurrentPause)
			continue
		}
		for i, err := range errs {
			asked[i].err = verifiedError(err, p.call.header.Version)
		}
		return
	}
}

// ofTransaction says that b is a transaction's data. Control batches are refused as
// such.
func ofTransaction(b record.Batch) bool { return b.IsTransactional() && !b.IsControl() }

// question begins the verification of the batches that need it.
func (p *produce) question() (asked []*producePart, q txns.Question) {
	q.Add = p.call.header.Version >= firstAddingProduce
	for i := range p.parts {
		part := &p.parts[i]
		b := part.batch
		if part.err != nil || part.info.LastOffset >= 0 || !ofTransaction(b) {
			continue
		}
		var needed bool
		part.asked = false
		if part.guard, needed = part.partition.StartVerification(b.ProducerID(), b.ProducerEpoch(), b.BaseSequence()); !needed {
			continue
		}
		if !q.Add && !p.server.o.Configs.Broker().Transactions.Verification {
			part.guard = commitlog.Unverified
			continue
		}
		q.Producer = txn.Producer{ID: string(p.txnID), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch()}
		q.Partitions = append(q.Partitions, txn.Partition{Topic: part.partition.Topic.Name, Index: part.index})
		part.asked = true
		asked = append(asked, part)
	}
	return asked, q
}

// ask puts the question to the coordinator and waits for the answer.
func (s *Server) ask(q txns.Question) []error {
	answers := make(chan []error, 1)
	s.o.Txns.Ask(q, func(errs []error) { answers <- errs })
	return <-answers
}

func (s *Server) pause(d time.Duration) {
	over := make(chan struct{})
	s.o.Clock.AfterFunc(d, func() { close(over) })
	<-over
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

// maxVerifications is how often a batch is verified whose verification is void when the
// answer comes: the marker of the transaction before arrived in between.
const maxVerifications = 10

// appendTransactional writes a batch that was verified where that was needed.
func (p *produce) appendTransactional(part *producePart, b record.Batch) (info commitlog.AppendInfo, moved bool, err error) {
	if p.txnID == nil {
		return noAppend, false, errNoTransactionalID
	}
	for range maxVerifications {
		info, moved, err = part.partition.AppendTransactional(b, p.acks, part.guard)
		if !part.asked || !errors.Is(err, commitlog.ErrInvalidTxnState) {
			break
		}
		if p.verify(); part.err != nil {
			return noAppend, false, part.err
		}
	}
	return info, moved, err
}
