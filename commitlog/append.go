package commitlog

import (
	"fmt"

	"tidemark/commitlog/producer"
	"tidemark/internal/invariant"
	"tidemark/protocol/record"
)

// AppendOrigin says who a leader's append comes from (Kafka's AppendOrigin).
type AppendOrigin int8

const (
	// Client is a produce request: everything is validated.
	Client AppendOrigin = iota
	// Coordinator is a part of this broker, such as a group or transaction
	// coordinator: control batches are allowed, and of the producer's rule only the
	// epochs are checked.
	Coordinator
)

// AppendInfo is what became of an append.
type AppendInfo struct {
	// BaseOffset and LastOffset are the offsets given; of a duplicate, those
	// given back then.
	BaseOffset, LastOffset int64
	// LogAppendTimeMs is the time stamped into the batch, -1 where producers
	// stamp.
	LogAppendTimeMs int64
	// LogStartOffset is the log start offset at the time.
	LogStartOffset int64
	// Duplicate: the batch is a retry of one that is in the log already, and
	// nothing was appended.
	Duplicate bool
	// Rolled: a new segment was started.
	Rolled bool
	// Bytes is how many bytes were appended.
	Bytes int64
	// LeaderEpoch is that of the leader that appended; the log's user sets it.
	LeaderEpoch int32
	// MayReceive: the log could have received such a batch in place; the next
	// one may be handed to AppendInPlace.
	MayReceive bool
}

// AppendAsLeader validates b, gives it the next offsets and appends it. Base
// offset and leader epoch, and where the topic asks for it the timestamp, are
// patched into b, which is the caller's again on return.
//
// The errors are those of record.Validation, ErrRecordListTooLarge,
// ErrOutOfOrderSequence, ErrInvalidProducerEpoch, ErrInvalidTxnState and
// ErrCoordinatorFenced, each with nothing appended; a full disk, likewise; and
// ErrFailed. Where flush.messages is reached the call flushes before it returns; an
// error of that says nothing of the append.
//
// A client's transactional batch is appended to an open transaction only; what
// begins one goes through AppendTransactional.
func (l *Log) AppendAsLeader(b record.Batch, leaderEpoch int32, origin AppendOrigin) (AppendInfo, error) {
	return l.appendAsLeader(b, leaderEpoch, terms{origin: origin})
}

// terms are what an append is held to beside the batch itself.
type terms struct {
	origin AppendOrigin
	// guard is that of a client's transactional batch.
	guard Guard
	// newer: a marker that ends a transaction must have a newer producer epoch.
	newer bool
}

func (l *Log) appendAsLeader(b record.Batch, leaderEpoch int32, t terms) (AppendInfo, error) {
	o := l.options.Load()
	nowMs := l.clock.Now().UnixMilli()
	b, err := o.prepare(b, t.origin, nowMs)
	if err != nil {
		return AppendInfo{}, err
	}
	l.relieve()
	l.mu.Lock()
	info, err := l.appendLeader(o, b, leaderEpoch, t, nowMs)
	return info, l.endAppend(o, err)
}

// endAppend gives mu up, which is held, and flushes where an append without an error
// has reached flush.messages.
func (l *Log) endAppend(o *Options, err error) error {
	flush := err == nil && l.flushDue(o)
	l.mu.Unlock()
	if flush {
		return l.Flush()
	}
	return err
}

// prepare does what needs no lock: validation and recompression.
func (o *Options) prepare(b record.Batch, origin AppendOrigin, nowMs int64) (record.Batch, error) {
	v := o.validation(nowMs)
	if origin == Coordinator {
		v.FromCoordinator = true
	}
	summary, err := v.Check(b)
	if err != nil {
		return nil, err
	}
	if o.Compression != KeepCodec && o.Compression != b.Codec() && !b.IsControl() {
		if b, err = record.Recompress(b, o.Compression, o.CompressionLevel, v.Limits); err != nil {
			return nil, err
		}
	}
	if !o.LogAppendTime && summary.MaxTimestamp != b.MaxTimestamp() {
		b.SetMaxTimestamp(summary.MaxTimestamp)
	}
	if int64(b.Size()) > o.SegmentBytes {
		return nil, fmt.Errorf("%d bytes, segment.bytes is %d: %w", b.Size(), o.SegmentBytes, ErrRecordListTooLarge)
	}
	return b, nil
}

