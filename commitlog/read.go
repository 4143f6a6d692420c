package commitlog

import (
	"errors"
	"fmt"

	"tidemark/engines"
)

// ReadInfo is the answer to Read.
type ReadInfo struct {
	// Chunk holds whole batches; nil when there is nothing to give. The caller
	// releases it.
	Chunk engines.Chunk
	// Bytes is the length of the chunk.
	Bytes int64
	// SegmentBase and Position say where the chunk starts.
	SegmentBase, Position int64
	// NoRecords: compaction has emptied all batches of the chunk. NextOffset is the
	// offset after them.
	NoRecords  bool
	NextOffset int64
	// Aborted are the aborted transactions that have records in the chunk, by where
	// they began; ReadCommitted alone tells them.
	Aborted []AbortedTxn
	// LogStartOffset and LogEndOffset are those at the time of the read.
	LogStartOffset, LogEndOffset int64
}

// Read returns whole batches of one segment: from the one that contains offset,
// or the first after it, up to the last that ends below boundOffset, in at most
// maxBytes bytes; with minOneBatch the first may be larger (KIP-74). The chunk
// is nil where that leaves nothing. An offset outside the log is
// ErrOffsetOutOfRange; bytes that are no batches are a *CorruptError. Reads run
// concurrently with each other and with appends.
func (l *Log) Read(offset, maxBytes, boundOffset int64, minOneBatch bool) (ReadInfo, error) {
	return l.read(offset, maxBytes, boundOffset, minOneBatch, false)
}

// read is Read, or ReadCommitted.
func (l *Log) read(offset, maxBytes, bound int64, minOne, committed bool) (ReadInfo, error) {
	for {
		v := l.snapshot()
		info, err := l.readFrom(&v, offset, maxBytes, bound, minOne)
		if committed && err == nil && info.Chunk != nil {
			info.Aborted, err = v.abortedIn(offset, &info)
		}
		stale := l.stale(&v)
		if info.Chunk != nil && (stale || err != nil) {
			info.Chunk.Release()
			info.Chunk = nil
		}
		if !stale {
			return info, l.readError(err, offset)
		}
	}
}

func (l *Log) readError(err error, offset int64) error {
	switch {
	case err == nil, err == ErrOffsetOutOfRange:
		return err
	case errors.Is(err, errSegmentGone):
		return ErrClosed
	}
	return fmt.Errorf("read offset %d: %w", offset, err)
}

func (l *Log) readFrom(v *view, offset, maxBytes, bound int64, minOne bool) (ReadInfo, error) {
	info := ReadInfo{LogStartOffset: v.start, LogEndOffset: v.end}
	if offset < v.start || offset > v.end {
		return info, ErrOffsetOutOfRange
	}
	bound = min(bound, v.end)
	for i := v.floor(offset); i < len(v.segments) && max(offset, v.segments[i].base) < bound; i++ {
		found := false
		err := l.mended(v, i, func() (err error) {
			found, err = l.readSegment(v, i, &info, offset, maxBytes, bound, minOne)
			return err
		})
		if err != nil || found {
			return info, err
		}
	}
	return info, nil
}

// mended has look read segments[i], once more with new indexes where they do not match
// the log.
func (l *Log) mended(v *view, i int, look func() error) error {
	err := look()
	if !errors.Is(err, errIndexLies) {
		return err
	}
	if i == len(v.segments)-1 {
		err = l.repairActive(v, v.segments[i])
	} else {
		err = l.repair(v, i)
	}
	if err != nil {
		return err
	}
	return look()
}

// repair rebuilds the indexes of segments[i], which turned out not to match the
// log. In a view that was overtaken the segment may be active by now, and the
// mismatch a reader's in between: nothing is touched, the reader looks again.
func (l *Log) repair(v *view, i int) error {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if l.stale(v) {
		return errIndexLies
	}
	s := v.segments[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return errSegmentGone
	}
	return s.rebuildIndexes()
}

// readSegment fills info from segments[i]; found is false when the segment has
// no batch that reaches offset, as the end of a compacted one may not.
func (l *Log) readSegment(v *view, i int, info *ReadInfo, offset, maxBytes, bound int64, minOne bool) (found bool, err error) {
	s, end := v.segments[i], v.endOf(i)
	if err := s.acquire(); err != nil {
		return false, err
	}
	defer s.release()
	first, ok, err := s.find(offset, end)
	if err != nil || !ok {
		return false, err
	}
	if first.last >= bound || first.size > maxBytes && !minOne {
		return true, nil
	}
	limit := first.end()
	if first.size < maxBytes {
		if limit, err = s.limit(first, maxBytes, bound, v.nextOf(i), end); err != nil {
			return false, err
		}
	}
	if first.emptied {
		if info.NoRecords, info.NextOffset, err = s.noRecords(first.position, limit); err != nil {
			return false, err
		}
	}
	chunk, err := s.reader.Chunk(first.position, limit-first.position)
	if err != nil {
		return false, err
	}
	l.readsAt(s, first.position)
	info.Chunk, info.Bytes = chunk, limit-first.position
	info.SegmentBase, info.Position = s.base, first.position
	return true, nil
}

// noRecords says whether no batch between two positions has a record, and which
// offset comes after them. The segment is acquired.
func (s *segment) noRecords(from, to int64) (none bool, next int64, err error) {
	r := s.headers(to)
	defer r.close()
	for at := from; at < to; {
		h, err := r.read(at)
		if err != nil || h.Count() > 0 {
			return false, 0, err
		}
		at, next = h.end(), h.NextOffset()
	}
	return true, next, nil
}

// limit is where a read that starts with first ends: a batch boundary at most
// maxBytes on and before the first batch that reaches bound.
func (s *segment) limit(first place, maxBytes, bound, next, end int64) (int64, error) {
	if bound < next {
		beyond, ok, err := s.find(bound, end)
		if err != nil {
			return 0, err
		}
		if ok {
			end = beyond.position
		}
	}
	if end-first.position <= maxBytes {
		return end, nil
	}
	return s.lastBoundary(first.end(), first.position+maxBytes, end)
}

// Available is how many bytes of batches a reader at offset could get below
// boundOffset, at most limit; 0 where it would get an error. It reads no more
// than two headers near each end.
func (l *Log) Available(offset, boundOffset, limit int64) int64 {
	v := l.snapshot()
	bound := min(boundOffset, v.end)
	if offset < v.start || offset >= bound {
		return 0
	}
	first, last := v.floor(offset), v.floor(bound)
	from, err := v.positionIn(first, offset)
	if err != nil {
		return 0
	}
	to := v.endOf(last)
	if bound < v.end {
		if to, err = v.positionIn(last, bound); err != nil {
			return 0
		}
	}
	total := to - from
	for i := first; i < last && total < limit; i++ {
		total += v.endOf(i)
	}
	return max(0, min(total, limit))
}

// positionIn is the position of the first batch of segments[i] that reaches
// offset, its end where there is none.
func (v *view) positionIn(i int, offset int64) (int64, error) {
	s := v.segments[i]
	if offset <= s.base {
		return 0, nil
	}
	if err := s.acquire(); err != nil {
		return 0, err
	}
	defer s.release()
	p, ok, err := s.find(offset, v.endOf(i))
	if err != nil {
		return 0, err
	}
	if !ok {
		return v.endOf(i), nil
	}
	return p.position, nil
}
