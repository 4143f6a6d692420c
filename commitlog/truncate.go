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
// drops everything, as TruncateFullyAndStartAt. Who reads meanwhile finds the log
// as it was, as it will be, or without its last segments. Chunks of what is cut off
// end in an error; only one that the kernel sends from the page cache by itself may
// show zeros up to the next page of the file. The truncation is durable on return.
// The recovery point falls to the new end: the caller writes its checkpoint before
// it appends again, or a crash would trust what it must check.
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
//
// Appends go on in a new segment. In a file that was cut and grows again, a chunk
// that was handed out before would show reserved space or what is appended next.
func (l *Log) truncateTo(offset int64) error {
	v := l.view
	i := v.floor(offset)
	position, err := v.positionIn(i, offset)
	if errors.Is(err, errIndexLies) {
		if err = l.remakeIndexes(v.segments[i]); err == nil {
			position, err = v.positionIn(i, offset)
		}
	}
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
	s := v.segments[i]
	s.size.Store(v.endOf(i))
	base := s.base
	if position == 0 {
		err = l.dropTail(i)
	} else if err = l.dropTail(i + 1); err == nil {
		base, err = l.cut(s, position, end)
	}
	if err != nil {
		return err
	}
	if err := l.goOnAt(base, v.start, end); err != nil {
		return err
	}
	if err := l.changeEpochs(func(c *epoch.Cache) bool { return c.TruncateEnd(end) }); err != nil {
		return err
	}
	return l.reloadProducers()
}

// remakeIndexes makes the indexes of s anew; maintenance and mu are held.
func (l *Log) remakeIndexes(s *segment) error {
	if s == l.view.active() {
		return l.refillActive(s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rebuildIndexes()
}

// offsetAt is the log end offset once segments[i] ends at position: offset,
// unless the batch cut off there begins before it.
func (v *view) offsetAt(i int, position, offset int64) (int64, error) {
	if position == v.endOf(i) {
		return offset, nil
	}
	base, err := v.baseOffset(i, position)
	return min(offset, base), err
}

// dropTail takes segments[first:] out of the view and renames their files. What is
// left is a whole log to readers, but nobody appends to it; without any segment it
// is empty. mu is held.
func (l *Log) dropTail(first int) error {
	v := l.view
	end, position, newest := v.start, int64(0), index.Timestamp{TimestampMs: index.NoTimestamp}
	if first > 0 {
		end, position, newest = v.nextOf(first-1), v.endOf(first-1), v.newest
	}
	if first > 0 && first < len(v.segments) {
		var err error
		if newest, err = v.segments[first-1].newest(); err != nil {
			return err
		}
	}
	l.publish(func(v *view) {
		v.segments, v.end, v.position, v.newest = v.segments[:first:first], end, position, newest
		v.generation++
	})
	return l.dropNow(v.segments[first:])
}

// newest is the largest timestamp of a sealed segment.
func (s *segment) newest() (index.Timestamp, error) {
	if err := s.acquire(); err != nil {
		return index.Timestamp{}, err
	}
	defer s.release()
	newest, _, err := s.times.Last()
	return newest, err
}

// cut ends s, the last of the view, at position and the log at end, and returns the
// offset behind the last batch that stays. All of it is durable on return. mu is
// held.
func (l *Log) cut(s *segment, position, end int64) (next int64, err error) {
	if next, err = l.cutFiles(s, position, end); err != nil {
		return 0, err
	}
	return next, s.sync()
}

// cutFiles cuts the files of s while its readers wait: to each of them, file,
// indexes and view are either as before or as after.
func (l *Log) cutFiles(s *segment, position, end int64) (next int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	if err := s.file.Truncate(position); err != nil {
		return 0, err
	}
	s.size.Store(position)
	if err := errors.Join(s.offsets.TruncateTo(end), s.times.TruncateTo(end)); err != nil {
		return 0, err
	}
	if aborted := s.aborted.Load(); aborted != nil {
		if err := aborted.TruncateTo(end); err != nil {
			return 0, err
		}
	}
	x, next, err := s.resumeIndexes(s.indexInterval)
	if errors.Is(err, errIndexLies) {
		x = newIndexer(s.offsets, s.times, s.indexInterval)
		if err = s.refill(&x, position); err == nil {
			x, next, err = s.resumeIndexes(s.indexInterval)
		}
	}
	if err != nil {
		return 0, err
	}
	x.seal()
	l.publish(func(v *view) {
		v.end, v.position, v.newest = end, position, x.newest
		v.generation++
	})
	return next, nil
}

// goOnAt makes an empty segment at base the active one, in a log from start to end.
// mu is held.
func (l *Log) goOnAt(base, start, end int64) error {
	o := l.options.Load()
	s, appender, x, err := l.create(o, base)
	if err != nil {
		return err
	}
	l.appender, l.indexer, l.age = appender, x, newSegmentAge(o, l.clock.Now().UnixMilli())
	l.publish(func(v *view) {
		v.segments = append(v.segments, s)
		v.start, v.end, v.position, v.newest = start, end, 0, x.newest
		v.generation++
	})
	l.tendRolled()
	return l.syncNames()
}

// dropNow renames the files of segments at the end of the log, the last first
// and each durably before the next: a crash on the way must not leave a hole. mu
// is held.
func (l *Log) dropNow(segments []*segment) error {
	defer l.removeLater(segments)
	for i := len(segments) - 1; i >= 0; i-- {
		if err := segments[i].rename(deletedSuffix); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return err
		}
	}
	return nil
}

// restartAt replaces all segments by an empty one at offset; maintenance and mu
// are held and no segment waits to be sealed.
func (l *Log) restartAt(offset int64) error {
	l.forgetClean(0)
	if err := l.appender.Close(); err != nil {
		return err
	}
	l.view.active().size.Store(l.view.position)
	if err := l.dropTail(0); err != nil {
		return err
	}
	if err := l.goOnAt(offset, offset, offset); err != nil {
		return err
	}
	l.recoveryPoint.Store(offset)
	err := l.changeEpochs(func(c *epoch.Cache) bool { return c.TruncateEnd(0) })
	return errors.Join(err, l.reloadProducers())
}
