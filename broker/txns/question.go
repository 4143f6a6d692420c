package txns

import (
	"context"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
)

// Question is what the leader of partitions asks the coordinator of a transactional
// id before it takes the first records of a transaction (KIP-890).
type Question struct {
	txn.Producer
	Partitions []txn.Partition
	// Add takes the partitions into the transaction, as clients of
	// transaction.version 2 leave to the leaders; otherwise it is only asked whether
	// they are.
	Add bool
}

// Ask puts a question to the coordinator, which may be another broker. done is called
// once with an error, or none, for each partition; beside those of package txn there
// are those of package shard, after which the client should come again. It must not
// block.
func (c *Coordinator) Ask(q Question, done func([]error)) {
	all := func(err error) {
		errs := make([]error, len(q.Partitions))
		for i := range errs {
			errs[i] = err
		}
		done(errs)
	}
	partition, ok := c.Partition(q.ID)
	if !ok {
		all(shard.ErrNotCoordinator)
		return
	}
	state, _ := c.o.Metadata.View().Topic(Topic).Partition(partition)
	switch {
	case state.Leader == c.o.BrokerID:
		c.Answer(q, done)
	case state.Leader < 0:
		all(shard.ErrNotCoordinator)
	default:
		ok := c.inBackground(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			errs, err := c.o.Peers.AddPartitions(ctx, state.Leader, q)
			if err != nil {
				all(shard.ErrNotCoordinator)
				return
			}
			done(errs)
		})
		if !ok {
			all(shard.ErrNotCoordinator)
		}
	}
}

// Answer puts a question to this broker's own coordinator. done is called as in Ask.
func (c *Coordinator) Answer(q Question, done func([]error)) {
	c.Submit(q.ID, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		if q.Add {
			x.Add(now, &txn.AddRequest{Producer: q.Producer, Partitions: q.Partitions, ClientVersion: txn.EpochBump}, token, out)
			return
		}
		x.Verify(now, &txn.VerifyRequest{Producer: q.Producer, Partitions: q.Partitions}, token, out)
	}, func(reply shard.Reply) {
		if body, ok := reply.Body.(*txn.VerifyReply); ok && reply.Err == nil {
			done(body.Errs)
			return
		}
		errs := make([]error, len(q.Partitions))
		for i := range errs {
			errs[i] = reply.Err
		}
		done(errs)
	})
}
