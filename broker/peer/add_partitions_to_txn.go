package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// AddPartitionsToTxn is the batched form that brokers use (KIP-890): leaders ask
// the transaction coordinator whether partitions are part of transactions.
type AddPartitionsToTxn struct{ Transactions []TxnPartitions }

// TxnPartitions are partitions of one transaction. Those of a topic stand
// together.
type TxnPartitions struct {
	ID            string
	ProducerID    int64
	ProducerEpoch int16
	// VerifyOnly asks, without adding them.
	VerifyOnly bool
	Partitions []TopicPartition
}

// AddPartitionsToTxnAnswer has an error for the whole, or results for each
// transaction.
type AddPartitionsToTxnAnswer struct {
	ErrorCode    wire.ErrorCode
	Transactions []TxnPartitionsResult
}

// TxnPartitionsResult is the answer for one transaction.
type TxnPartitionsResult struct {
	ID         string
	Partitions []PartitionResult
}

const addPartitionsToTxnVersion = 5

// EncodeAddPartitionsToTxn makes the request.
func EncodeAddPartitionsToTxn(r AddPartitionsToTxn) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = addPartitionsToTxnVersion
	for i := range r.Transactions {
		t := &r.Transactions[i]
		out := kmsg.NewAddPartitionsToTxnRequestTransaction()
		out.TransactionalID, out.ProducerID, out.ProducerEpoch, out.VerifyOnly = t.ID, t.ProducerID, t.ProducerEpoch, t.VerifyOnly
		for j, p := range t.Partitions {
			if j == 0 || p.Topic != t.Partitions[j-1].Topic {
				topic := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
				topic.Topic = p.Topic
				out.Topics = append(out.Topics, topic)
			}
			topic := &out.Topics[len(out.Topics)-1]
			topic.Partitions = append(topic.Partitions, p.Index)
		}
		req.Transactions = append(req.Transactions, out)
	}
	return req
}

// DecodeAddPartitionsToTxnAnswer reads the response.
func DecodeAddPartitionsToTxnAnswer(resp *kmsg.AddPartitionsToTxnResponse) (AddPartitionsToTxnAnswer, error) {
	a := AddPartitionsToTxnAnswer{ErrorCode: wire.ErrorCode(resp.ErrorCode)}
	for i := range resp.Transactions {
		in := &resp.Transactions[i]
		t := TxnPartitionsResult{ID: in.TransactionalID}
		for _, topic := range in.Topics {
			for _, p := range topic.Partitions {
				t.Partitions = append(t.Partitions, PartitionResult{topic.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)})
			}
		}
		a.Transactions = append(a.Transactions, t)
	}
	return a, nil
}
