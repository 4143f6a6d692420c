package commitlog

import (
	"errors"
	"fmt"

	"tidemark/commitlog/epoch"
	"tidemark/commitlog/index"
)

// TruncateTo drops the batches that reach offset or lie after it, and with them
// what the leader epochs and the producer state know of them. The log end offset
// becomes offset, or less where a batch begins before offset and reaches it. An
// offset at or after the log end offset drops only an epoch that began there and
// wrote nothing, which the leader may not have; one before the log start offset
// drops everything, as TruncateFullyAndStartAt. Chunks of what is dropped
// from a segment that stays end in an error, or show zeros or what is appended next; a
// follower's readers learn of it by the leader epoch. The truncation is durable
// on return. The recovery point falls to the new end: the caller writes its
// checkpoint before it appends again, or a crash would trust what it must check.
//
// A negative offset is ErrOffsetOutOfRange; after any other error the log is
// failed.
func (l *Log) TruncateTo(offset int64) error {
	if offset < 0 {
		return ErrOffsetOutOfRange
	}
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if err := l.sealAll(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset >= l.view.end {
		return l.changeEpochs(func(c *epoch.Cache) bool { return c.TruncateEnd(l.view.end) })
	}
	if err := l.sealLate(); err != nil {
		return err
	}
	var err error
	if offset <= l.view.start {
		err = l.restartAt(offset)
	} else {
		err = l.truncateTo(offset)
	}
	if err != nil {
		return l.fail(fmt.Errorf("truncate to %d: %w", offset, err))
	}
	return nil
}

// TruncateFullyAndStartAt drops everything and makes offset both log start and
// log end offset, as a follower does whose next offset the leader no longer has.
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	if offset < 0 {
		return ErrOffsetOutOfRange
	}
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if err := l.sealAll(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.sealLate(); err != nil {
		return err
	}
	if err := l.restartAt(offset); err != nil {
		return l.fail(fmt.Errorf("truncate to %d: %w", offset, err))
	}
	return nil
}

// sealLate seals what was rolled between sealAll and taking mu; maintenance and
// mu are held.
func (l *Log) sealLate() error {
	for len(l.sealing) > 0 {
		if err := l.seal(l.sealing[0]); err != nil {
			return l.sealFailed(err)
		}
		l.sealing = l.sealing[1:]
		l.backlog.Store(int32(len(l.sealing)))
	}
	return nil
}

// truncateTo drops the tail from offset on, which lies inside the log;
// maintenance and mu are held and no segment waits to be sealed.
func (l *Log) truncateTo(offset int64) error {
	v := l.view
	i := v.floor(offset)
	if i > 0 && v.segments[i].base == offset {
		i-- // Nothing of segment i would stay: its predecessor becomes active.
	}
	position, err := v.positionIn(i, offset)
	if err != nil {
		return err
	}
	end, err := v.offsetAt(i, position, offset)
	if err != nil {
		return err
	}
	if end <= v.start {
		return l.restartAt(v.start)
	}
	l.recoveryPoint.Store(min(l.recoveryPoint.Load(), end))
	l.forgetClean(end)
	if err := l.appender.Close(); err != nil {
		return err
	}
	s, size := v.segments[i], v.endOf(i)
	// Readers must not look behind the new end before it is cut off.
	l.publish(func(v *view) {
		v.segments = v.segments[: i+1 : i+1]
		v.end, v.position, v.generation = end, position, v.generation+1
	})
	if err := l.dropNow(v.segments[i+1:]); err != nil {
		return err
	}
	s.size.Store(size)
	if err := l.reopen(s, position, end); err != nil {
		return err
	}
	if err := l.changeEpochs(func(c *epoch.Cache) bool { return c.TruncateEnd(end) }); err != nil {
		return err
	}
	return l.reloadProducers()
}

// offsetAt is the log end offset once segments[i] ends at position: offset,
// unless the batch cut off there begins before it.
func (v *view) offsetAt(i int, position, offset int64) (int64, error) {
	s := v.segments[i]
	if position == v.endOf(i) {
		return offset, nil
	}
	if err := s.acquire(); err != nil {
		return 0, err
	}
	defer s.release()
	r := s.headers(v.endOf(i))
	defer r.close()
	h, err := r.read(position)
	if err != nil {
		return 0, err
	}
	return min(offset, h.BaseOffset()), nil
}

// reopen cuts s off at position, the log end offset end, and makes it the active
// segment; mu is held.
func (l *Log) reopen(s *segment, position, end int64) error {
	o := l.options.Load()
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	if err := s.file.Truncate(position); err != nil {
		return err
	}
	if err := errors.Join(s.offsets.TruncateTo(end), s.times.TruncateTo(end)); err != nil {
		return err
	}
	s.size.Store(position)
	appender, err := s.openAppender(o)
	if err != nil {
		return err
	}
	x, age, err := s.resume(o, l.clock.Now().UnixMilli())
	if err != nil {
		return errors.Join(err, appender.Close())
	}
	l.appender, l.indexer, l.age = appender, x, age
	// Who looked in between may have met the former newest, or entries behind the end.
	l.publish(func(v *view) { v.newest, v.generation = x.newest, v.generation+1 })
	if err := s.file.Sync(); err != nil {
		return err
	}
	return l.fs.SyncDir(l.dir)
}

// resume finds what appending to s, which ends with whole batches, goes on from;
// s is acquired.
func (s *segment) resume(o *Options, nowMs int64) (indexer, segmentAge, error) {
	x, age := newIndexer(s.offsets, s.times, o.IndexIntervalBytes), newSegmentAge(o, nowMs)
	last, _, err := s.offsets.Last()
	if err != nil {
		return x, age, err
	}
	newest, ok, err := s.times.Last()
	if err != nil {
		return x, age, err
	}
	if ok {
		x.newest = newest
	}
	x.since = s.size.Load() - last.Position
	r := s.headers(s.size.Load())
	defer r.close()
	for at := last.Position; at < s.size.Load(); {
		h, err := r.read(at)
		if err != nil {
			return x, age, err
		}
		x.observe(h)
		at = h.end()
	}
	if s.size.Load() > 0 {
		h, err := r.read(0)
		if err != nil {
			return x, age, err
		}
		age.note(0, h.MaxTimestamp())
	}
	return x, age, nil
}

// dropNow renames the files of segments at the end of the log, the last first
// and each durably before the next: a crash on the way must not leave a hole. mu
// is held.
func (l *Log) dropNow(segments []*segment) error {
	for i := len(segments) - 1; i >= 0; i-- {
		if err := segments[i].rename(deletedSuffix); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return err
		}
	}
	l.removeLater(segments)
	return nil
}

// restartAt replaces all segments by an empty one at offset; maintenance and mu
// are held and no segment waits to be sealed.
func (l *Log) restartAt(offset int64) error {
	l.forgetClean(0)
	if err := l.appender.Close(); err != nil {
		return err
	}
	dropped := l.view.segments
	l.publish(func(v *view) { v.generation++ })
	if err := l.dropNow(dropped); err != nil {
		return err
	}
	o := l.options.Load()
	s, appender, x, err := l.create(o, offset)
	if err != nil {
		return err
	}
	l.appender, l.indexer, l.age = appender, x, newSegmentAge(o, l.clock.Now().UnixMilli())
	l.publish(func(v *view) {
		v.segments, v.start, v.end, v.position = []*segment{s}, offset, offset, 0
		v.newest = index.Timestamp{TimestampMs: index.NoTimestamp}
		v.generation++
	})
	l.recoveryPoint.Store(offset)
	err = l.changeEpochs(func(c *epoch.Cache) bool { return c.TruncateEnd(0) })
	return errors.Join(err, l.reloadProducers(), l.syncNames())
}
