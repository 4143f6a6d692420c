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

// removeFile removes a file that may be gone already.
func removeFile(fsys vfs.FS, path string) error {
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
