package api

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// InitProducerId (22), versions 0 to 5: an identity for an idempotent producer.
// 3 lets a producer name its id and epoch to go on after an error (KIP-360);
// without a transactional id the broker keeps nothing about ids, so, like Kafka's
// TransactionCoordinator, it gives a new one: that begins at sequence 0 just as a
// raised epoch does. Transactional ids have no coordinator here.

// producerIDTimeout bounds the wait for a block of ids.
const producerIDTimeout = 10 * time.Second

func initProducerID(s *Server, req *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "":
		resp.ErrorCode = int16(wire.InvalidRequest)
		return resp
	case req.Version >= 3 && (req.ProducerID < 0) != (req.ProducerEpoch < 0):
		resp.ErrorCode = int16(wire.InvalidRequest)
		return resp
	case req.TransactionalID != nil:
		resp.ErrorCode = int16(wire.CoordinatorNotAvailable)
		return resp
	}
	ctx, cancel := context.WithTimeout(context.Background(), producerIDTimeout)
	defer cancel()
	id, err := s.ids.next(ctx)
	if err != nil {
		s.o.Logger.Warn("no producer id", "error", err)
		resp.ErrorCode = int16(wire.CoordinatorNotAvailable) // which clients retry
		return resp
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp
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
			return -1, err
		}
		p.free, p.last, p.held = block.First, block.Last, true
	}
	id := p.free
	p.free++
	return id, nil
}
