package commitlog

import (
	"tidemark/commitlog/index"
)

// indexer decides which batches of a segment get index entries, the same way
// while appending and while rebuilding, so that both make the same files (Kafka's
// LogSegment.append and recover). It is guarded by its user.
type indexer struct {
	offsets *index.Offsets
	times   *index.Times
	// interval is how many bytes of log lie between two entries.
	interval int64
	// since is the number of bytes from the batch of the last entry to the end.
	since int64
	// newest is the largest timestamp so far and the last offset of the first
	// batch that has it.
	newest index.Timestamp
}

func newIndexer(offsets *index.Offsets, times *index.Times, interval int64) indexer {
	return indexer{offsets: offsets, times: times, interval: interval, newest: index.Timestamp{TimestampMs: index.NoTimestamp}}
}

// note sees the next batch of the segment. It only writes to memory.
func (x *indexer) note(h header) {
	x.observe(h)
	if x.since > x.interval {
		x.offsets.Append(h.LastOffset(), h.position)
		x.times.Append(x.newest.TimestampMs, x.newest.Offset)
		x.since = 0
	}
	x.since += h.size
}

// observe updates newest alone. What a batch that compaction has emptied says of
// timestamps is no record's.
func (x *indexer) observe(h header) {
	if h.Count() == 0 {
		return
	}
	if ms := h.MaxTimestamp(); ms > x.newest.TimestampMs {
		x.newest = index.Timestamp{TimestampMs: ms, Offset: h.LastOffset()}
	}
}

// spill makes room in memory; after it, note cannot fail on the disk.
func (x *indexer) spill() error {
	if err := x.offsets.Spill(); err != nil {
		return err
	}
	return x.times.Spill()
}

// seal adds the last time index entry, which every closed segment ends with.
func (x *indexer) seal() { x.times.Append(x.newest.TimestampMs, x.newest.Offset) }

// full says that the segment has to be rolled.
func (x *indexer) full() bool { return x.offsets.Full() || x.times.Full() }
