package commitlog

import (
	"errors"
	"fmt"
	"io"

	"tidemark/commitlog/index"
	"tidemark/protocol/record"
)

// errIndexLies: an index entry does not point at the batch it names. The index
// is to be rebuilt.
var errIndexLies = errors.New("index does not match the log")

// place is where a batch lies in its segment and which offsets it has.
type place struct {
	position, size int64
	base, last     int64
	// newest is the batch's largest timestamp.
	newest int64
	// emptied: compaction left the batch no record.
	emptied bool
}

func (p place) end() int64 { return p.position + p.size }

func placeOf(h header) place {
	return place{position: h.position, size: h.size, base: h.BaseOffset(), last: h.LastOffset(), newest: h.MaxTimestamp(), emptied: h.Count() == 0}
}

// headers reads batch headers of the segment up to end; the segment is acquired.
func (s *segment) headers(end int64) headers { return newHeaders(s.reader, s.name, end) }

// find returns the first batch before end that reaches offset; ok is false where
// there is none. The segment is acquired.
func (s *segment) find(offset, end int64) (p place, ok bool, err error) {
	return s.findIn(s.reader, offset, end)
}

// findIn is find, reading through src.
func (s *segment) findIn(src io.ReaderAt, offset, end int64) (p place, ok bool, err error) {
	entry, indexed, err := s.offsets.Floor(offset)
	if err != nil {
		return place{}, false, err
	}
	r := newHeaders(src, s.name, end)
	defer r.close()
	next := s.base
	for at := entry.Position; at < end; {
		h, err := r.read(at)
		if err == nil && indexed && at == entry.Position {
			err = s.checkEntry(h, entry)
		}
		if err == nil && h.BaseOffset() < next {
			err = r.corrupt(at, fmt.Errorf("offset %d where %d was next: %w", h.BaseOffset(), next, record.ErrCorrupt))
		}
		if err != nil {
			return place{}, false, s.blame(err, indexed && at == entry.Position)
		}
		if h.LastOffset() >= offset {
			return placeOf(h), true, nil
		}
		at, next = h.end(), h.NextOffset()
	}
	if indexed && entry.Position >= end {
		return place{}, false, errIndexLies
	}
	return place{}, false, nil
}

// lastBoundary returns the last batch boundary at or before limit and at or
// after from, itself a boundary; limit is before end. The segment is acquired.
func (s *segment) lastBoundary(from, limit, end int64) (int64, error) {
	entry, indexed, err := s.offsets.FloorPosition(limit)
	if err != nil {
		return 0, err
	}
	indexed = indexed && entry.Position > from
	if indexed {
		from = entry.Position
	}
	r := s.headers(end)
	defer r.close()
	for at := from; at < end; {
		h, err := r.read(at)
		if err == nil && indexed && at == from {
			err = s.checkEntry(h, entry)
		}
		if err != nil {
			return 0, s.blame(err, indexed && at == from)
		}
		if h.end() > limit {
			return at, nil
		}
		at = h.end()
	}
	return end, nil
}

func (s *segment) checkEntry(h header, entry index.Position) error {
	if h.LastOffset() != entry.Offset {
		return fmt.Errorf("entry %d at %d, the batch there ends with %d: %w",
			entry.Offset, entry.Position, h.LastOffset(), errIndexLies)
	}
	return nil
}

// blame turns nonsense found where an index entry points into a doubt about the
// index; nonsense behind a whole batch is the log's.
func (s *segment) blame(err error, byIndex bool) error {
	var corrupt *CorruptError
	if byIndex && errors.As(err, &corrupt) {
		return fmt.Errorf("%w: %w", errIndexLies, err)
	}
	return err
}

// maxRelativeOffset is the largest offset behind a segment's base that its
// indexes can name.
const maxRelativeOffset = 1<<31 - 1
