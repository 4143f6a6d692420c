package codec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/txn"
	"tidemark/internal/invariant"
)

// Txns is the codec of __transaction_state (TransactionLog, kafka-dump-log
// --transaction-log-decoder). It implements shard.Codec[*txn.Record]:
//
//	key  0   TransactionLogKey    value 0, 1   TransactionLogValue
//
// Both versions of values are read; written is 1, which keeps in tagged fields what
// KIP-890 needs.
type Txns struct{}

const (
	txnKey      = 0
	maxTxnValue = 1
)

// Encode returns fresh memory; value is nil for a tombstone.
func (Txns) Encode(r *txn.Record) (key, value []byte) {
	k := kmsg.TxnMetadataKey{Version: txnKey, TransactionalID: r.ID}
	if r.Tombstone {
		return k.AppendTo(nil), nil
	}
	v := kmsg.NewTxnMetadataValue()
	v.Version, v.ProducerID, v.ProducerEpoch = maxTxnValue, r.ProducerID, r.ProducerEpoch
	v.TimeoutMillis, v.State = r.TimeoutMs, kmsg.TransactionState(r.State)
	v.LastUpdateTimestamp, v.StartTimestamp = r.UpdateMs, r.StartMs
	v.PreviousProducerID, v.NextProducerID, v.ClientTransactionVersion = r.PreviousProducerID, r.NextProducerID, r.ClientVersion
	if r.State != txn.Empty {
		v.Topics = []kmsg.TxnMetadataValueTopic{} // null is for Empty alone
	}
	for _, p := range r.Partitions {
		if n := len(v.Topics); n == 0 || v.Topics[n-1].Topic != p.Topic {
			v.Topics = append(v.Topics, kmsg.TxnMetadataValueTopic{Topic: p.Topic})
		}
		last := &v.Topics[len(v.Topics)-1]
		last.Partitions = append(last.Partitions, p.Index)
	}
	invariant.Check(r.State != txn.Empty || len(r.Partitions) == 0, "%s is Empty and has partitions", r.ID)
	return k.AppendTo(nil), v.AppendTo(nil)
}

// Decode copies what it keeps. ok is false for keys of other kinds; the error is
// ErrMalformed.
func (Txns) Decode(key, value []byte) (r *txn.Record, ok bool, err error) {
	version, err := versionOf("key", key)
	if err != nil {
		return nil, false, err
	}
	if version != txnKey {
		return nil, false, nil
	}
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return nil, false, fmt.Errorf("%w: key of a transactional id: %w", ErrMalformed, err)
	}
	r = &txn.Record{ID: k.TransactionalID}
	if value == nil {
		r.Tombstone = true
		return r, true, nil
	}
	if version, err = valueVersion("transaction", value, maxTxnValue); err != nil {
		return nil, false, err
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return nil, false, fmt.Errorf("%w: transaction of version %d: %w", ErrMalformed, version, err)
	}
	r.ProducerID, r.ProducerEpoch, r.PreviousEpoch = v.ProducerID, v.ProducerEpoch, txn.None
	r.PreviousProducerID, r.NextProducerID = v.PreviousProducerID, v.NextProducerID
	r.TimeoutMs, r.State, r.ClientVersion = v.TimeoutMillis, txn.State(v.State), v.ClientTransactionVersion
	r.UpdateMs, r.StartMs = v.LastUpdateTimestamp, v.StartTimestamp
	if r.State < txn.Empty || r.State > txn.CompleteAbort {
		return nil, false, fmt.Errorf("%w: transaction in state %d", ErrMalformed, v.State)
	}
	if r.State == txn.Empty {
		return r, true, nil // Kafka's TransactionLog reads no partitions here either.
	}
	for _, t := range v.Topics {
		for _, index := range t.Partitions {
			r.Partitions = append(r.Partitions, txn.Partition{Topic: t.Topic, Index: index})
		}
	}
	slices.SortFunc(r.Partitions, func(a, b txn.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
	})
	r.Partitions = slices.Compact(r.Partitions)
	return r, true, nil
}
