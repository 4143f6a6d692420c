// Package index holds the indexes of a segment, in Kafka's bytes: the sparse
// Offsets, which finds the position of a batch (Kafka's OffsetIndex), and Times,
// which finds the offset from which a timestamp has been reached (Kafka's
// TimeIndex), and Transactions, which lists the aborted transactions (Kafka's
// TransactionIndex). The layouts are drawn in docs/formats/index.md.
//
// Index files are written with write(2) and read with pread(2), never mapped: a
// fault in a mapping kills the process. In memory an index keeps the first entry
// of every page of about 4 KiB and the page it is writing, so a lookup costs one
// small read and near the end none; a gigabyte of log costs about 4 KiB. New
// entries reach the file a page at a time (Spill, Flush). That is safe because a
// sparse index that lacks its last entries is still right, only sparser, and
// because after a crash every index is rebuilt from the log.
//
// An index may be searched by any number of goroutines while one appends.
package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// ErrDamaged says that the file cannot be the index of its segment. It is to be
// rebuilt from the log.
var ErrDamaged = errors.New("damaged index")

// pageBytes bounds what a lookup reads.
const pageBytes = 4096

// table is an append-only file of fixed-size entries that ascend by every key.
// The file holds whole pages followed by a prefix of tail. Until there is anything
// to write there may be no file.
type table struct {
	path  string
	fs    vfs.FS
	entry int // size of an entry in bytes
	page  int // size of a page in bytes, a multiple of entry

	mu   sync.RWMutex
	file vfs.File // nil where there is none yet
	// tops are the first entries of the pages that are complete and written.
	tops []byte
	// tail are the entries after those pages; its first written bytes are in
	// the file.
	tail    []byte
	written int
}

var pages = sync.Pool{New: func() any { return new([pageBytes]byte) }}

func newTable(fsys vfs.FS, path string, entrySize int) *table {
	return &table{path: path, fs: fsys, entry: entrySize, page: pageBytes / entrySize * entrySize}
}

// create opens the file and empties it.
func (t *table) create() error {
	f, err := t.fs.OpenOrCreate(t.path)
	if err != nil {
		return fmt.Errorf("create index: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		_ = f.Close() // The first error tells more.
		return fmt.Errorf("create index %s: %w", t.path, err)
	}
	t.file = f
	return nil
}

// load opens the file and runs ascends over each neighbouring pair of entries;
// before the first entry, previous is nil.
func (t *table) load(ascends func(previous, next []byte) bool) error {
	f, err := t.fs.Open(t.path)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	if err := t.loadFrom(f, ascends); err != nil {
		_ = f.Close() // Only read from.
		return fmt.Errorf("open index %s: %w", t.path, err)
	}
	t.file = f
	return nil
}

func (t *table) loadFrom(f vfs.File, ascends func(previous, next []byte) bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size%int64(t.entry) != 0 || size > math.MaxInt32 {
		return fmt.Errorf("%d bytes are no whole number of %d-byte entries: %w", size, t.entry, ErrDamaged)
	}
	buf := make([]byte, 16*t.page)
	last := make([]byte, 0, t.entry)
	for at := int64(0); at < size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size-at)]
		if n, err := f.ReadAt(buf, at); n < len(buf) {
			return err
		}
		var previous []byte
		if at > 0 {
			previous = append(last[:0], last[:t.entry]...)
		}
		for e := 0; e < len(buf); e += t.entry {
			next := buf[e : e+t.entry]
			if !ascends(previous, next) {
				return fmt.Errorf("entry %d does not ascend: %w", (at+int64(e))/int64(t.entry), ErrDamaged)
			}
			previous = next
		}
		last = append(last[:0], previous...)
		t.takeLoaded(buf)
	}
	return nil
}

// takeLoaded adds entries that are in the file; all calls but the last bring
// whole pages.
func (t *table) takeLoaded(entries []byte) {
	for len(entries) >= t.page {
		t.tops = append(t.tops, entries[:t.entry]...)
		entries = entries[t.page:]
	}
	t.tail = append(t.tail[:0], entries...)
	t.written = len(t.tail)
}

// count is the number of entries. mu is held.
func (t *table) count() int { return len(t.tops)/t.entry*(t.page/t.entry) + len(t.tail)/t.entry }

// flushed is the size of the complete pages. mu is held.
func (t *table) flushed() int64 { return int64(len(t.tops) / t.entry * t.page) }

// add appends one entry, in memory.
func (t *table) add(high uint64, highSize int, low uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if highSize == 8 {
		t.tail = binary.BigEndian.AppendUint64(t.tail, high)
	} else {
		t.tail = binary.BigEndian.AppendUint32(t.tail, uint32(high))
	}
	t.tail = binary.BigEndian.AppendUint32(t.tail, low)
}

// Entries is the number of entries.
func (t *table) Entries() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count()
}

// addEntry appends the bytes of one entry, in memory.
func (t *table) addEntry(entry []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = append(t.tail, entry...)
}

// Spill writes the entries that fill whole pages to the file. It does nothing
// until there is a page, so it can be called before every append.
func (t *table) Spill() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tail) < t.page {
		return nil
	}
	return t.write()
}

// Flush writes all entries to the file; they need not be durable.
func (t *table) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write()
}

func (t *table) write() error {
	if t.written < len(t.tail) {
		if t.file == nil {
			if err := t.create(); err != nil {
				return err
			}
		}
		if _, err := t.file.WriteAt(t.tail[t.written:], t.flushed()+int64(t.written)); err != nil {
			return fmt.Errorf("write index %s: %w", t.path, err)
		}
		t.written = len(t.tail)
	}
	done := 0
	for len(t.tail)-done >= t.page {
		t.tops = append(t.tops, t.tail[done:done+t.entry]...)
		done += t.page
	}
	t.tail = append(t.tail[:0], t.tail[done:]...)
	t.written = len(t.tail)
	return nil
}

