package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/commitlog/checkpoint"
	"tidemark/commitlog/epoch"
	"tidemark/internal/vfs"
)

// The suffixes of a segment's files behind its twenty-digit base offset, and of
// files on their way in or out (Kafka's LogFileUtils).
const (
	LogSuffix       = ".log"
	IndexSuffix     = ".index"
	TimeIndexSuffix = ".timeindex"
	TxnIndexSuffix  = ".txnindex"
	SnapshotSuffix  = ".snapshot"

	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"
	tmpSuffix     = ".tmp"
)

// segmentSuffixes are the files that come and go with a segment.
var segmentSuffixes = [...]string{LogSuffix, IndexSuffix, TimeIndexSuffix, TxnIndexSuffix}

// FileName is the name of the file of a segment, or of the snapshot, at offset.
func FileName(offset int64, suffix string) string { return fmt.Sprintf("%020d%s", offset, suffix) }

// ParseFileName splits the name of a file of a segment, or of a snapshot; ok is
// false for any other name.
func ParseFileName(name string) (offset int64, suffix string, ok bool) {
	if len(name) < 20 || strings.Trim(name[:20], "0123456789") != "" {
		return 0, "", false
	}
	offset, err := strconv.ParseInt(name[:20], 10, 64)
	suffix = name[20:]
	ok = err == nil && (suffix == SnapshotSuffix || slices.Contains(segmentSuffixes[:], suffix))
	return offset, suffix, ok
}

// listing is what lies in the directory of a log.
type listing struct {
	// sizes are the segment files by base offset; bases their keys, sorted.
	sizes map[int64]int64
	bases []int64
	// snapshots are the offsets of producer snapshots, sorted.
	snapshots []int64
	// indexes are the files of segments other than .log.
	indexes []segmentFile
}

type segmentFile struct {
	base   int64
	suffix string
}

func list(fsys vfs.FS, dir string) (listing, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return listing{}, fmt.Errorf("list %s: %w", dir, err)
	}
	l := listing{sizes: map[int64]int64{}}
	for _, e := range entries {
		offset, suffix, ok := ParseFileName(e.Name())
		switch {
		case !ok || e.IsDir():
		case suffix == SnapshotSuffix:
			l.snapshots = append(l.snapshots, offset)
		case suffix == LogSuffix:
			info, err := fsys.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				return listing{}, fmt.Errorf("list %s: %w", dir, err)
			}
			l.bases = append(l.bases, offset)
			l.sizes[offset] = info.Size()
		default:
			l.indexes = append(l.indexes, segmentFile{offset, suffix})
		}
	}
	slices.Sort(l.bases)
	slices.Sort(l.snapshots)
	return l, nil
}

// tidy finishes or undoes what a former process left half done, as Kafka's
// LogLoader does: files marked for deletion go, half-written ones too, swaps of
// a finished compaction are completed. It touches no file whose name is not the
// log's, and returns one note per file.
func tidy(fsys vfs.FS, dir string) (notes []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var swaps []string
	firstCleaned := int64(-1)
	for _, e := range entries {
		name := e.Name()
		stem, suffix := splitLeftover(name)
		switch {
		case stem == "" || e.IsDir():
			continue
		case suffix == swapSuffix:
			swaps = append(swaps, name)
			continue
		case suffix == cleanedSuffix:
			if offset, _, ok := ParseFileName(stem); ok && (firstCleaned < 0 || offset < firstCleaned) {
				firstCleaned = offset
			}
		}
		notes = append(notes, fmt.Sprintf("removed leftover %s", name))
		if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
			return notes, fmt.Errorf("remove leftover: %w", err)
		}
	}
	more, err := finishSwaps(fsys, dir, swaps, firstCleaned)
	return append(notes, more...), err
}

// splitLeftover returns the name a leftover had or would have got, and its
// suffix; stem is empty for other files.
func splitLeftover(name string) (stem, suffix string) {
	for _, suffix := range []string{deletedSuffix, cleanedSuffix, swapSuffix, tmpSuffix} {
		stem, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		_, _, ours := ParseFileName(stem)
		if ours || suffix == tmpSuffix && (stem == epoch.File || stem == checkpoint.PartitionMetadataFile) {
			return stem, suffix
		}
	}
	return "", ""
}

// finishSwaps renames the files of a compaction that was complete when the
// process ended, over those they replace. Swaps at or after the first .cleaned
// file belong to a split that was not complete: they are removed.
func finishSwaps(fsys vfs.FS, dir string, swaps []string, firstCleaned int64) (notes []string, err error) {
	for _, name := range swaps {
		stem := strings.TrimSuffix(name, swapSuffix)
		offset, suffix, _ := ParseFileName(stem)
		path := filepath.Join(dir, name)
		if firstCleaned >= 0 && offset >= firstCleaned {
			notes = append(notes, fmt.Sprintf("removed leftover %s", name))
			if err := fsys.Remove(path); err != nil {
				return notes, fmt.Errorf("remove leftover: %w", err)
			}
			continue
		}
		notes = append(notes, fmt.Sprintf("completed the swap of %s", stem))
		if suffix == LogSuffix {
			err = removeReplaced(fsys, dir, path, offset, swaps)
		}
		if err == nil {
			err = fsys.Rename(path, filepath.Join(dir, stem))
		}
		if err != nil {
			return notes, fmt.Errorf("finish swap: %w", err)
		}
	}
	return notes, nil
}

// removeReplaced removes the segments that a compaction merged into the one at
// path, the last first, and the indexes of the former segment at base: without
// swaps of their own they are made anew.
func removeReplaced(fsys vfs.FS, dir, path string, base int64, swaps []string) error {
	end, err := endOfFile(fsys, path)
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
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix} {
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

// removeFile removes a file that may be gone already.
func removeFile(fsys vfs.FS, path string) error {
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
