package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// InitProducerId (22), versions 0 to 5: an identity for an idempotent or transactional
// producer. 3 lets a producer name its id and epoch to go on after an error (KIP-360),
// 4 and 5 have error codes of their own.
//
// Without a transactional id the broker keeps nothing about ids, so, like Kafka's
// TransactionCoordinator, it gives a new one: that begins at sequence 0 just as a
// raised epoch does.
func initProducerID(s *Server, _ client, req *kmsg.InitProducerIDRequest, answer func(kmsg.Response)) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = txn.None, txn.None
	known := req.Version >= 3 && req.ProducerID >= 0
	switch {
	case req.TransactionalID != nil && *req.TransactionalID == "",
		req.Version >= 3 && (req.ProducerID < 0) != (req.ProducerEpoch < 0):
		resp.ErrorCode = int16(wire.InvalidRequest)
		answer(resp)
		return
	case req.TransactionalID == nil:
		id, err := s.o.Txns.ProducerID()
		if err != nil {
			s.o.Logger.Warn("no producer id", "error", err)
			resp.ErrorCode = int16(wire.CoordinatorNotAvailable) // which clients retry
		} else {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		}
		answer(resp)
		return
	}
	r := &txn.InitRequest{
		Producer: txn.Producer{ID: *req.TransactionalID, ProducerID: txn.None, ProducerEpoch: txn.None},
		Timeout:  time.Duration(req.TransactionTimeoutMillis) * time.Millisecond,
	}
	if known {
		r.ProducerID, r.ProducerEpoch = req.ProducerID, req.ProducerEpoch
	}
	s.o.Txns.Init(r, func(reply shard.Reply) {
		resp.ErrorCode = int16(fencedCode(reply.Err, req.Version >= 4))
		if body, ok := reply.Body.(*txn.InitReply); ok && reply.Err == nil {
			resp.ProducerID, resp.ProducerEpoch = body.ProducerID, body.ProducerEpoch
		}
		answer(resp)
	})
}

// fencedCode maps an error of the transaction coordinator; clients of versions that do
// not know PRODUCER_FENCED are told INVALID_PRODUCER_EPOCH (KIP-588).
func fencedCode(err error, known bool) wire.ErrorCode {
	code := groupCode(err)
	if code == wire.ProducerFenced && !known {
		return wire.InvalidProducerEpoch
	}
	return code
}
