package broker

import (
	"context"
	"errors"
	"fmt"

	"tidemark/broker/peer"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/commitlog"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// txnPeers takes what the transaction coordinator has for other brokers to them. It is
// a txns.Peers.
type txnPeers struct{ pool *peer.Pool }

var _ txns.Peers = txnPeers{}

var errNotAnswered = errors.New("the broker left a partition out of its answer")

// WriteMarkers implements txns.Peers.
func (p txnPeers) WriteMarkers(ctx context.Context, broker int32, markers []txns.Marker) ([][]error, error) {
	r := peer.WriteTxnMarkers{Markers: make([]peer.TxnMarker, len(markers))}
	for i := range markers {
		m := &markers[i]
		r.Markers[i] = peer.TxnMarker{
			ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, Committed: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch,
			Version: int8(m.Version), Partitions: toPeers(m.Partitions),
		}
	}
	got, err := p.pool.WriteTxnMarkers(ctx, broker, r)
	if err != nil {
		return nil, err
	}
	if len(got.Markers) != len(markers) {
		return nil, fmt.Errorf("broker %d answered %d markers of %d", broker, len(got.Markers), len(markers))
	}
	errs := make([][]error, len(markers))
	for i := range markers {
		errs[i] = perPartition(markers[i].Partitions, got.Markers[i].Partitions)
	}
	return errs, nil
}

// AddPartitions implements txns.Peers.
func (p txnPeers) AddPartitions(ctx context.Context, broker int32, q txns.Question) ([]error, error) {
	got, err := p.pool.AddPartitionsToTxn(ctx, broker, peer.AddPartitionsToTxn{Transactions: []peer.TxnPartitions{{
		ID: q.ID, ProducerID: q.ProducerID, ProducerEpoch: q.ProducerEpoch, VerifyOnly: !q.Add, Partitions: toPeers(q.Partitions),
	}}})
	switch {
	case err != nil:
		return nil, err
	case got.ErrorCode != wire.None:
		return nil, txnError(got.ErrorCode)
	case len(got.Transactions) != 1:
		return nil, fmt.Errorf("broker %d answered %d transactions of 1", broker, len(got.Transactions))
	}
	return perPartition(q.Partitions, got.Transactions[0].Partitions), nil
}

func toPeers(list []txn.Partition) []peer.TopicPartition {
	out := make([]peer.TopicPartition, len(list))
	for i, p := range list {
		out[i] = peer.TopicPartition{Topic: p.Topic, Index: p.Index}
	}
	return out
}

// perPartition brings results into the order of the partitions that were asked about.
func perPartition(asked []txn.Partition, results []peer.PartitionResult) []error {
	codes := make(map[txn.Partition]error, len(results))
	for _, r := range results {
		codes[txn.Partition{Topic: r.Topic, Index: r.Index}] = txnError(r.ErrorCode)
	}
	errs := make([]error, len(asked))
	for i, p := range asked {
		var ok bool
		if errs[i], ok = codes[p]; !ok {
			errs[i] = errNotAnswered
		}
	}
	return errs
}

// txnError is the error that another broker's code stands for; one that is not looked
// at anywhere is a coordinator to ask again.
func txnError(code wire.ErrorCode) error {
	switch code {
	case wire.None:
		return nil
	case wire.ConcurrentTransactions:
		return txn.ErrConcurrent
	case wire.ProducerFenced:
		return txn.ErrFenced
	case wire.InvalidProducerIDMapping:
		return txn.ErrUnknownMapping
	case wire.TransactionAbortable:
		return txn.ErrAbortable
	case wire.InvalidProducerEpoch:
		return commitlog.ErrInvalidProducerEpoch
	case wire.TransactionCoordinatorFenced:
		return commitlog.ErrCoordinatorFenced
	case wire.UnknownTopicOrPartition:
		return replica.ErrUnknownPartition
	case wire.CoordinatorLoadInProgress:
		return shard.ErrLoadInProgress
	default:
		return fmt.Errorf("%w: %v", shard.ErrNotCoordinator, code)
	}
}
