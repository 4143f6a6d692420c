package commitlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"tidemark/commitlog/producer"
	"tidemark/engines"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// segmentAge tells how old the active segment is, as Kafka's
// LogSegment.shouldRoll counts it: by the timestamps of its batches where they
// have some, else by the clock.
type segmentAge struct {
	// firstMs is the largest timestamp of the first batch, or
	// record.NoTimestamp.
	firstMs int64
	// createdMs is when the segment was created or loaded.
	createdMs int64
	// limitMs is segment.ms less this segment's jitter.
	limitMs int64
}

func newSegmentAge(o *Options, nowMs int64) segmentAge {
	a := segmentAge{firstMs: record.NoTimestamp, createdMs: nowMs, limitMs: o.SegmentMs}
	if jitter := min(o.SegmentJitterMs, o.SegmentMs); jitter > 0 {
		a.limitMs -= rand.Int64N(jitter)
	}
	return a
}

func (a *segmentAge) note(position, timestampMs int64) {
	if position == 0 {
		a.firstMs = timestampMs
	}
}

// over says whether a batch with the given timestamp belongs into a new segment.
func (a *segmentAge) over(timestampMs, nowMs int64) bool {
	if a.firstMs >= 0 && timestampMs >= 0 {
		return timestampMs-a.firstMs > a.limitMs
	}
	return nowMs-a.createdMs > a.limitMs
}

// sealing is a rolled segment on its way to being sealed.
type sealing struct {
	segment  *segment
	appender engines.Appender
	// next is the base offset of the segment after it.
	next int64
	// snapshot is the producer state at next.
	snapshot []byte
	// closed: the batches are on stable storage and the appender is closed, and
	// only the side files are missing.
	closed bool
}

// maxBacklog bounds how many rolled segments wait to be sealed; an append that
// finds more helps out.
const maxBacklog = 4

// relieve seals segments if too many wait. No lock is held.
func (l *Log) relieve() {
	if l.backlog.Load() >= maxBacklog {
		l.sealRolled()
	}
}

// rollFor rolls if the active segment cannot take b; mu is held.
func (l *Log) rollFor(o *Options, b record.Batch, nowMs int64) (rolled bool, err error) {
	base := l.view.end
	if b.LastOffset()-l.view.active().base > maxRelativeOffset {
		// A gap too wide for one segment: the new one begins behind it.
		return true, l.roll(o, b.BaseOffset(), nowMs)
	}
	if l.view.position == 0 || !l.isFull(o, int64(b.Size()), b.MaxTimestamp(), nowMs) {
		return false, nil
	}
	return true, l.roll(o, base, nowMs)
}

// isFull says whether a batch of so many bytes, with that timestamp, belongs into
// a new segment.
func (l *Log) isFull(o *Options, sizeBytes, timestampMs, nowMs int64) bool {
	return l.view.position+sizeBytes > o.SegmentBytes || l.indexer.full() || l.age.over(timestampMs, nowMs)
}

// Roll starts a new segment unless the active one is empty.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil || l.view.position == 0 {
		return err
	}
	return l.roll(l.options.Load(), l.view.end, l.clock.Now().UnixMilli())
}

// roll makes base the base offset of a new active segment. What takes time with
// the former one is left to sealRolled. mu is held.
func (l *Log) roll(o *Options, base, nowMs int64) error {
	former := l.view.active()
	s, appender, x, err := l.create(o, base)
	if err != nil {
		return l.writeFailed(fmt.Errorf("roll: %w", err))
	}
	l.indexer.seal()
	former.size.Store(l.view.position)
	l.sealing = append(l.sealing, &sealing{
		segment: former, appender: l.appender, next: base, snapshot: producer.Encode(l.producers.Entries()),
	})
	l.backlog.Store(int32(len(l.sealing)))
	l.appender, l.indexer, l.age = appender, x, newSegmentAge(o, nowMs)
	l.publish(func(v *view) {
		v.segments = append(slices.Clone(v.segments), s)
		v.end, v.position, v.newest = base, 0, x.newest
	})
	l.tendRolled()
	l.spawn(l.sealRolled)
	return nil
}

