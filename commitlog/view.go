package commitlog

import (
	"sort"

	"tidemark/commitlog/index"
)

// view is what readers see of the log at one instant. Appends publish a new end
// in it, everything else a new list; a reader takes a copy and then needs no
// lock of the log while it reads.
type view struct {
	// segments are sorted by base offset, at least one, the last is active. The
	// slice is immutable. There is none, and the log is empty, only while a
	// truncation replaces all, and in a log that failed then.
	segments []*segment
	// start is the log start offset, end the log end offset.
	start, end int64
	// position is the end of the batches in the active segment.
	position int64
	// newest is the largest timestamp in the active segment.
	newest index.Timestamp
	// generation counts removals and truncations: what a reader found in an
	// older generation may be gone.
	generation uint64
}

// active is the segment that is appended to.
func (v *view) active() *segment { return v.segments[len(v.segments)-1] }

// endOf is the end of the batches in segments[i].
func (v *view) endOf(i int) int64 {
	if i == len(v.segments)-1 {
		return v.position
	}
	return v.segments[i].size.Load()
}

// nextOf is the first offset after segments[i].
func (v *view) nextOf(i int) int64 {
	if i == len(v.segments)-1 {
		return v.end
	}
	return v.segments[i+1].base
}

// floor is the index of the last segment whose base offset is at most offset, 0
// where there is none.
func (v *view) floor(offset int64) int {
	i := sort.Search(len(v.segments), func(i int) bool { return v.segments[i].base > offset })
	return max(0, i-1)
}

// snapshot returns the current view.
func (l *Log) snapshot() view {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.view
}

// stale says whether v has been overtaken by a removal or a truncation.
func (l *Log) stale(v *view) bool {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.view.generation != v.generation
}

// publish changes the view.
func (l *Log) publish(change func(v *view)) {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	change(&l.view)
}

// LogStartOffset is the first offset kept.
func (l *Log) LogStartOffset() int64 {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.view.start
}

// LogEndOffset is the next offset to be given.
func (l *Log) LogEndOffset() int64 {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.view.end
}

// Size is the sum of the sizes of all segments in bytes, indexes not counted.
func (l *Log) Size() int64 {
	v := l.snapshot()
	total := int64(0)
	for i := range v.segments {
		total += v.endOf(i)
	}
	return total
}
