package txns

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"tidemark/broker/groups"
	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/record"
)

// Marker says how a producer's transaction ended, for some of its partitions.
type Marker struct {
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	Commit           bool
	// Version is the transaction.version of the client: from txn.EpochBump on the
	// marker's epoch is above that of the records.
	Version    int16
	Partitions []txn.Partition
}

// Peers reaches other brokers.
type Peers interface {
	// WriteMarkers has a broker write markers. There is an error, or none, for each
	// partition of each marker; those of packages replica and commitlog are told
	// apart.
	WriteMarkers(ctx context.Context, broker int32, markers []Marker) ([][]error, error)
	// AddPartitions asks the coordinator of a transactional id, at a broker, about
	// partitions; there is an error of package txn, or none, for each.
	AddPartitions(ctx context.Context, broker int32, q Question) ([]error, error)
}

// sendTimeout bounds a request to another broker.
const sendTimeout = 30 * time.Second

// send has a broker write markers; done is called once, with an error for each
// partition or for all.
func (c *Coordinator) send(broker int32, markers []Marker, done func([][]error, error)) {
	if broker == c.o.BrokerID {
		c.WriteMarkers(markers, func(errs [][]error) { done(errs, nil) })
		return
	}
	ok := c.inBackground(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, sendTimeout)
		defer cancel()
		done(c.o.Peers.WriteMarkers(ctx, broker, markers))
	})
	if !ok {
		done(nil, shard.ErrNotCoordinator)
	}
}

// outdated says that a partition has heard of a later transaction of the producer, so
// that the one before is over there.
func outdated(err error) bool { return errors.Is(err, commitlog.ErrInvalidProducerEpoch) }

// WriteMarkers writes markers into the partitions that this broker leads, and calls
// done once with an error, or none, for each partition of each marker, when those that
// were written are committed or could not be in time. done has a goroutine of its own:
// whoever wakes the last marker holds its waiter, which the next append to the
// partition, by done, would wait for.
func (c *Coordinator) WriteMarkers(markers []Marker, done func([][]error)) {
	errs := make([][]error, len(markers))
	left := new(atomic.Int32)
	left.Store(1)
	finish := func() {
		if left.Add(-1) == 0 && !c.inBackground(func(context.Context) { done(errs) }) {
			done(errs) // nothing is appended any more
		}
	}
	for i := range markers {
		m := &markers[i]
		errs[i] = make([]error, len(m.Partitions))
		for j, p := range m.Partitions {
			left.Add(1)
			c.writeMarker(m, p, func(err error) {
				errs[i][j] = err
				finish()
			})
		}
	}
	finish()
}

// writeMarker writes one marker. What is in __consumer_offsets is the group
// coordinator's.
func (c *Coordinator) writeMarker(m *Marker, at txn.Partition, done func(error)) {
	end := record.EndTxnMarker{
		TimestampMs: c.o.Clock.Now().UnixMilli(), ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Commit,
	}
	newer := m.Version >= txn.EpochBump
	if at.Topic == groups.Topic {
		c.o.Groups.CompleteTransaction(at.Index, end, newer, func(r shard.Reply) { done(r.Err) })
		return
	}
	p := c.o.Replicas.Partition(at.Topic, at.Index)
	if p == nil {
		done(replica.ErrUnknownPartition)
		return
	}
	info, moved, err := p.AppendMarker(end, newer)
	if err != nil {
		done(err)
		return
	}
	if moved {
		p.Changed.Wake()
	}
	_, epoch := p.Leader()
	w := &markerWait{partition: p, epoch: epoch, end: info.LastOffset + 1, done: done}
	if !w.TryComplete() {
		c.watches.Park(w, c.o.Config.Groups.CommitTimeout, &p.Changed)
	}
}

// markerWait waits until a marker is committed; it is a purgatory.Operation.
type markerWait struct {
	partition *replica.Partition
	epoch     int32
	end       int64
	done      func(error)
}

var _ purgatory.Operation = (*markerWait)(nil)

// TryComplete implements purgatory.Operation.
func (w *markerWait) TryComplete() bool {
	if w.partition.HighWatermark() < w.end {
		if err := w.partition.Check(w.epoch); err != nil {
			w.done(err)
			return true
		}
		return false
	}
	w.done(nil)
	return true
}

// Expire implements purgatory.Operation.
func (w *markerWait) Expire() { w.done(shard.ErrCommitTimeout) }

// Cancel implements purgatory.Operation.
func (w *markerWait) Cancel() { w.done(shard.ErrNotCoordinator) }
