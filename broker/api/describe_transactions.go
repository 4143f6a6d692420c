package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
)

// DescribeTransactions (65), version 0: the state of transactional ids (KIP-664).
func describeTransactions(s *Server, _ client, req *kmsg.DescribeTransactionsRequest, answer func(kmsg.Response)) {
	ids := req.TransactionalIDs
	shard.SubmitEach(len(ids), func(i int, done func(shard.Reply)) {
		s.o.Txns.Submit(ids[i], func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
			x.Describe(now, ids[i], token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrDescribeTransactionsResponse()
		for i, reply := range replies {
			resp.TransactionStates = append(resp.TransactionStates, describedTransaction(ids[i], reply))
		}
		answer(resp)
	})
}

func describedTransaction(id string, reply shard.Reply) kmsg.DescribeTransactionsResponseTransactionState {
	t := kmsg.NewDescribeTransactionsResponseTransactionState()
	t.TransactionalID, t.ErrorCode, t.StartTimestamp = id, int16(groupCode(reply.Err)), -1
	t.ProducerID, t.ProducerEpoch = txn.None, txn.None
	body, ok := reply.Body.(*txn.DescribeReply)
	if !ok || reply.Err != nil {
		return t
	}
	t.State, t.TimeoutMillis = body.State.String(), int32(body.Timeout.Milliseconds())
	t.ProducerID, t.ProducerEpoch = body.ProducerID, body.ProducerEpoch
	if !body.Start.IsZero() {
		t.StartTimestamp = body.Start.UnixMilli()
	}
	for _, p := range body.Partitions {
		if n := len(t.Topics); n == 0 || t.Topics[n-1].Topic != p.Topic {
			topic := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			topic.Topic = p.Topic
			t.Topics = append(t.Topics, topic)
		}
		last := &t.Topics[len(t.Topics)-1]
		last.Partitions = append(last.Partitions, p.Index)
	}
	return t
}
