package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/vfs"
)

// A swap puts a cleaned segment in the place of those it was made from (Kafka's
// LocalLog.replaceSegments):
//
//	1. .cleaned files are written and synced         a start removes them
//	2. .cleaned → .swap, the .log first; synced      from here a start completes it
//	3. readers see the new segment
//	4. the replaced files → .deleted; synced         or two files held one offset
//	5. .swap → the final names; synced
//
// The directory is synced between the steps, as a machine that loses its power
// may keep any of the changes of a step and lose others.

// swap puts w in the place of group, if the log still has it and was not
// truncated since truncations were counted. After an error behind step 2 the log
// is failed; the next start completes the swap.
func (l *Log) swap(w *cleaned, group []*segment, truncations int) error {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if err := l.openCleaned(w, group, truncations); err != nil {
		return errors.Join(err, w.discard())
	}
	err := w.renameFrom(cleanedSuffix, swapSuffix)
	if err == nil {
		err = l.fs.SyncDir(l.dir)
	}
	if err != nil {
		return l.fail(fmt.Errorf("swap: %w", errors.Join(err, w.close())))
	}
	l.mu.Lock()
	at := slices.Index(l.view.segments, group[0])
	l.publish(func(v *view) {
		v.segments = slices.Replace(slices.Clone(v.segments), at, at+len(group), w.segment)
		v.generation++
	})
	l.mu.Unlock()
	if err := l.settle(w, group); err != nil {
		return l.fail(fmt.Errorf("swap: %w", err))
	}
	return nil
}

// openCleaned opens w for reading as the log's segments are now, once it is sure
// that w can take its place; maintenance is held, so that this holds until the
// end of the swap.
func (l *Log) openCleaned(w *cleaned, group []*segment, truncations int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	at := slices.Index(l.view.segments, group[0])
	if l.truncations != truncations || at < 0 || !slices.Equal(l.view.segments[at:at+len(group)], group) {
		return ErrCleaningAborted
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read = l.options.Load().Read
	return w.open()
}

// settle gives the files their names: steps 4 and 5. maintenance is held.
func (l *Log) settle(w *cleaned, group []*segment) error {
	for _, s := range group {
		for _, suffix := range append(segmentSuffixes[:], SnapshotSuffix) {
			if suffix == SnapshotSuffix && s.base == w.base {
				continue // It is the new segment's, too.
			}
			err := l.fs.Rename(s.path(suffix), s.path(suffix)+deletedSuffix)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	if err := w.renameFrom(swapSuffix, ""); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLater(group)
	return nil
}

// finishSwaps completes the swaps that were past step 2 when the process ended, as
// Kafka's LogLoader does. Those at or after the first .cleaned file belong to a
// split that was not complete: they are removed.
func finishSwaps(fsys vfs.FS, dir string, swaps []string, firstCleaned int64) (notes []string, err error) {
	if len(swaps) == 0 {
		return nil, nil
	}
	complete := swaps[:0:0]
	for _, name := range swaps {
		if offset, _, _ := ParseFileName(strings.TrimSuffix(name, swapSuffix)); firstCleaned < 0 || offset < firstCleaned {
			complete = append(complete, name)
			continue
		}
		notes = append(notes, fmt.Sprintf("removed leftover %s", name))
		if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
			return notes, fmt.Errorf("remove leftover: %w", err)
		}
	}
	for _, name := range complete {
		if err := removeReplaced(fsys, dir, name, complete); err != nil {
			return notes, fmt.Errorf("finish swap: %w", err)
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return notes, fmt.Errorf("finish swap: %w", err)
	}
	for _, name := range complete {
		stem := strings.TrimSuffix(name, swapSuffix)
		notes = append(notes, fmt.Sprintf("completed the swap of %s", stem))
		if err := fsys.Rename(filepath.Join(dir, name), filepath.Join(dir, stem)); err != nil {
			return notes, fmt.Errorf("finish swap: %w", err)
		}
	}
	return notes, fsys.SyncDir(dir)
}

// removeReplaced removes the segments that a compaction merged into the one in the
// .log.swap file called name, the last first, and the indexes of the former segment
// at its base: without swaps of their own they are made anew, or, as for the aborted
// transactions, the new segment has none of their data.
func removeReplaced(fsys vfs.FS, dir, name string, swaps []string) error {
	base, suffix, _ := ParseFileName(strings.TrimSuffix(name, swapSuffix))
	if suffix != LogSuffix {
		return nil
	}
	end, err := endOfFile(fsys, filepath.Join(dir, name))
	if err != nil {
		return err
	}
	found, err := list(fsys, dir)
	if err != nil {
		return err
	}
	for _, replaced := range slices.Backward(found.bases) {
		if replaced <= base || replaced >= end {
			continue
		}
		for _, suffix := range segmentSuffixes {
			if err := removeFile(fsys, filepath.Join(dir, FileName(replaced, suffix))); err != nil {
				return err
			}
		}
	}
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix, TxnIndexSuffix} {
		if name := FileName(base, suffix); !slices.Contains(swaps, name+swapSuffix) {
			if err := removeFile(fsys, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOfFile is the first offset after the batches of a segment file.
func endOfFile(fsys vfs.FS, path string) (end int64, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return 0, err
	}
	r := newHeaders(file, path, size)
	defer r.close()
	for at := int64(0); at < size; {
		h, err := r.read(at)
		if err != nil {
			return 0, err
		}
		at, end = h.end(), h.NextOffset()
	}
	return end, nil
}
