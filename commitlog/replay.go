package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tidemark/commitlog/epoch"
	"tidemark/commitlog/producer"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// eachHeader calls f for the header of every batch that reaches offset, in order.
// Nothing is appended meanwhile.
func (l *Log) eachHeader(offset int64, f func(s *segment, h header) error) error {
	for i := l.view.floor(offset); i < len(l.view.segments) && offset < l.view.end; i++ {
		if err := l.view.eachHeader(i, offset, f); err != nil {
			return err
		}
	}
	return nil
}

// eachHeader is Log.eachHeader within segments[i].
func (v *view) eachHeader(i int, offset int64, f func(s *segment, h header) error) error {
	if offset >= v.nextOf(i) {
		return nil // The index may know a batch there that is not published yet.
	}
	s := v.segments[i]
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.release()
	first, ok, err := s.find(offset, v.endOf(i))
	if err != nil || !ok {
		return err
	}
	r := s.headers(v.endOf(i))
	defer r.close()
	for at := first.position; at < v.endOf(i); {
		h, err := r.read(at)
		if err != nil {
			return err
		}
		if err := f(s, h); err != nil {
			return err
		}
		at = h.end()
	}
	return nil
}

// readBatch reads the whole batch of a header; s is acquired.
func (s *segment) readBatch(position, size int64) (record.Batch, error) {
	buf := make([]byte, size)
	if n, err := s.reader.ReadAt(buf, position); n < len(buf) {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	b, _, err := record.Parse(buf)
	return b, err
}

// loadEpochs reads the leader epochs, or collects them from the batches where
// the checkpoint is missing or damaged; from batches that had to be scanned in
// any case, as a crash may have kept those but not the checkpoint's last entry.
func (l *Log) loadEpochs() error {
	data, err := vfs.ReadFile(l.fs, l.path(epoch.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from := l.view.segments[0].base
	if err == nil {
		var entries []epoch.Entry
		if entries, err = epoch.Decode(epoch.File, data); err == nil {
			l.epochs.Load(entries)
			from = l.firstScanned
		}
	}
	if err != nil && l.view.end > from {
		l.notef("leader epochs rebuilt: %v", err)
	}
	return l.eachHeader(from, func(_ *segment, h header) error {
		l.epochs.Assign(h.LeaderEpoch(), h.BaseOffset())
		return nil
	})
}

// trimEpochs drops what the leader epochs know of offsets outside the log, and
// writes the checkpoint if it differs from what there is.
func (l *Log) trimEpochs() error {
	l.epochs.TruncateEnd(l.view.end)
	l.epochs.TruncateStart(l.view.start)
	want := epoch.Encode(l.epochs.Entries())
	have, err := vfs.ReadFile(l.fs, l.path(epoch.File))
	if err == nil && string(have) == string(want) || errors.Is(err, fs.ErrNotExist) && len(l.epochs.Entries()) == 0 {
		return nil
	}
	return vfs.WriteFileAtomic(l.fs, l.path(epoch.File), want)
}

// removeStraySnapshots removes the snapshots that no restart would need: all but
// those at the base of a segment and the newest, and any past the log end offset
// (Kafka's ProducerStateManager.removeStraySnapshots).
func (l *Log) removeStraySnapshots(offsets []int64) error {
	for i, offset := range offsets {
		_, atBase := slices.BinarySearchFunc(l.view.segments, offset, func(s *segment, offset int64) int {
			return int(max(-1, min(1, s.base-offset)))
		})
		if offset <= l.view.end && (atBase || i == len(offsets)-1) {
			continue
		}
		if err := removeFile(l.fs, l.path(FileName(offset, SnapshotSuffix))); err != nil {
			return err
		}
	}
	return nil
}

// loadProducers builds the producer state from the newest sound snapshot and the
// batches after it, and what follows from it: the transactions that bound the last
// stable offset, and the transaction indexes that are to be made anew. A snapshot
// that is damaged is removed. highWatermark is what OpenState says; where what
// ended above it is known already, the log end offset does.
func (l *Log) loadProducers(highWatermark int64) error {
	from, err := l.loadSnapshot(l.producers, l.view.end)
	if err != nil {
		return err
	}
	nowMs := l.clock.Now().UnixMilli()
	l.producers.Expire(nowMs, l.options.Load().ProducerExpiryMs)
	if err := l.replayEarlier(from, highWatermark, nowMs); err != nil {
		return err
	}
	if from < l.view.end {
		err := l.eachHeader(from, func(s *segment, h header) error {
			return l.replayProducer(l.producers, s, h, nowMs, s.base >= from)
		})
		if err != nil {
			return err
		}
	}
	l.unstable.loaded(l.producers.FirstOpen())
	return l.finishAborted()
}

// loadSnapshot gives p the newest sound snapshot that is not behind atMost and
// returns its offset, or the start of the first segment where there is none.
func (l *Log) loadSnapshot(p *producer.State, atMost int64) (from int64, err error) {
	found, err := list(l.fs, l.dir)
	if err != nil {
		return 0, err
	}
	first := l.view.segments[0].base
	for _, offset := range slices.Backward(found.snapshots) {
		if offset > atMost || offset < first {
			continue
		}
		name := FileName(offset, SnapshotSuffix)
		data, err := vfs.ReadFile(l.fs, l.path(name))
		if err != nil {
			return 0, err
		}
		entries, err := producer.Decode(data)
		if err == nil {
			p.Load(entries)
			return offset, nil
		}
		l.notef("%s removed: %v", name, err)
		if err := removeFile(l.fs, l.path(name)); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// replayEarlier looks at batches before from, of which the snapshot there does not
// tell enough: where a transaction index is to be made anew, and where a marker lies
// at or above the high watermark, as its transaction is unstable from where it began.
func (l *Log) replayEarlier(from, highWatermark, nowMs int64) error {
	start, end := from, from
	for i, s := range l.view.segments {
		if s.remakeAborted && s.base < from {
			start, end = min(start, s.base), max(end, l.view.nextOf(i))
		}
	}
	if highWatermark < start && l.producers.Transactional() {
		start = highWatermark
	}
	if start == from {
		return nil
	}
	earlier := producer.NewState()
	start, err := l.loadSnapshot(earlier, start)
	if err != nil {
		return err
	}
	err = l.eachHeader(start, func(s *segment, h header) error {
		if h.BaseOffset() >= end {
			return errFound
		}
		return l.replayProducer(earlier, s, h, nowMs, s.base < from)
	})
	if err == errFound {
		return nil
	}
	return err
}

// replayProducer notes a batch in p; with remake in the transaction index of its
// segment, too, if that is to be made anew.
func (l *Log) replayProducer(p *producer.State, s *segment, h header, nowMs int64, remake bool) error {
	if h.ProducerID() < 0 {
		return nil
	}
	b := h.Batch
	if b.IsControl() {
		whole, err := s.readBatch(h.position, h.size)
		if err != nil {
			return err
		}
		b = whole
	}
	ended, ok := observe(p, b, nowMs)
	if !ok {
		return nil
	}
	l.unstable.replayed(ended)
	if ended.aborted && remake && s.remakeAborted {
		s.addAborted(ended)
	}
	return nil
}

// reloadProducers rebuilds the producer state after a truncation; mu is held.
func (l *Log) reloadProducers() error {
	found, err := list(l.fs, l.dir)
	if err != nil {
		return err
	}
	for _, offset := range found.snapshots {
		if offset > l.view.end || offset < l.view.segments[0].base {
			if err := removeFile(l.fs, l.path(FileName(offset, SnapshotSuffix))); err != nil {
				return err
			}
		}
	}
	l.unstable.truncated(l.view.end)
	l.producers.Load(nil)
	return l.loadProducers(l.view.end)
}

// endMarker is what the transaction marker in a control batch says; ok is false for a
// batch that ends no transaction.
func endMarker(b record.Batch) (kind record.ControlType, coordinatorEpoch int32, ok bool) {
	r, err := b.Records(record.Limits{})
	if err != nil {
		return 0, 0, false
	}
	defer r.Close()
	var rec record.Record
	if !r.Next(&rec) {
		return 0, 0, false
	}
	kind, coordinatorEpoch, err = record.ParseControl(rec.Key, rec.Value)
	return kind, coordinatorEpoch, err == nil && (kind == record.Abort || kind == record.Commit)
}
