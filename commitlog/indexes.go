package commitlog

import (
	"errors"
	"fmt"
	"io/fs"

	"tidemark/commitlog/index"
)

// openIndexes opens the two indexes, made anew where they are missing or damaged; mu is
// held.
func (s *segment) openIndexes() error {
	if s.offsets != nil && s.times != nil {
		return nil
	}
	offsets, err := index.OpenOffsets(s.fs, s.path(IndexSuffix), s.base, s.indexMaxBytes, s.size.Load())
	if err == nil {
		times, timesErr := index.OpenTimes(s.fs, s.path(TimeIndexSuffix), s.base, s.indexMaxBytes)
		if timesErr == nil {
			s.offsets, s.times = offsets, times
			if timesErr = s.checkNewest(); timesErr == nil {
				return nil
			}
			_ = times.Close() // Only read from, as the other.
			s.offsets, s.times = nil, nil
		}
		_ = offsets.Close()
		err = timesErr
	}
	if !errors.Is(err, index.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open segment: %w", err)
	}
	return s.rebuildIndexes()
}

// checkNewest holds the last entry of the time index, by which retention goes,
// against the batch it names; mu is held.
func (s *segment) checkNewest() error {
	if s.size.Load() == 0 {
		return nil
	}
	newest, ok, err := s.times.Last()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("no timestamp: %w", index.ErrDamaged)
	}
	p, _, err := s.findIn(s.file, newest.Offset, s.size.Load())
	if errors.Is(err, errIndexLies) || err == nil && (p.last != newest.Offset || p.newest != newest.TimestampMs) {
		err = fmt.Errorf("timestamp %d at %d: %w", newest.TimestampMs, newest.Offset, index.ErrDamaged)
	}
	return err
}

// rebuildIndexes makes both indexes of a sealed segment from its batch headers;
// mu is held. They get their names once they are whole and synced: the first part
// of a time index looks like one, and retention goes by its last entry.
func (s *segment) rebuildIndexes() error {
	x, err := s.createIndexes(tmpSuffix)
	if err != nil {
		return err
	}
	r := newHeaders(s.file, s.name, s.size.Load())
	defer r.close()
	for at := int64(0); at < s.size.Load(); {
		h, err := r.read(at)
		if err == nil && (h.BaseOffset() < s.base || h.LastOffset()-s.base > maxRelativeOffset) {
			err = r.corrupt(at, fmt.Errorf("offset %d in segment %d", h.BaseOffset(), s.base))
		}
		if err == nil {
			x.note(h)
			err = x.spill()
		}
		if err != nil {
			return fmt.Errorf("rebuild indexes: %w", errors.Join(err, s.closeIndexes()))
		}
		at = h.end()
	}
	x.seal()
	err = errors.Join(s.offsets.Sync(), s.times.Sync())
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix} {
		if err == nil {
			err = s.fs.Rename(s.path(suffix)+tmpSuffix, s.path(suffix))
		}
	}
	if err != nil {
		return fmt.Errorf("rebuild indexes: %w", errors.Join(err, s.closeIndexes()))
	}
	return nil
}

// createIndexes opens two empty indexes in place of those in use, under names with
// a further suffix; mu is held.
func (s *segment) createIndexes(suffix string) (indexer, error) {
	if err := s.closeIndexes(); err != nil {
		return indexer{}, err
	}
	offsets, err := index.CreateOffsets(s.fs, s.path(IndexSuffix)+suffix, s.base, s.indexMaxBytes)
	if err != nil {
		return indexer{}, err
	}
	times, err := index.CreateTimes(s.fs, s.path(TimeIndexSuffix)+suffix, s.base, s.indexMaxBytes)
	if err != nil {
		_ = offsets.Close() // Empty.
		return indexer{}, err
	}
	s.offsets, s.times = offsets, times
	return newIndexer(offsets, times, s.indexInterval), nil
}

func (s *segment) closeIndexes() error {
	var err error
	if s.offsets != nil {
		err = s.offsets.Close()
	}
	if s.times != nil {
		err = errors.Join(err, s.times.Close())
	}
	s.offsets, s.times = nil, nil
	return err
}

// resume finds what appending to s, which ends with whole batches, goes on from;
// s is acquired.
func (s *segment) resume(o *Options, nowMs int64) (indexer, segmentAge, error) {
	age := newSegmentAge(o, nowMs)
	x, _, err := s.resumeIndexes(o.IndexIntervalBytes)
	if err != nil || s.size.Load() == 0 {
		return x, age, err
	}
	r := s.headers(s.size.Load())
	defer r.close()
	h, err := r.read(0)
	if err != nil {
		return x, age, err
	}
	age.note(0, h.MaxTimestamp())
	return x, age, nil
}

// resumeIndexes is what resume says of the indexes; next is the offset behind the
// last batch. s is acquired, or its mu is held.
func (s *segment) resumeIndexes(interval int64) (x indexer, next int64, err error) {
	x, next = newIndexer(s.offsets, s.times, interval), s.base
	last, indexed, err := s.offsets.Last()
	if err != nil {
		return x, next, err
	}
	newest, ok, err := s.times.Last()
	if err != nil {
		return x, next, err
	}
	if ok {
		x.newest = newest
	}
	x.since = s.size.Load() - last.Position
	r := s.headers(s.size.Load())
	defer r.close()
	for at := last.Position; at < s.size.Load(); {
		h, err := r.read(at)
		byIndex := indexed && at == last.Position
		if err == nil && byIndex {
			err = s.checkEntry(h, last)
		}
		if err != nil {
			return x, next, s.blame(err, byIndex)
		}
		x.observe(h)
		at, next = h.end(), h.NextOffset()
	}
	return x, next, nil
}
