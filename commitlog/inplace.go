package commitlog

import (
	"bytes"
	"errors"

	"tidemark/engines"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// Incoming is a batch of which the beginning is here and the rest waits in a
// place from which it can be copied at once.
type Incoming interface {
	// ReceiveRest copies the rest to memory, which it fills, and does not wait
	// for it. An error means that the batch is not to be appended. Memory may
	// fault, and what the callee holds then must be its own to release.
	ReceiveRest(memory []byte) error
}

// AppendInPlace is AppendAsLeader, from a client, for a batch of sizeBytes that
// has not been received yet: the append engine lends the memory where it will
// lie, the rest is received there, behind head, the beginning, and validated
// there before anybody can see it. The log is held from the moment the memory is
// lent until the batch is published or given up, which is why rest must not wait.
//
// Where that cannot be done, or the batch is one to refuse or to answer as a
// duplicate by its header alone, taken is false and nothing was received: the
// caller appends in the ordinary way. So it is when rest fails; nothing was
// appended then. Otherwise the result is that of AppendAsLeader.
func (l *Log) AppendInPlace(head []byte, sizeBytes int64, rest Incoming, leaderEpoch int32) (info AppendInfo, taken bool, err error) {
	o := l.options.Load()
	if !o.receivesHead(head, sizeBytes) {
		return info, false, nil
	}
	nowMs := l.clock.Now().UnixMilli()
	l.relieve()
	if !l.mu.TryLock() {
		return info, false, nil // Side by side, others can at least validate.
	}
	r := &l.receiving
	*r = receiving{log: l, options: o, head: head, size: sizeBytes, rest: rest, leaderEpoch: leaderEpoch, nowMs: nowMs}
	info, taken, err = r.append()
	*r = receiving{}
	if !taken {
		l.mu.Unlock()
		return info, false, nil
	}
	return info, true, l.endAppend(o, err)
}

// receivesHead says whether a batch with that beginning and size may be received
// in place, as far as can be said without the log.
func (o *Options) receivesHead(head []byte, sizeBytes int64) bool {
	if len(head) < record.HeaderSize || int64(len(head)) >= sizeBytes || sizeBytes > o.SegmentBytes {
		return false
	}
	b := record.Batch(head)
	return b.Magic() == record.Magic2 && record.ClaimedSize(head) == sizeBytes && b.BaseOffset() == 0 && o.receives(b)
}

// receives says whether a batch with b's header may be received in place: what
// is decompressed or changed as a whole is not, as that takes longer than others
// should wait.
func (o *Options) receives(b record.Batch) bool {
	return !o.NoInPlace && !b.IsControl() && !b.IsTransactional() &&
		(o.Compression == KeepCodec || o.Compression == b.Codec()) &&
		(o.mode() == record.HeaderOnly || b.Codec() == record.None)
}

// lends says whether the append engine can lend memory; mu is held.
func (l *Log) lends() bool {
	_, ok := l.appender.(engines.InPlaceAppender)
	return ok
}

// receiving is one batch on its way into lent memory; the log's mu is held.
type receiving struct {
	log             *Log
	options         *Options
	head            []byte
	size            int64
	rest            Incoming
	leaderEpoch     int32
	nowMs           int64
	memory          []byte
	logAppendTimeMs int64
	// received: rest is done, so what happens from here on is final.
	received bool
	// misfit is a copy of a batch that, validated, belongs into a new segment.
	misfit record.Batch
	// header is the batch's, as it was published.
	header [record.HeaderSize]byte
}

// append is AppendInPlace under the lock.
func (r *receiving) append() (info AppendInfo, taken bool, err error) {
	l := r.log
	appender, ok := l.appender.(engines.InPlaceAppender)
	if !ok || !r.fits() {
		return info, false, nil
	}
	if r.memory, err = appender.Reserve(r.size); err != nil || r.memory == nil {
		return info, false, nil // Append meets the same error, and tells.
	}
	position := l.view.position
	if err = vfs.Guard(l.view.active().name, position, r.memory, r.fill); err != nil || r.misfit != nil {
		appender.Abandon()
		return r.refused(err)
	}
	b := record.Batch(r.header[:])
	if err = l.assignEpoch(r.leaderEpoch, b.BaseOffset()); err != nil {
		appender.Abandon()
		return info, true, err
	}
	if err = l.spill(); err != nil {
		appender.Abandon()
		return info, true, l.writeFailed(err)
	}
	if _, err = appender.Publish(); err != nil {
		return info, true, l.writeFailed(err)
	}
	l.note(header{Batch: b, position: position, size: r.size})
	l.remember(b, r.nowMs)
	l.advance(b.NextOffset(), position+r.size)
	return AppendInfo{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), LogAppendTimeMs: r.logAppendTimeMs,
		LogStartOffset: l.view.start, Bytes: r.size, MayReceive: true,
	}, true, nil
}

// fits says whether the batch can go to the end of the active segment by what its
// header says. A log that begins with offset 0 is not begun in place: until its
// offset is patched in, a batch has offset 0, and a recovery that found it half
// done at any later place cuts it off for that alone.
func (r *receiving) fits() bool {
	l, b := r.log, record.Batch(r.head)
	if l.usable() != nil || l.view.end == 0 {
		return false
	}
	if l.view.position > 0 && l.isFull(r.options, r.size, b.MaxTimestamp(), r.nowMs) ||
		l.view.end+int64(b.LastOffsetDelta())-l.view.active().base > maxRelativeOffset {
		return false
	}
	duplicate, err := l.checkProducer(b, terms{origin: Client})
	return duplicate == nil && err == nil
}

// fill receives the batch, validates it and patches it. Faults of the memory are
// its caller's to catch.
func (r *receiving) fill() error {
	n := copy(r.memory, r.head)
	if err := r.rest.ReceiveRest(r.memory[n:]); err != nil {
		return err
	}
	r.received = true
	b, err := r.options.prepare(record.Batch(r.memory), Client, r.nowMs)
	if err != nil {
		return err
	}
	l := r.log
	if l.view.position > 0 && l.isFull(r.options, r.size, b.MaxTimestamp(), r.nowMs) {
		r.misfit = bytes.Clone(b) // Its header lied about the timestamp.
		return nil
	}
	r.logAppendTimeMs = l.stamp(r.options, b, r.leaderEpoch, r.nowMs)
	copy(r.header[:], b)
	return nil
}

// refused is the result for a batch that was not published.
func (r *receiving) refused(err error) (info AppendInfo, taken bool, _ error) {
	var fault *vfs.FaultError
	switch {
	case r.misfit != nil:
		info, err = r.log.appendLeader(r.options, r.misfit, r.leaderEpoch, terms{origin: Client}, r.nowMs)
		return info, true, err
	case errors.As(err, &fault):
		return info, true, r.log.writeFailed(err)
	case !r.received:
		return info, false, nil
	}
	return info, true, err
}
