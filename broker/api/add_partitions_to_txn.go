package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/txns"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// AddPartitionsToTxn (24), versions 0 to 5: takes partitions into a producer's
// transaction. Up to 3 producers ask; from 4 on leaders do, for many transactions at
// once, and may only ask whether the partitions are in them (KIP-890); 5 has an error
// code of its own. A transaction takes all of its partitions or none.
func addPartitionsToTxn(s *Server, _ client, req *kmsg.AddPartitionsToTxnRequest, answer func(kmsg.Response)) {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	if req.Version < 4 {
		s.addForProducer(req, func(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) {
			for _, t := range topics {
				topic := kmsg.NewAddPartitionsToTxnResponseTopic()
				topic.Topic = t.Topic
				for _, p := range t.Partitions {
					topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
				}
				resp.Topics = append(resp.Topics, topic)
			}
			answer(resp)
		})
		return
	}
	resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(req.Transactions))
	shard.SubmitEach(len(req.Transactions), func(i int, done func(shard.Reply)) {
		t := &req.Transactions[i]
		resp.Transactions[i] = kmsg.NewAddPartitionsToTxnResponseTransaction()
		resp.Transactions[i].TransactionalID = t.TransactionalID
		partitions, topics := namedPartitions(t.Topics)
		s.o.Txns.Answer(txns.Question{
			Producer:   txn.Producer{ID: t.TransactionalID, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch},
			Partitions: partitions, Add: !t.VerifyOnly,
		}, func(errs []error) {
			setCodes(topics, errs, req.Version >= 5)
			resp.Transactions[i].Topics = topics
			done(shard.Reply{})
		})
	}, func([]shard.Reply) { answer(resp) })
}

// addForProducer answers versions 0 to 3.
func (s *Server) addForProducer(req *kmsg.AddPartitionsToTxnRequest, answer func([]kmsg.AddPartitionsToTxnResponseTransactionTopic)) {
	list := make([]kmsg.AddPartitionsToTxnRequestTransactionTopic, len(req.Topics))
	for i, t := range req.Topics {
		list[i].Topic, list[i].Partitions = t.Topic, t.Partitions
	}
	partitions, topics := namedPartitions(list)
	if s.refuseUnknown(partitions, topics) {
		answer(topics)
		return
	}
	r := &txn.AddRequest{
		Producer:   txn.Producer{ID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch},
		Partitions: partitions,
	}
	s.o.Txns.Submit(r.ID, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		x.Add(now, r, token, out)
	}, func(reply shard.Reply) {
		code := fencedCode(reply.Err, req.Version >= 2)
		eachCode(topics, func(int) wire.ErrorCode { return code })
		answer(topics)
	})
}

// refuseUnknown refuses all where some partitions do not exist, and says which.
func (s *Server) refuseUnknown(partitions []txn.Partition, topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) bool {
	view := s.o.Metadata.View()
	refused := false
	eachCode(topics, func(i int) wire.ErrorCode {
		if exists(view, partitions[i].Topic, partitions[i].Index) {
			return wire.OperationNotAttempted
		}
		refused = true
		return wire.UnknownTopicOrPartition
	})
	return refused
}

// namedPartitions lists the partitions of a request, and makes the answer about them.
func namedPartitions(list []kmsg.AddPartitionsToTxnRequestTransactionTopic) (partitions []txn.Partition, topics []kmsg.AddPartitionsToTxnResponseTransactionTopic) {
	for _, t := range list {
		topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		topic.Topic = t.Topic
		for _, index := range t.Partitions {
			partitions = append(partitions, txn.Partition{Topic: t.Topic, Index: index})
			topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: index})
		}
		topics = append(topics, topic)
	}
	return partitions, topics
}

// eachCode sets the code of each partition, by its place in the list of all.
func eachCode(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic, code func(int) wire.ErrorCode) {
	n := 0
	for i := range topics {
		for j := range topics[i].Partitions {
			topics[i].Partitions[j].ErrorCode = int16(code(n))
			n++
		}
	}
}

// setCodes maps errors; before version 5 there was no TRANSACTION_ABORTABLE.
func setCodes(topics []kmsg.AddPartitionsToTxnResponseTransactionTopic, errs []error, abortable bool) {
	eachCode(topics, func(i int) wire.ErrorCode {
		code := groupCode(errs[i])
		if code == wire.TransactionAbortable && !abortable {
			return wire.InvalidTxnState
		}
		return code
	})
}