// Sync writes all entries and makes them durable. An error is final.
func (t *table) Sync() error {
	t.mu.Lock()
	err := t.write()
	file := t.file
	t.mu.Unlock()
	if err != nil || file == nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("sync index %s: %w", t.path, err)
	}
	return nil
}

// floor appends to dst the last entry for which atMost holds, nothing if there
// is none. atMost holds for a prefix of the entries.
func (t *table) floor(dst []byte, atMost func(entry []byte) bool) ([]byte, error) {
	t.mu.RLock()
	if len(t.tail) > 0 && atMost(t.tail[:t.entry]) {
		dst = append(dst, t.last(t.tail, atMost)...)
		t.mu.RUnlock()
		return dst, nil
	}
	n := t.countPrefix(t.tops, atMost)
	file := t.file
	t.mu.RUnlock()
	if n == 0 {
		return dst, nil
	}
	buf := pages.Get().(*[pageBytes]byte)
	defer pages.Put(buf)
	page := buf[:t.page]
	if read, err := file.ReadAt(page, int64(n-1)*int64(t.page)); read < len(page) {
		if err == io.EOF {
			err = ErrDamaged
		}
		return dst, fmt.Errorf("read index %s: %w", t.path, err)
	}
	if !atMost(page[:t.entry]) {
		return dst, fmt.Errorf("read index %s: page %d changed: %w", t.path, n-1, ErrDamaged)
	}
	return append(dst, t.last(page, atMost)...), nil
}

// eachAfter calls f for the entries behind those for which atMost holds, in order,
// until f returns false. What is added meanwhile may be missed.
func (t *table) eachAfter(atMost func(entry []byte) bool, f func(entry []byte) (more bool)) error {
	t.mu.RLock()
	page, file := max(0, t.countPrefix(t.tops, atMost)-1), t.file
	complete := len(t.tops) / t.entry
	tail := t.tail[:len(t.tail):len(t.tail)]
	if page < complete {
		tail = bytes.Clone(tail) // It may be moved while the pages are read.
	} else {
		defer t.mu.RUnlock()
		t.each(tail, atMost, f)
		return nil
	}
	t.mu.RUnlock()
	buf := pages.Get().(*[pageBytes]byte)
	defer pages.Put(buf)
	for ; page < complete; page++ {
		if read, err := file.ReadAt(buf[:t.page], int64(page)*int64(t.page)); read < t.page {
			return fmt.Errorf("read index %s: %w", t.path, err)
		}
		if !t.each(buf[:t.page], atMost, f) {
			return nil
		}
	}
	t.each(tail, atMost, f)
	return nil
}

// each is eachAfter of some of the entries; it says whether f wants more.
func (t *table) each(entries []byte, atMost func([]byte) bool, f func([]byte) bool) (more bool) {
	for n := t.countPrefix(entries, atMost) * t.entry; n < len(entries); n += t.entry {
		if !f(entries[n : n+t.entry]) {
			return false
		}
	}
	return true
}

func (t *table) last(entries []byte, atMost func([]byte) bool) []byte {
	n := t.countPrefix(entries, atMost)
	return entries[(n-1)*t.entry : n*t.entry]
}

// countPrefix is how many of the entries atMost holds for.
func (t *table) countPrefix(entries []byte, atMost func([]byte) bool) int {
	low, high := 0, len(entries)/t.entry
	for low < high {
		middle := int(uint(low+high) / 2)
		if atMost(entries[middle*t.entry : (middle+1)*t.entry]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// truncate keeps the entries for which keep holds, a prefix.
func (t *table) truncate(keep func(entry []byte) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.countPrefix(t.tail, keep); n > 0 || len(t.tops) == 0 {
		t.tail = t.tail[:n*t.entry]
	} else if err := t.reopenPage(keep); err != nil {
		return err
	}
	t.written = min(t.written, len(t.tail))
	if t.file == nil {
		return nil
	}
	if err := t.file.Truncate(t.flushed() + int64(t.written)); err != nil {
		return fmt.Errorf("truncate index %s: %w", t.path, err)
	}
	return nil
}

// reopenPage makes the last page that begins with a kept entry the tail again.
func (t *table) reopenPage(keep func([]byte) bool) error {
	n := t.countPrefix(t.tops, keep)
	if n == 0 {
		t.tops, t.tail = t.tops[:0], t.tail[:0]
		return nil
	}
	page := make([]byte, t.page)
	if read, err := t.file.ReadAt(page, int64(n-1)*int64(t.page)); read < len(page) {
		return fmt.Errorf("read index %s: %w", t.path, err)
	}
	t.tops = t.tops[:(n-1)*t.entry]
	t.tail = page[:t.countPrefix(page, keep)*t.entry]
	t.written = len(t.tail)
	return nil
}

// Close writes what is left and closes the file; where there is none yet, none is
// made.
func (t *table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.write()
	if closeErr := t.file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close index %s: %w", t.path, closeErr)
	}
	return err
}

// relative is the 32-bit form of an offset in the index of a segment.
func relative(offset, base int64) uint32 {
	delta := offset - base
	if delta < 0 || delta > math.MaxInt32 { // Not handed to Check whole: its arguments would be allocated.
		invariant.Check(false, "offset %d in the index of segment %d", offset, base)
	}
	return uint32(delta)
}
