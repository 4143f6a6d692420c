package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
)

// EndTxn (26), versions 0 to 5: commits or aborts a producer's transaction; it is
// answered once the decision is kept, before the markers are written. From 5 on the
// producer takes a new epoch for its next transaction from the answer (KIP-890).
func endTxn(s *Server, _ client, req *kmsg.EndTxnRequest, answer func(kmsg.Response)) {
	r := &txn.EndRequest{
		Producer: txn.Producer{ID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch},
		Commit:   req.Commit, Bump: req.Version >= 5,
	}
	s.o.Txns.End(r, func(reply shard.Reply) {
		resp := kmsg.NewPtrEndTxnResponse()
		resp.ErrorCode = int16(fencedCode(reply.Err, req.Version >= 2))
		if body, ok := reply.Body.(*txn.EndReply); ok && reply.Err == nil && r.Bump {
			resp.ProducerID, resp.ProducerEpoch = body.ProducerID, body.ProducerEpoch
		}
		answer(resp)
	})
}
