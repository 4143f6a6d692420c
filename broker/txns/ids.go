package txns

import (
	"context"
	"sync"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/coordinator/znode"
)

// ProducerIDBlocks hands out blocks of producer ids; *znode.Client does.
type ProducerIDBlocks interface {
	// AllocateProducerIDs reserves the next block for the broker.
	AllocateProducerIDs(ctx context.Context, broker int32) (znode.ProducerIDBlock, error)
}

// producerIDs hands out ids from blocks that are reserved in ZooKeeper, so no two
// brokers give the same one; what is left of a block at a stop is lost. mu is held
// while a block is fetched: who comes then needs it too.
type producerIDs struct {
	blocks ProducerIDBlocks
	broker int32

	mu         sync.Mutex
	free, last int64 // free..last are still to be given
	held       bool  // there is a block
}

func (p *producerIDs) next(ctx context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held || p.free > p.last {
		block, err := p.blocks.AllocateProducerIDs(ctx, p.broker)
		if err != nil {
			return txn.None, err
		}
		p.free, p.last, p.held = block.First, block.Last, true
	}
	id := p.free
	p.free++
	return id, nil
}

// producerIDTimeout bounds the wait for a block of ids.
const producerIDTimeout = 10 * time.Second

// ProducerID returns an id that no producer ever had. It may wait for ZooKeeper.
func (c *Coordinator) ProducerID() (int64, error) {
	ctx, cancel := context.WithTimeout(c.stopped, producerIDTimeout)
	defer cancel()
	return c.ids.next(ctx)
}

// Init puts an InitRequest to its partition, with a fresh producer id where one is
// needed. done is called as in Submit.
func (c *Coordinator) Init(r *txn.InitRequest, done func(shard.Reply)) {
	r.Fresh = txn.None
	c.submitFresh(r.ID, &r.Fresh, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) { x.Init(now, r, token, out) }, done)
}

// End is Init for an EndRequest.
func (c *Coordinator) End(r *txn.EndRequest, done func(shard.Reply)) {
	r.Fresh = txn.None
	c.submitFresh(r.ID, &r.Fresh, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) { x.End(now, r, token, out) }, done)
}

// submitFresh submits an operation, and once more with a producer id in fresh where
// it asks for that.
func (c *Coordinator) submitFresh(id string, fresh *int64, operation Operation, done func(shard.Reply)) {
	c.Submit(id, operation, func(reply shard.Reply) {
		if reply.Err != txn.ErrNeedProducerID {
			done(reply)
			return
		}
		ok := c.inBackground(func(context.Context) {
			var err error
			if *fresh, err = c.ProducerID(); err != nil {
				c.o.Logger.Warn("no producer id", "error", err)
				done(shard.Reply{Err: shard.ErrOverloaded}) // which clients retry
				return
			}
			c.Submit(id, operation, done)
		})
		if !ok {
			done(shard.Reply{Err: shard.ErrNotCoordinator})
		}
	})
}
