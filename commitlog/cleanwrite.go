package commitlog

import (
	"errors"
	"fmt"

	"tidemark/commitlog/index"
	"tidemark/protocol/record"
)

// group splits segments into groups that become one segment each: no larger than
// segment.bytes, with indexes no larger than segment.index.bytes, and without an
// offset too far behind the base.
func (r *round) group(segments []*segment) ([][]*segment, error) {
	var groups [][]*segment
	var logBytes, offsetBytes, timeBytes int64
	for i, s := range segments {
		if err := s.acquire(); err != nil {
			return nil, err
		}
		size := s.size.Load()
		offsets, times := int64(s.offsets.Entries())*index.OffsetEntrySize, int64(s.times.Entries())*index.TimeEntrySize
		s.release()
		last := len(groups) - 1
		if i > 0 && logBytes+size <= r.options.SegmentBytes &&
			offsetBytes+offsets <= r.options.IndexMaxBytes && timeBytes+times <= r.options.IndexMaxBytes &&
			r.view.nextOf(i)-1-groups[last][0].base <= maxRelativeOffset {
			groups[last] = append(groups[last], s)
			logBytes, offsetBytes, timeBytes = logBytes+size, offsetBytes+offsets, timeBytes+times
			continue
		}
		groups = append(groups, []*segment{s})
		logBytes, offsetBytes, timeBytes = size, offsets, times
	}
	return groups, nil
}

// cleanGroup writes what stays of a group to one segment and puts it in their
// place.
func (r *round) cleanGroup(group []*segment) error {
	w, err := r.log.newCleaned(r.options, group[0].base)
	if err != nil {
		return r.writeFailed(err)
	}
	if err := r.fill(w, group); err != nil {
		return errors.Join(err, w.discard())
	}
	if err := r.log.swap(w, group, r.truncations); err != nil {
		return err
	}
	r.report.SegmentsBefore += len(group)
	r.report.SegmentsAfter++
	return nil
}

func (r *round) fill(w *cleaned, group []*segment) error {
	for i, s := range group {
		err := r.eachBatch(s, 0, func(b stored) error {
			if b.BaseOffset() < w.next {
				return b.corrupt(fmt.Errorf("offset %d where %d was next: %w", b.BaseOffset(), w.next, record.ErrCorrupt))
			}
			w.next = b.NextOffset()
			if b.IsControl() && r.filter.InTransaction(b.ProducerID()) {
				w.ends[b.LastOffset()] = struct{}{}
			}
			before := len(r.out)
			var err error
			// The last batch of a segment stays, so that where it ends is known:
			// a hole before the next segment is damage, in any log.
			if r.out, err = r.filter.Append(r.out, b.Batch, b.last() && i == len(group)-1); err != nil {
				return b.corrupt(err)
			}
			if len(r.out) > before {
				w.note(record.Batch(r.out[before:]))
			}
			if len(r.out) < r.o.BufferBytes {
				return nil
			}
			return r.flushOut(w)
		})
		if err != nil {
			r.out = r.out[:0]
			return err
		}
	}
	if err := r.flushOut(w); err != nil {
		return err
	}
	if err := w.takeAborted(group); err != nil {
		return err
	}
	if err := w.seal(); err != nil {
		return r.writeFailed(err)
	}
	return nil
}

func (r *round) flushOut(w *cleaned) error {
	out := r.out
	r.out = r.out[:0]
	if err := r.goOn(len(out)); err != nil {
		return err
	}
	if err := w.write(out); err != nil {
		return r.writeFailed(err)
	}
	return nil
}

// cleaned is a segment that a round of cleaning writes, under names ending in
// .cleaned; swap gives it its place.
type cleaned struct {
	*segment
	x indexer
	// noted is the end of the batches that were indexed, written of those in the
	// file.
	noted, written int64
	// next is the offset after the last batch that was looked at.
	next int64
	// ends are the offsets of the markers that end a transaction with data.
	ends map[int64]struct{}
}

// takeAborted takes over the aborted transactions of the segments that w is made of
// whose marker stays, and whose data may still be on its way to a reader: one that
// learnt of an aborted transaction and missed its marker would skip what its producer
// commits next (Kafka's CleanedTransactionMetadata).
func (w *cleaned) takeAborted(group []*segment) error {
	x := index.NewTransactions(w.fs, w.path(TxnIndexSuffix)+cleanedSuffix, w.base)
	for _, s := range group {
		err := s.eachAborted(func(a AbortedTxn) {
			if _, ok := w.ends[a.LastOffset]; ok {
				x.Append(a)
			}
		})
		if err != nil {
			return err
		}
	}
	if x.Entries() > 0 {
		w.aborted.Store(x)
	}
	return nil
}

// newCleaned creates the files; a former round's leftovers are overwritten.
func (l *Log) newCleaned(o *Options, base int64) (*cleaned, error) {
	w := &cleaned{segment: l.newSegment(o, base, 0), ends: map[int64]struct{}{}}
	err := w.create()
	if err != nil {
		return nil, errors.Join(err, w.discard())
	}
	return w, nil
}

func (w *cleaned) create() (err error) {
	if w.file, err = w.fs.OpenOrCreate(w.name + cleanedSuffix); err != nil {
		return err
	}
	if err = w.file.Truncate(0); err != nil {
		return err
	}
	if err = removeFile(w.fs, w.path(TxnIndexSuffix)+cleanedSuffix); err != nil {
		return err
	}
	w.x, err = w.createIndexes(cleanedSuffix)
	return err
}

// note indexes the next batch; it only writes to memory.
func (w *cleaned) note(b record.Batch) {
	w.x.note(header{Batch: b, position: w.noted, size: int64(b.Size())})
	w.noted += int64(b.Size())
}

// write appends batches that were noted.
func (w *cleaned) write(batches []byte) error {
	if _, err := w.file.WriteAt(batches, w.written); err != nil {
		return err
	}
	w.written += int64(len(batches))
	return w.x.spill()
}

// seal puts content and names of the files on stable storage.
func (w *cleaned) seal() error {
	w.x.seal()
	w.size.Store(w.written)
	for _, sync := range []func() error{w.file.Sync, w.offsets.Sync, w.times.Sync} {
		if err := sync(); err != nil {
			return err
		}
	}
	if aborted := w.aborted.Load(); aborted != nil {
		if err := aborted.Sync(); err != nil {
			return err
		}
	}
	return w.fs.SyncDir(w.dir)
}

// discard closes and removes the files of a segment that is not needed.
func (w *cleaned) discard() error {
	w.mu.Lock()
	w.gone = true
	err := w.closeIndexes()
	if aborted := w.aborted.Load(); aborted != nil {
		err = errors.Join(err, aborted.Close())
	}
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	w.mu.Unlock()
	return errors.Join(err, w.eachOwn(func(path string) error { return removeFile(w.fs, path+cleanedSuffix) }))
}

// eachOwn calls f for the paths of the files that a cleaned segment has, the log's
// first: while that has a suffix, the others mean nothing.
func (s *segment) eachOwn(f func(path string) error) error {
	suffixes := []string{LogSuffix, IndexSuffix, TimeIndexSuffix}
	if s.aborted.Load() != nil {
		suffixes = append(suffixes, TxnIndexSuffix)
	}
	for _, suffix := range suffixes {
		if err := f(s.path(suffix)); err != nil {
			return err
		}
	}
	return nil
}

// renameFrom gives the files another suffix.
func (w *cleaned) renameFrom(from, to string) error {
	return w.eachOwn(func(path string) error { return w.fs.Rename(path+from, path+to) })
}
