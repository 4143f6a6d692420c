package commitlog

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"tidemark/commitlog/producer"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// OpenReport says what Open found and did. Anything but a zero Corruption and
// DroppedSynced false is worth more than a line in a log: records that were
// acknowledged may be gone, and a replica that found it must not lead before it
// has fetched again.
type OpenReport struct {
	// SegmentsScanned counts segments whose every batch was checked.
	SegmentsScanned int
	// ScannedBytes is what those segments held.
	ScannedBytes int64
	// TruncatedBytes were cut off behind the log end offset, dropped segments
	// included.
	TruncatedBytes int64
	// SegmentsDropped counts whole segments that lay behind the cut.
	SegmentsDropped int
	// Corruption is set when what was cut off was not just a torn tail: whole
	// batches lay behind the damage.
	Corruption *CorruptError
	// DroppedSynced says that the log now ends before the recovery point: what
	// had been on stable storage is gone.
	DroppedSynced bool
	// Notes are one sentence each about leftovers removed, checkpoints and
	// snapshots rebuilt.
	Notes []string
}

// Open opens the log in dir, or creates an empty one that starts at
// s.LogStartOffset, and recovers it.
//
// After a clean shutdown only the last index entry's neighbourhood is read. After
// any other, every batch of the segments that reach beyond the recovery point is
// checked, their indexes are rebuilt, the log is cut at the first byte that is no
// valid batch, and what is left is synced. Leader epochs and producer state are
// rebuilt where their files are missing or damaged. Report tells what was done.
// Files that are not the log's are left alone. The caller holds the lock of the
// log directory: a log must not be open twice.
func Open(fsys vfs.FS, dir string, o Options, s OpenState, c clock.Clock) (*Log, error) {
	l := &Log{}
	l.spawn = func(task func()) { l.tasks.Go(task) }
	if err := l.init(fsys, dir, o, s, c); err != nil {
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) init(fsys vfs.FS, dir string, o Options, s OpenState, c clock.Clock) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	l.fs, l.dir, l.clock, l.firstScanned = fsys, dir, c, math.MaxInt64
	l.options.Store(&o)
	l.closing = make(chan struct{})
	l.joinBackground(o.Background)
	l.producers, l.timers = producer.NewState(), map[*timer]struct{}{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.abandon())
		}
	}()
	if err := makeDir(fsys, dir); err != nil {
		return err
	}
	found, err := l.findSegments(&o)
	if err != nil {
		return err
	}
	if err := l.recover(&s); err != nil {
		return err
	}
	if err := l.loadAborted(found); err != nil {
		return err
	}
	if err := l.activate(&o, &s); err != nil {
		return err
	}
	if err := l.loadEpochs(); err != nil {
		return err
	}
	l.view.start = max(s.LogStartOffset, l.view.segments[0].base)
	if s.FirstDirty <= l.view.end {
		l.firstDirty.Store(s.FirstDirty) // Else the log is not the one that was cleaned.
	}
	if err := l.trimEpochs(); err != nil {
		return err
	}
	if err := l.removeStraySnapshots(found.snapshots); err != nil {
		return err
	}
	highWatermark := min(s.HighWatermark, l.view.end) // A power cut may have taken what was replicated.
	l.unstable.begin(highWatermark)
	return l.loadProducers(highWatermark)
}

// makeDir makes the directory of a new log, and its name durable.
func makeDir(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); err == nil {
		return nil
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(dir))
}

// abandon closes what a failed Open had opened.
func (l *Log) abandon() error {
	var err error
	if l.appender != nil {
		err = l.appender.Close()
	}
	for _, s := range l.view.segments {
		err = errors.Join(err, s.close())
	}
	return err
}

func (l *Log) notef(format string, args ...any) {
	l.report.Notes = append(l.report.Notes, fmt.Sprintf(format, args...))
}

// findSegments tidies the directory and fills the view with its segments.
func (l *Log) findSegments(o *Options) (listing, error) {
	notes, err := tidy(l.fs, l.dir)
	l.report.Notes = append(l.report.Notes, notes...)
	if err != nil {
		return listing{}, err
	}
	found, err := list(l.fs, l.dir)
	if err != nil {
		return listing{}, err
	}
	for _, f := range found.indexes {
		if _, ok := found.sizes[f.base]; ok {
			continue
		}
		name := FileName(f.base, f.suffix)
		l.notef("removed orphan %s", name)
		if err := l.fs.Remove(filepath.Join(l.dir, name)); err != nil {
			return listing{}, err
		}
	}
	for _, base := range found.bases {
		size := found.sizes[base]
		if size > math.MaxInt32 {
			return listing{}, fmt.Errorf("segment %s of %d bytes", FileName(base, LogSuffix), size)
		}
		l.view.segments = append(l.view.segments, l.newSegment(o, base, size))
	}
	return found, nil
}

// activate makes the last segment the active one, or an empty one where there is
// none or the log start offset lies behind the log.
func (l *Log) activate(o *Options, s *OpenState) error {
	nowMs := l.clock.Now().UnixMilli()
	if len(l.view.segments) > 0 && l.view.end < s.LogStartOffset {
		l.notef("the log ends at %d, before its start offset %d: it begins anew there", l.view.end, s.LogStartOffset)
		if err := l.dropFrom(0); err != nil {
			return err
		}
	}
	if len(l.view.segments) == 0 {
		fresh, appender, x, err := l.create(o, s.LogStartOffset)
		if err != nil {
			return err
		}
		l.appender, l.indexer, l.age = appender, x, newSegmentAge(o, nowMs)
		l.view.segments, l.view.end, l.view.newest = []*segment{fresh}, s.LogStartOffset, x.newest
		l.recoveryPoint.Store(s.LogStartOffset)
		return l.syncNames()
	}
	last := l.view.active()
	if err := last.acquire(); err != nil {
		return err
	}
	defer last.release()
	appender, err := last.openAppender(o)
	if err != nil {
		return err
	}
	l.appender = appender
	x, age, err := last.resume(o, nowMs)
	if err != nil {
		return err
	}
	l.indexer, l.age = x, age
	l.view.position, l.view.newest = last.size.Load(), x.newest
	l.recoveryPoint.Store(l.view.end)
	return nil
}
