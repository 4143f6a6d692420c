package replica

import (
	"bytes"
	"time"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
	"tidemark/protocol/record"
)

// CoordinatorLog is a partition of an internal topic as its coordinator uses it: a
// shard.Log of package coordinator/shard. Two of one partition are equal.
type CoordinatorLog struct {
	p       *Partition
	watches *purgatory.Purgatory
}

// ForCoordinator returns the partition as a coordinator's log; watches holds those
// who watch it.
func (p *Partition) ForCoordinator(watches *purgatory.Purgatory) CoordinatorLog {
	return CoordinatorLog{p, watches}
}

// LogStartOffset is the first offset kept.
func (l CoordinatorLog) LogStartOffset() int64 { return l.p.LogStartOffset() }

// LogEndOffset is the next offset to be written.
func (l CoordinatorLog) LogEndOffset() int64 { return l.p.LogEndOffset() }

// HighWatermark is the first offset that is not committed.
func (l CoordinatorLog) HighWatermark() int64 { return l.p.HighWatermark() }

// Read appends to dst whole batches from the one that holds offset on, committed or
// not, of at most maxBytes unless the first is larger.
func (l CoordinatorLog) Read(dst []byte, offset int64, maxBytes int) ([]byte, error) {
	chunk, _, err := l.p.Read(ReadRequest{Offset: offset, MaxBytes: int64(maxBytes), LeaderEpoch: AnyEpoch, Isolation: ReadAll, WholeBatch: true})
	if err != nil || chunk == nil {
		return dst, err
	}
	defer chunk.Release()
	to := bytes.NewBuffer(dst)
	for chunk.Len() > 0 {
		if _, err := chunk.WriteTo(to); err != nil {
			return dst, l.p.failed("read", err)
		}
	}
	return to.Bytes(), nil
}

// Append writes one batch as acks=all of the leader of that epoch and does not wait
// until it is committed.
func (l CoordinatorLog) Append(leaderEpoch int32, b record.Batch) (end int64, err error) {
	return l.appended(l.p.append(leaderEpoch, b, AckAll, commitlog.Coordinator))
}

// AppendMarker is Append of the control batch that ends a producer's transaction;
// newer is commitlog.Log.AppendMarker's.
func (l CoordinatorLog) AppendMarker(leaderEpoch int32, m record.EndTxnMarker, newer bool) (end int64, err error) {
	return l.appended(l.p.appendMarker(leaderEpoch, m, newer))
}

// appended tells whoever waits for what an append moved.
func (l CoordinatorLog) appended(info commitlog.AppendInfo, moved bool, err error) (end int64, _ error) {
	if err != nil {
		return 0, err
	}
	if moved {
		l.p.Changed.Wake()
	}
	return info.LastOffset + 1, nil
}

// Watch calls moved, and at once for the first time, whenever the high watermark or
// the leadership may have changed, until stop.
func (l CoordinatorLog) Watch(moved func()) (stop func()) {
	return l.watches.Park(watcher(moved), forever, &l.p.Changed).Cancel
}

// forever is longer than any broker runs.
const forever = 100 * 365 * 24 * time.Hour

// watcher is told of every change and never done.
type watcher func()

// TryComplete implements purgatory.Operation.
func (w watcher) TryComplete() bool { w(); return false }

// Expire implements purgatory.Operation.
func (w watcher) Expire() {}

// Cancel implements purgatory.Operation.
func (w watcher) Cancel() {}
