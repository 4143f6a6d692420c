package commitlog

import (
	"errors"

	"tidemark/protocol/record"
)

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
}

// newCleaned creates the files; a former round's leftovers are overwritten.
func (l *Log) newCleaned(o *Options, base int64) (*cleaned, error) {
	w := &cleaned{segment: l.newSegment(o, base, 0)}
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
	return w.fs.SyncDir(w.dir)
}

// discard closes and removes the files of a segment that is not needed.
func (w *cleaned) discard() error {
	w.mu.Lock()
	w.gone = true
	err := w.closeIndexes()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	w.mu.Unlock()
	return errors.Join(err, w.eachOwn(func(path string) error { return removeFile(w.fs, path+cleanedSuffix) }))
}

// eachOwn calls f for the paths of the three files that a cleaned segment has,
// the log's first: while that has a suffix, the others mean nothing.
func (s *segment) eachOwn(f func(path string) error) error {
	for _, suffix := range []string{LogSuffix, IndexSuffix, TimeIndexSuffix} {
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
