package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// AddOffsetsToTxn (25), versions 0 to 4: takes the partition of __consumer_offsets that
// a group's offsets are kept in into a producer's transaction; TxnOffsetCommit brings
// the offsets.
func addOffsetsToTxn(s *Server, _ client, req *kmsg.AddOffsetsToTxnRequest, answer func(kmsg.Response)) {
	resp := kmsg.NewPtrAddOffsetsToTxnResponse()
	partition, ok := s.o.Groups.Partition(req.Group)
	if !ok {
		s.creations.want(groups.Topic)
		resp.ErrorCode = int16(wire.CoordinatorNotAvailable)
		answer(resp)
		return
	}
	r := &txn.AddRequest{
		Producer:   txn.Producer{ID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch},
		Partitions: []txn.Partition{{Topic: groups.Topic, Index: partition}},
	}
	s.o.Txns.Submit(r.ID, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		x.Add(now, r, token, out)
	}, func(reply shard.Reply) {
		resp.ErrorCode = int16(fencedCode(reply.Err, req.Version >= 2))
		answer(resp)
	})
}