// appendLeader appends a prepared batch; mu is held.
func (l *Log) appendLeader(o *Options, b record.Batch, leaderEpoch int32, t terms, nowMs int64) (AppendInfo, error) {
	info := AppendInfo{LogAppendTimeMs: -1, LogStartOffset: l.view.start}
	if err := l.usable(); err != nil {
		return info, err
	}
	duplicate, err := l.checkProducer(b, t)
	if err != nil {
		return info, err
	}
	if duplicate != nil {
		info.BaseOffset, info.LastOffset, info.Duplicate = duplicate.BaseOffset, duplicate.LastOffset, true
		if o.LogAppendTime {
			info.LogAppendTimeMs = duplicate.TimestampMs
		}
		return info, nil
	}
	info.LogAppendTimeMs = l.stamp(o, b, leaderEpoch, nowMs)
	if info.Rolled, err = l.rollFor(o, b, nowMs); err != nil {
		return info, err
	}
	if err := l.assignEpoch(leaderEpoch, b.BaseOffset()); err != nil {
		return info, err
	}
	if err := l.write(b, nowMs); err != nil {
		return info, err
	}
	info.BaseOffset, info.LastOffset, info.Bytes = b.BaseOffset(), b.LastOffset(), int64(b.Size())
	info.MayReceive = l.lends() && o.receives(b)
	return info, nil
}

// stamp patches what a leader writes into b and returns the log append time, -1
// where producers stamp; mu is held.
func (l *Log) stamp(o *Options, b record.Batch, leaderEpoch int32, nowMs int64) (logAppendTimeMs int64) {
	b.SetBaseOffset(l.view.end)
	b.SetLeaderEpoch(leaderEpoch)
	if !o.LogAppendTime {
		return -1
	}
	b.SetLogAppendTime(nowMs)
	return nowMs
}

// checkProducer applies the idempotent and the transactional producer's rules; mu is
// held.
func (l *Log) checkProducer(b record.Batch, t terms) (*producer.Appended, error) {
	switch {
	case b.ProducerID() < 0:
		return nil, nil
	case b.IsControl():
		_, coordinatorEpoch, ok := endMarker(b)
		if !ok {
			return nil, l.producers.CheckEpoch(b.ProducerID(), b.ProducerEpoch())
		}
		return nil, l.producers.CheckMarker(b.ProducerID(), b.ProducerEpoch(), coordinatorEpoch, t.newer)
	case t.origin == Coordinator:
		return nil, l.producers.CheckEpoch(b.ProducerID(), b.ProducerEpoch())
	}
	batch := producerBatch(b)
	batch.Guard = t.guard
	return l.producers.Check(&batch)
}

func producerBatch(b record.Batch) producer.Batch {
	return producer.Batch{
		ProducerID: b.ProducerID(), Epoch: b.ProducerEpoch(),
		FirstSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(),
		TimestampMs: b.MaxTimestamp(), Transactional: b.IsTransactional(),
	}
}

// write appends whole batches, which carry their offsets and epochs, to the
// active segment and publishes them; mu is held.
func (l *Log) write(batches []byte, nowMs int64) error {
	if err := l.spill(); err != nil {
		return l.writeFailed(err)
	}
	l.buffers[0] = batches
	position, err := l.appender.Append(l.buffers[:])
	l.buffers[0] = nil
	if err != nil {
		return l.writeFailed(err)
	}
	if position != l.view.position { // Not handed to Check whole: its arguments would be allocated.
		invariant.Check(false, "appended at %d, the end was %d", position, l.view.position)
	}
	end := l.view.end
	for rest := batches; len(rest) > 0; {
		b, next, err := record.Parse(rest)
		invariant.Check(err == nil, "appended batch does not parse: %v", err)
		l.note(header{Batch: b, position: position, size: int64(b.Size())})
		l.remember(b, nowMs)
		position, end, rest = position+int64(b.Size()), b.NextOffset(), next
	}
	l.advance(end, position)
	return nil
}

// note tells an appended batch to what is kept of the active segment.
func (l *Log) note(h header) {
	l.age.note(h.position, h.MaxTimestamp())
	l.indexer.note(h)
}

// advance publishes what was appended up to end and position; mu is held.
func (l *Log) advance(end, position int64) {
	if ended := l.view.active().ended; ended != nil {
		ended.SetEnd(position)
	}
	l.viewMu.Lock()
	l.view.end, l.view.position, l.view.newest = end, position, l.indexer.newest
	l.viewMu.Unlock()
	l.tendAt(position)
	l.armFlush()
}

// spill makes room in memory for what note and remember add to the indexes of the
// active segment; after it, they cannot fail on the disk.
func (l *Log) spill() error {
	if err := l.indexer.spill(); err != nil {
		return err
	}
	if aborted := l.view.active().aborted.Load(); aborted != nil {
		return aborted.Spill()
	}
	return nil
}

// remember notes an appended batch in the producer state, and a transaction that it
// begins or ends before anybody can read it; mu is held.
func (l *Log) remember(b record.Batch, nowMs int64) {
	if b.ProducerID() < 0 {
		return
	}
	ended, ok := observe(l.producers, b, nowMs)
	if ok && ended.aborted {
		l.view.active().addAborted(ended)
	}
	if b.IsTransactional() {
		l.unstable.note(l.producers.FirstOpen(), ended, ok)
	}
}
