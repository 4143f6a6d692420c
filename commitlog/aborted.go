package commitlog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"tidemark/commitlog/index"
	"tidemark/internal/vfs"
)

// AbortedTxn is an aborted transaction, as a reader of committed data is told of it.
type AbortedTxn = index.Aborted

// addAborted notes a transaction whose marker is appended to the segment; it only
// writes to memory. The log's mu is held.
func (s *segment) addAborted(t endedTxn) {
	x := s.aborted.Load()
	if x == nil {
		x = index.NewTransactions(s.fs, s.path(TxnIndexSuffix), s.base)
	}
	x.Append(AbortedTxn{ProducerID: t.producerID, FirstOffset: t.first, LastOffset: t.last, LastStableOffset: t.stable})
	s.aborted.Store(x) // Last: a reader finds what it is there for.
}

// ReadCommitted is Read, and tells in Aborted which of the records belong to aborted
// transactions.
func (l *Log) ReadCommitted(offset, maxBytes, boundOffset int64, minOneBatch bool) (ReadInfo, error) {
	return l.read(offset, maxBytes, boundOffset, minOneBatch, true)
}

// AbortedTxns lists the aborted transactions that have data or their marker in the
// offsets from from to before upTo, by where they began (Kafka's
// UnifiedLog.collectAbortedTransactions).
func (l *Log) AbortedTxns(from, upTo int64) ([]AbortedTxn, error) {
	for {
		v := l.snapshot()
		all, err := v.abortedTxns(from, upTo)
		if !l.stale(&v) {
			return all, l.readError(err, from)
		}
	}
}

// abortedIn is AbortedTxns for what was read from offset on.
func (v *view) abortedIn(offset int64, info *ReadInfo) ([]AbortedTxn, error) {
	i := v.floor(info.SegmentBase)
	if !v.hasAborted(i) {
		return nil, nil
	}
	upTo, err := v.offsetBehind(i, info.Position+info.Bytes)
	if err != nil {
		return nil, err
	}
	return v.abortedTxns(offset, upTo)
}

// hasAborted says whether any segment from segments[i] on has an abort marker.
func (v *view) hasAborted(i int) bool {
	return slices.ContainsFunc(v.segments[i:], func(s *segment) bool { return s.aborted.Load() != nil })
}

// offsetBehind is the first offset behind the batches of segments[i] that end at
// position.
func (v *view) offsetBehind(i int, position int64) (int64, error) {
	if position >= v.endOf(i) {
		return v.nextOf(i), nil
	}
	return v.baseOffset(i, position)
}

// baseOffset is the first offset of the batch of segments[i] at position.
func (v *view) baseOffset(i int, position int64) (int64, error) {
	s := v.segments[i]
	if err := s.acquire(); err != nil {
		return 0, err
	}
	defer s.release()
	r := s.headers(v.endOf(i))
	defer r.close()
	h, err := r.read(position)
	if err != nil {
		return 0, err
	}
	return h.BaseOffset(), nil
}

// abortedTxns is Log.AbortedTxns. The marker of a transaction may lie in a later
// segment than its data.
func (v *view) abortedTxns(from, upTo int64) (all []AbortedTxn, err error) {
	for i := v.floor(from); i < len(v.segments); i++ {
		complete := false
		if all, complete, err = v.segments[i].collectAborted(all, from, upTo); err != nil {
			return nil, err
		}
		if complete {
			break
		}
	}
	slices.SortFunc(all, func(a, b AbortedTxn) int {
		return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset), cmp.Compare(a.LastOffset, b.LastOffset))
	})
	return all, nil
}

// collectAborted appends to dst those whose marker lies in the segment; complete says
// that later segments have no more.
func (s *segment) collectAborted(dst []AbortedTxn, from, upTo int64) (all []AbortedTxn, complete bool, err error) {
	err = s.useAborted(func(x *index.Transactions) (err error) {
		dst, complete, err = x.Collect(dst, from, upTo)
		return err
	})
	return dst, complete, err
}

// eachAborted calls f for all of the segment.
func (s *segment) eachAborted(f func(a AbortedTxn)) error {
	return s.useAborted(func(x *index.Transactions) error { return x.Each(f) })
}

// useAborted calls f with the transaction index, if there is one, while nobody closes
// it.
func (s *segment) useAborted(f func(x *index.Transactions) error) error {
	x := s.aborted.Load()
	if x == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.gone {
		return errSegmentGone
	}
	return f(x)
}

// loadAborted opens the transaction indexes of the segments that were not scanned.
// What is damaged is to be made anew; so is that of a segment that lacks its offset
// index, as somebody has removed the files: without them it would pass for one
// without aborted transactions.
func (l *Log) loadAborted(found listing) error {
	has := map[segmentFile]bool{}
	for _, f := range found.indexes {
		has[f] = true
	}
	for i, s := range l.view.segments {
		switch {
		case s.remakeAborted:
		case s.size.Load() > 0 && !has[segmentFile{s.base, IndexSuffix}]:
			s.remakeAborted = true
			if err := removeFile(l.fs, s.path(TxnIndexSuffix)); err != nil {
				return err
			}
		case has[segmentFile{s.base, TxnIndexSuffix}]:
			x, err := index.OpenTransactions(l.fs, s.path(TxnIndexSuffix), s.base, l.view.nextOf(i))
			if errors.Is(err, index.ErrDamaged) {
				l.notef("%s is made anew: %v", FileName(s.base, TxnIndexSuffix), err)
				s.remakeAborted = true
				err = removeFile(l.fs, s.path(TxnIndexSuffix))
				x = nil
			}
			if err != nil {
				return err
			}
			s.aborted.Store(x)
		}
	}
	return nil
}

// finishAborted puts the transaction indexes that were made anew on stable storage.
// Where a full disk has no room for one, it stays in memory and the recovery point
// before its segment, until a flush finds room; maintenance is held, or nobody else
// has the log yet.
func (l *Log) finishAborted() error {
	l.unsyncedAborted = false
	remade := false
	for _, s := range l.snapshot().segments {
		if !s.remakeAborted {
			continue
		}
		if x := s.aborted.Load(); x != nil {
			err := x.Sync()
			if vfs.IsFull(err) {
				l.unsyncedAborted = true
				l.recoveryPoint.Store(min(l.recoveryPoint.Load(), s.base))
				continue
			}
			if err != nil {
				return fmt.Errorf("transaction index: %w", err)
			}
			remade = true
		}
		s.remakeAborted = false
	}
	if !remade {
		return nil
	}
	return l.fs.SyncDir(l.dir)
}

// flushAborted is finishAborted for what it left.
func (l *Log) flushAborted() error {
	if !l.unsyncedAborted {
		return nil
	}
	if err := l.finishAborted(); err != nil {
		return err
	}
	if l.unsyncedAborted {
		return noRoomError{fmt.Errorf("transaction index: %w", syscall.ENOSPC)}
	}
	return nil
}
