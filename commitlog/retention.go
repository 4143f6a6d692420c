package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/vfs"
)

// ApplyRetention removes, oldest first, the segments that lie wholly before the
// log start offset, or are older than retention.ms, or without which the log
// still has retention.bytes; none that reaches highWatermark, and never the
// active one. The log start offset advances with them. Old is a segment whose
// largest timestamp, or where it has none whose file, is older than now.
//
// An active segment that is older than retention.ms is rolled instead, so that
// the next call can remove it: a clock that jumps ahead costs no data at once.
//
// Files are renamed here and removed after file.delete.delay.ms.
func (l *Log) ApplyRetention(now time.Time, highWatermark int64) (deleted int, err error) {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if err := l.sealAll(); err != nil && !errors.As(err, &noRoomError{}) {
		return 0, err // On a full disk, what is sealed can still make room.
	}
	l.mu.Lock()
	v, unsealed := l.snapshot(), len(l.sealing)
	l.mu.Unlock()
	n, err := l.expired(&v, now.UnixMilli(), highWatermark)
	if err != nil {
		return 0, fmt.Errorf("retention: %w", err)
	}
	n = min(n, len(v.segments)-1-unsealed)
	if err := l.dropFirst(n); err != nil {
		return 0, fmt.Errorf("retention: %w", err)
	}
	if n == len(v.segments)-1 {
		return n, l.rollExpired(now.UnixMilli())
	}
	return n, nil
}

// expired is how many segments at the start of the log can go.
func (l *Log) expired(v *view, nowMs, highWatermark int64) (int, error) {
	o := l.options.Load()
	excess := int64(-1)
	if o.RetentionBytes >= 0 {
		excess = -o.RetentionBytes
		for i := range v.segments {
			excess += v.endOf(i)
		}
	}
	n := 0
	for ; n < len(v.segments)-1; n++ {
		next, size := v.segments[n+1].base, v.segments[n].size.Load()
		if next > highWatermark {
			break
		}
		excess -= size
		if next <= v.start || o.RetentionBytes >= 0 && excess >= 0 {
			continue
		}
		old, err := v.segments[n].olderThan(o.RetentionMs, nowMs)
		if err != nil || !old {
			return n, err
		}
	}
	return n, nil
}

// olderThan says whether a sealed segment is past its retention time.
func (s *segment) olderThan(retentionMs, nowMs int64) (bool, error) {
	if retentionMs < 0 {
		return false, nil
	}
	if err := s.acquire(); err != nil {
		return false, err
	}
	defer s.release()
	newest, _, err := s.times.Last()
	if err != nil {
		return false, err
	}
	if newest.TimestampMs >= 0 {
		return nowMs-newest.TimestampMs > retentionMs, nil
	}
	info, err := s.fs.Stat(s.name)
	if err != nil || info.ModTime().IsZero() {
		return false, err
	}
	return nowMs-info.ModTime().UnixMilli() > retentionMs, nil
}

// rollExpired rolls an active segment all of whose records are past their
// retention time.
func (l *Log) rollExpired(nowMs int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.options.Load()
	newest := l.view.newest.TimestampMs
	if o.RetentionMs < 0 || l.view.position == 0 || newest < 0 || nowMs-newest <= o.RetentionMs {
		return nil
	}
	if err := l.usable(); err != nil {
		return err
	}
	return l.roll(o, l.view.end, nowMs)
}

// dropFirst removes the first n segments; maintenance is held.
func (l *Log) dropFirst(n int) error {
	if n == 0 {
		return nil
	}
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return err
	}
	dropped := l.view.segments[:n]
	start := max(l.view.start, l.view.segments[n].base)
	l.publish(func(v *view) {
		v.segments = slices.Clone(v.segments[n:])
		v.start = start
		v.generation++
	})
	l.forgetEpochs(start)
	l.mu.Unlock()
	return l.doom(dropped)
}

// doom renames the files of segments that are out of the view and has them
// removed later; maintenance is held. The oldest goes first and each durably
// before the next: did a later one go and an earlier one come back in a power cut,
// recovery would find a hole and drop what lies behind it.
func (l *Log) doom(segments []*segment) error {
	var errs []error
	for _, s := range segments {
		s.openBig()
		if err := s.rename(deletedSuffix); err != nil {
			errs = append(errs, err)
		} else if err := l.fs.SyncDir(l.dir); err != nil {
			errs = append(errs, l.fail(fmt.Errorf("remove segment %s: %w", s.name, err)))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLater(segments)
	return errors.Join(errs...)
}

// removeLater has the renamed files of segments removed after
// file.delete.delay.ms; mu is held.
func (l *Log) removeLater(segments []*segment) {
	if len(segments) == 0 {
		return
	}
	l.doomed = append(l.doomed, segments...)
	l.after(l.options.Load().FileDeleteDelay, func() { _ = l.purge(segments) }) // Leftovers go at the next Open.
}

// purge closes doomed segments, once their last chunk is released, and removes
// their files.
func (l *Log) purge(segments []*segment) error {
	var errs []error
	for _, s := range segments {
		errs = append(errs, s.closeAfter(s.shrink), s.remove(deletedSuffix))
	}
	l.mu.Lock()
	l.doomed = slices.DeleteFunc(l.doomed, func(s *segment) bool { return slices.Contains(segments, s) })
	l.mu.Unlock()
	return errors.Join(errs...)
}

// shrinkBytes is how much of a doomed file goes at a time. Whoever syncs another file
// waits for what the journal has to say of this one: while 768 MiB were unlinked at
// once for up to 192 ms, in steps of 64 MiB for up to 52 ms, and the whole took no
// longer (ext4, a busy machine).
const shrinkBytes = 64 << 20

// shrink truncates the file of a segment that is to be removed and has no readers any
// more, step by step. It goes by the open file: after two compactions, or truncations,
// within file.delete.delay.ms the name belongs to a later segment of the same base,
// and that one may still be read. It is a help: the removal takes what is left.
func (s *segment) shrink(f vfs.File) {
	for size := s.size.Load() - shrinkBytes; size > 0; size -= shrinkBytes {
		if f.Truncate(size) != nil {
			return
		}
	}
}

// openBig opens the file of a segment that nobody has used yet, for shrink.
func (s *segment) openBig() {
	if s.size.Load() <= shrinkBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.openFile() // Without it, the file goes at once.
}

// AdvanceLogStart makes offset the log start offset (DeleteRecords): earlier
// records can no longer be read, and ApplyRetention removes the segments that
// hold nothing else. The log start offset never goes back; beyond the log end
// offset is ErrOffsetOutOfRange.
func (l *Log) AdvanceLogStart(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset > l.view.end {
		return ErrOffsetOutOfRange
	}
	if offset <= l.view.start {
		return nil
	}
	l.publish(func(v *view) { v.start = offset })
	l.forgetEpochs(offset)
	return nil
}

// ExpireProducers forgets the producers not seen for producer.id.expiration.ms
// and returns how many.
func (l *Log) ExpireProducers(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.Expire(now.UnixMilli(), l.options.Load().ProducerExpiryMs)
}