// newSegment describes a segment; nothing is opened.
func (l *Log) newSegment(o *Options, base, size int64) *segment {
	s := &segment{
		fs: l.fs, dir: l.dir, base: base, name: l.path(FileName(base, LogSuffix)),
		indexMaxBytes: o.IndexMaxBytes, indexInterval: o.IndexIntervalBytes,
		read: o.Read, options: engines.ReadOptions{SegmentBytes: o.SegmentBytes},
	}
	s.size.Store(size)
	s.cache.started = size
	s.cache.dropped.Store(size)
	return s
}

// create makes an empty segment, ready to append to. What stood there under its
// name is overwritten: a former life's leftover. On an error the new files are
// removed.
func (l *Log) create(o *Options, base int64) (*segment, engines.Appender, indexer, error) {
	s := l.newSegment(o, base, 0)
	l.namesChanged.Store(true)
	appender, x, err := s.createFiles(o)
	if err != nil {
		_ = s.close() // The first error tells more, and the files go anyway.
		_ = s.eachFile(func(path string) error { return l.fs.Remove(path) })
		return nil, nil, indexer{}, err
	}
	return s, appender, x, nil
}

func (s *segment) createFiles(o *Options) (engines.Appender, indexer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.fs.OpenOrCreate(s.name)
	if err != nil {
		return nil, indexer{}, err
	}
	s.file, s.ended = file, vfs.EndedOf(file)
	if err := file.Truncate(0); err != nil {
		return nil, indexer{}, err
	}
	x, err := s.createIndexes("")
	if err != nil {
		return nil, indexer{}, err
	}
	if err := s.open(); err != nil {
		return nil, indexer{}, err
	}
	appender, err := s.openAppender(o)
	return appender, x, err
}

// sealRolled finishes the segments that were rolled: their files get their final
// size and go to stable storage, and with them the producer snapshot.
func (l *Log) sealRolled() {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	_ = l.sealAll() // Kept as the log's failure; the next append reports it.
}

// sealAll seals all rolled segments; maintenance is held. Where the disk has no
// room for the side files of one, it and those after it wait for the next call.
func (l *Log) sealAll() error {
	for {
		l.mu.Lock()
		if len(l.sealing) == 0 || l.Err() != nil {
			l.mu.Unlock()
			return l.Err()
		}
		next := l.sealing[0]
		l.mu.Unlock()
		if err := l.seal(next); err != nil {
			return l.sealFailed(err)
		}
		l.mu.Lock()
		l.sealing = l.sealing[1:]
		l.backlog.Store(int32(len(l.sealing)))
		l.mu.Unlock()
		l.advanceRecoveryPoint(next.next)
	}
}

// noRoomError says that a side file did not fit on a full disk; nothing is lost by
// writing it later.
type noRoomError struct{ error }

// Unwrap returns the disk's error.
func (e noRoomError) Unwrap() error { return e.error }

// sealFailed decides what a failed seal means.
func (l *Log) sealFailed(err error) error {
	if errors.As(err, &noRoomError{}) {
		return err
	}
	return l.fail(err)
}

// seal finishes one rolled segment, or what a former call left undone.
func (l *Log) seal(x *sealing) error {
	if !x.closed {
		if err := x.appender.Flush(); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
		if err := x.appender.Close(); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
		x.closed = true
	}
	if err := x.segment.writeIndexes(); err != nil {
		return sealError(err)
	}
	if err := x.segment.sync(); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if err := vfs.WriteFileAtomic(l.fs, l.path(FileName(x.next, SnapshotSuffix)), x.snapshot); err != nil {
		return sealError(err)
	}
	return nil
}

// sealError is the error of a side file that is written whole again.
func sealError(err error) error {
	err = fmt.Errorf("seal: %w", err)
	if vfs.IsFull(err) {
		return noRoomError{err}
	}
	return err
}

// writeIndexes gives the files all entries of the indexes, which stay in memory
// where there is no room.
func (s *segment) writeIndexes() error {
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	err := errors.Join(s.offsets.Flush(), s.times.Flush())
	if aborted := s.aborted.Load(); aborted != nil {
		err = errors.Join(err, aborted.Flush())
	}
	return err
}

// sync puts the segment's files on stable storage.
func (s *segment) sync() error {
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	if err := s.file.Sync(); err != nil {
		return err
	}
	if err := s.offsets.Sync(); err != nil {
		return err
	}
	if aborted := s.aborted.Load(); aborted != nil {
		if err := aborted.Sync(); err != nil {
			return err
		}
	}
	return s.times.Sync()
}
