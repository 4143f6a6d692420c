package commitlog

import (
	"errors"
	"fmt"

	"tidemark/commitlog/index"
	"tidemark/protocol/record"
)

// TimestampOffset is the timestamp of a record and its offset.
type TimestampOffset struct {
	TimestampMs, Offset int64
}

// OffsetForTimestamp returns the first record, by offset, whose timestamp is at
// least timestampMs; ok is false where there is none. It looks inside compressed
// batches. Records appended meanwhile may or may not be seen; the caller compares
// the offset with its bound.
func (l *Log) OffsetForTimestamp(timestampMs int64) (found TimestampOffset, ok bool, err error) {
	return l.query(func(v *view) (found TimestampOffset, ok bool, err error) {
		for i := 0; i < len(v.segments) && err == nil && !ok; i++ {
			err = l.mended(v, i, func() error {
				newest, err := v.newestOf(i)
				if err == nil && newest.TimestampMs >= timestampMs {
					found, ok, err = v.firstAt(i, timestampMs)
				}
				return err
			})
		}
		return found, ok, err
	})
}

// OffsetOfMaxTimestamp returns the first record that has the largest timestamp of
// the log (KIP-734); ok is false for a log without timestamps.
func (l *Log) OffsetOfMaxTimestamp() (found TimestampOffset, ok bool, err error) {
	return l.query(func(v *view) (found TimestampOffset, ok bool, err error) {
		best, at := index.Timestamp{TimestampMs: index.NoTimestamp}, 0
		for i := range v.segments {
			err := l.mended(v, i, func() error {
				newest, err := v.newestOf(i)
				if err == nil && newest.TimestampMs > best.TimestampMs {
					best, at = newest, i
				}
				return err
			})
			if err != nil {
				return TimestampOffset{}, false, err
			}
		}
		if best.TimestampMs < 0 {
			return TimestampOffset{}, false, nil
		}
		err = l.mended(v, at, func() (err error) {
			found, ok, err = v.firstAt(at, best.TimestampMs)
			return err
		})
		return found, ok, err
	})
}

// query runs ask on the current view, again when the view was overtaken.
func (l *Log) query(ask func(v *view) (TimestampOffset, bool, error)) (TimestampOffset, bool, error) {
	for {
		v := l.snapshot()
		found, ok, err := ask(&v)
		if l.stale(&v) {
			continue
		}
		if errors.Is(err, errSegmentGone) {
			err = ErrClosed
		}
		if err != nil {
			return TimestampOffset{}, false, fmt.Errorf("look up timestamp: %w", err)
		}
		return found, ok, nil
	}
}

// newestOf is the largest timestamp of segments[i] at or after the log start
// offset.
func (v *view) newestOf(i int) (index.Timestamp, error) {
	s, newest := v.segments[i], v.newest
	if i < len(v.segments)-1 {
		if err := s.acquire(); err != nil {
			return newest, err
		}
		last, _, err := s.times.Last()
		s.release()
		if err != nil {
			return newest, err
		}
		newest = last
	}
	if newest.Offset >= v.start || newest.TimestampMs < 0 {
		return newest, nil
	}
	// The record that has it was deleted: what is left is compared one by one.
	newest = index.Timestamp{TimestampMs: index.NoTimestamp}
	err := v.eachHeader(i, v.start, func(_ *segment, h header) error {
		if ms := h.MaxTimestamp(); ms > newest.TimestampMs && h.Count() > 0 {
			newest = index.Timestamp{TimestampMs: ms, Offset: h.LastOffset()}
		}
		return nil
	})
	return newest, err
}

// errFound ends a walk over headers.
var errFound = errors.New("found")

// firstAt is the first record of segments[i], at or after the log start offset,
// whose timestamp is at least timestampMs.
func (v *view) firstAt(i int, timestampMs int64) (found TimestampOffset, ok bool, err error) {
	from, err := v.floorOfTime(i, timestampMs)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	err = v.eachHeader(i, max(from, v.start), func(s *segment, h header) error {
		if h.MaxTimestamp() < timestampMs || h.Count() == 0 {
			return nil
		}
		b, err := s.readBatch(h.position, h.size)
		if err != nil {
			return err
		}
		if found, ok, err = firstRecord(b, timestampMs, v.start); err == nil && ok {
			err = errFound
		}
		return err
	})
	if err == errFound {
		err = nil
	}
	return found, ok, err
}

// floorOfTime is an offset of segments[i] before which no record reaches
// timestampMs.
func (v *view) floorOfTime(i int, timestampMs int64) (int64, error) {
	s := v.segments[i]
	if err := s.acquire(); err != nil {
		return 0, err
	}
	defer s.release()
	floor, ok, err := s.times.Floor(timestampMs)
	if err != nil || !ok {
		return s.base, err
	}
	return floor.Offset, nil
}

// firstRecord is the first record of b at or after start whose timestamp is at
// least timestampMs.
func firstRecord(b record.Batch, timestampMs, start int64) (TimestampOffset, bool, error) {
	r, err := b.Records(record.Limits{})
	if err != nil {
		return TimestampOffset{}, false, err
	}
	defer r.Close()
	var rec record.Record
	for r.Next(&rec) {
		at := TimestampOffset{b.BaseTimestamp() + rec.TimestampDelta, b.BaseOffset() + int64(rec.OffsetDelta)}
		if b.IsLogAppendTime() {
			at.TimestampMs = b.MaxTimestamp()
		}
		if at.TimestampMs >= timestampMs && at.Offset >= start {
			return at, true, nil
		}
	}
	return TimestampOffset{}, false, r.Err()
}
