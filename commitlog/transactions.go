package commitlog

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/commitlog/producer"
	"tidemark/protocol/record"
)

// Guard stands for one verification of a transaction with its coordinator (Kafka's
// VerificationGuard). The zero value verifies nothing.
type Guard = producer.Guard

// Unverified is the guard of a batch that need not be verified.
const Unverified = producer.Unverified

// StartVerification is called for a client's transactional batch before it is
// appended. Where needed is true, the caller asks the transaction's coordinator
// whether the partition is part of it, and if so appends with the guard; any batch
// or marker of the producer that comes between makes the guard void, so that no late
// request joins, or begins, a transaction that its coordinator does not know of
// (KIP-890). Otherwise the transaction is open here, and any guard does.
func (l *Log) StartVerification(producerID int64, producerEpoch int16, firstSequence int32) (g Guard, needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.StartVerification(producerID, producerEpoch, firstSequence, l.clock.Now().UnixMilli())
}

// AppendTransactional is AppendAsLeader of a client's batch that was verified, if it
// is a transactional one.
func (l *Log) AppendTransactional(b record.Batch, leaderEpoch int32, g Guard) (AppendInfo, error) {
	return l.appendAsLeader(b, leaderEpoch, terms{origin: Client, guard: g})
}

// AppendMarker appends the control batch that ends a producer's transaction. With
// newer, as in transaction version 2, it is refused with ErrInvalidProducerEpoch
// where its producer epoch is not greater than that of the data. A marker of an
// older transaction coordinator than one before is ErrCoordinatorFenced.
func (l *Log) AppendMarker(m record.EndTxnMarker, leaderEpoch int32, newer bool) (AppendInfo, error) {
	return l.appendAsLeader(m.Batch(), leaderEpoch, terms{origin: Coordinator, newer: newer})
}

// LastStableOffset is the first offset that readers of committed data may not read,
// given the high watermark (Kafka's UnifiedLog.lastStableOffset): where the oldest
// transaction begins that is open, or whose marker lies at or above the high
// watermark and may be lost; the high watermark itself where that is lower.
func (l *Log) LastStableOffset(highWatermark int64) int64 {
	if l.unstable.first.Load() >= highWatermark {
		return highWatermark
	}
	first := l.unstable.below(highWatermark)
	return min(highWatermark, max(first, l.LogStartOffset()))
}

// endedTxn is a transaction with data and a marker.
type endedTxn struct {
	producerID int64
	// first is the offset of its first batch, last that of its marker.
	first, last int64
	// stable is where the oldest transaction began that was open behind the marker,
	// or the offset after it.
	stable  int64
	aborted bool
}

// observe notes a batch in a producer state. ok says that it is a marker and ended a
// transaction that had data.
func observe(p *producer.State, b record.Batch, nowMs int64) (ended endedTxn, ok bool) {
	if !b.IsControl() {
		batch := producerBatch(b)
		p.Record(&batch, nowMs)
		return ended, false
	}
	kind, coordinatorEpoch, ok := endMarker(b)
	if !ok {
		return ended, false
	}
	first, ok := p.RecordMarker(b.ProducerID(), b.ProducerEpoch(), coordinatorEpoch, nowMs)
	return endedTxn{
		producerID: b.ProducerID(), first: first, last: b.LastOffset(),
		stable: min(p.FirstOpen(), b.NextOffset()), aborted: kind == record.Abort,
	}, ok
}

// unstable are the transactions that are open, of which the producer state knows
// more, and those that ended but may lose their marker (Kafka's ongoingTxns and
// unreplicatedTxns).
type unstable struct {
	// first is where the oldest of all begins, math.MaxInt64 where there is none.
	first atomic.Int64

	mu sync.Mutex
	// open is where the oldest open one begins.
	open int64
	// done are those that ended at or above confirmed, by where they began.
	done []endedTxn
	// confirmed is the greatest high watermark that done was held against.
	confirmed int64
}

// begin says that nothing is known but that offsets before highWatermark stay.
func (u *unstable) begin(highWatermark int64) {
	u.open, u.confirmed = math.MaxInt64, highWatermark
	u.settle()
}

// note notes where the oldest open transaction begins, and with ok one that ended.
func (u *unstable) note(open int64, ended endedTxn, ok bool) {
	if !ok && open == u.first.Load() {
		return // One that is open already goes on.
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = open
	if ok {
		u.add(ended)
	}
	u.settle()
}

// replayed notes one that ended some time ago.
func (u *unstable) replayed(ended endedTxn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(ended)
	u.settle()
}

// add notes one that ended, once; mu is held.
func (u *unstable) add(t endedTxn) {
	if t.last < u.confirmed {
		return
	}
	i, found := slices.BinarySearchFunc(u.done, t, func(a, b endedTxn) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	if !found {
		u.done = slices.Insert(u.done, i, t)
	}
}

// settle computes first; mu is held.
func (u *unstable) settle() {
	first := u.open
	if len(u.done) > 0 {
		first = min(first, u.done[0].first)
	}
	u.first.Store(first)
}

// below forgets what the high watermark has confirmed and returns first.
func (u *unstable) below(highWatermark int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.confirmed = max(u.confirmed, highWatermark)
	u.done = slices.DeleteFunc(u.done, func(t endedTxn) bool { return t.last < highWatermark })
	u.settle()
	return u.first.Load()
}

// truncated says that the log ends before end now: transactions whose marker is gone
// count as open until loaded tells which are.
func (u *unstable) truncated(end int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.confirmed = min(u.confirmed, end)
	u.done = slices.DeleteFunc(u.done, func(t endedTxn) bool {
		if t.last >= end {
			u.open = min(u.open, t.first)
		}
		return t.last >= end
	})
	u.settle()
}

// loaded says where the oldest open transaction begins.
func (u *unstable) loaded(open int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = open
	u.settle()
}
