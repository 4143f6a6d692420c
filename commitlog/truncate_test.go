package commitlog

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// perBatch is how many records each batch of spaced has.
const perBatch = 5

// spaced is the batch of index i of a log that is looked up by time: its records have
// the timestamps 100·i, 100·i + 1 and so on.
func spaced(i int64) record.Batch { return batch(perBatch, 100*i) }

// timeOf is the timestamp of a record of such a log.
func timeOf(offset int64) int64 { return offset/perBatch*100 + offset%perBatch }

// TestLookUpInATruncation looks timestamps up and reads at every call that a truncation
// makes, in a log whose segments nobody has used yet: each answer is that of the log
// before, of the log after, or of one without its last segments.
func TestLookUpInATruncation(t *testing.T) {
	const batches = 40
	for name, truncate := range map[string]func(w *world) error{
		"inside a batch":      func(w *world) error { return w.TruncateTo(43) },
		"between batches":     func(w *world) error { return w.TruncateTo(45) },
		"in the active one":   func(w *world) error { return w.TruncateTo(perBatch*batches - 3) },
		"between segments":    func(w *world) error { return w.TruncateTo(w.view.segments[2].base) },
		"before the start":    func(w *world) error { return w.TruncateTo(0) },
		"start over":          func(w *world) error { return w.TruncateFullyAndStartAt(1000) },
		"start over in place": func(w *world) error { return w.TruncateFullyAndStartAt(0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			faulty := vfs.NewFaulty(w.fs)
			w.fs, w.o.IndexIntervalBytes = faulty, 0
			w.open()
			for i := range int64(batches) {
				w.mustAppend(spaced(i), 0)
			}
			w.close()
			w.open()
			asking, asked := false, 0
			faulty.OnCall(func(op vfs.Op, path string) error {
				if asking || op == vfs.OpWrite && strings.HasSuffix(path, "index") || !w.unused() {
					return nil // Whom a lock keeps waiting cannot be asked here.
				}
				asking = true // Asking makes calls, too.
				w.checkPrefixByTime()
				asking, asked = false, asked+1
				return nil
			})
			if err := truncate(w); err != nil {
				t.Fatal(err)
			}
			faulty.Clear()
			if asked < 10 {
				t.Errorf("asked %d times, want more", asked)
			}
			w.checkPrefixByTime()
			// What is appended next is found as well, after a restart too.
			next := w.LogEndOffset()
			w.mustAppend(batch(1, 1_000_000), 1)
			for range 2 {
				want := TimestampOffset{1_000_000, next}
				if got, ok, err := w.OffsetForTimestamp(999_999); got != want || !ok || err != nil {
					t.Errorf("the record appended next: %+v, %v, %v, want %+v", got, ok, err, want)
				}
				w.crash()
				w.state.RecoveryPoint = 0
				w.open()
			}
			w.close()
		})
	}
}

// unused says whether no segment keeps its readers waiting.
func (w *world) unused() bool {
	v := w.snapshot()
	for _, s := range v.segments {
		if !s.mu.TryRLock() {
			return false
		}
		s.mu.RUnlock()
	}
	return true
}

// checkPrefixByTime compares all lookups and reads with a prefix of a log of spaced
// batches.
func (w *world) checkPrefixByTime() {
	w.t.Helper()
	end := w.LogEndOffset()
	if w.LogStartOffset() == end {
		end = 0 // Nothing in it.
	}
	for offset := int64(0); offset < end+3*perBatch; offset++ {
		found, ok, err := w.OffsetForTimestamp(timeOf(offset))
		if err != nil || ok != (offset < end) || ok && found != (TimestampOffset{timeOf(offset), offset}) {
			w.t.Fatalf("timestamp %d of a log that ends at %d: %+v, %v, %v", timeOf(offset), end, found, ok, err)
		}
		info, err := w.Read(offset, 300, math.MaxInt64, true)
		if err != nil && !errors.Is(err, ErrOffsetOutOfRange) {
			w.t.Fatalf("read %d of a log that ends at %d: %v", offset, end, err)
		}
		b := record.Batch(drain(w.t, info.Chunk))
		if (len(b) > 0) != (offset < end) || len(b) > 0 && b.BaseOffset() != offset/perBatch*perBatch {
			w.t.Fatalf("read %d of a log that ends at %d: %d bytes", offset, end, len(b))
		}
	}
	want := TimestampOffset{timeOf(end - 1), end - 1}
	if got, ok, err := w.OffsetOfMaxTimestamp(); err != nil || ok != (end > 0) || ok && got != want {
		w.t.Fatalf("largest timestamp of a log that ends at %d: %+v, %v, %v, want %+v", end, got, ok, err, want)
	}
}

// TestChunksOfWhatIsCut: a chunk that is on its way when its tail is cut off ends in an
// error, whatever is appended then. A client that got other bytes would take them for
// the log's.
func TestChunksOfWhatIsCut(t *testing.T) {
	for _, spec := range catalog.Builtin().Reads() {
		t.Run(spec.Name, func(t *testing.T) {
			w := newWorld(t)
			w.fs, w.dir, w.o.Read, w.o.SegmentBytes = vfs.OS{}, t.TempDir()+"/t-0", spec, 1<<20
			w.open()
			for i := range int64(6) {
				w.mustAppend(spaced(i), 0)
			}
			info, err := w.Read(0, 1<<20, math.MaxInt64, true)
			if err != nil {
				t.Fatal(err)
			}
			kept, _ := w.read(0, info.Bytes/3)
			if err := w.TruncateTo(2 * perBatch); err != nil {
				t.Fatal(err)
			}
			for range 8 {
				w.mustAppend(batch(perBatch+1, 77), 1)
			}
			var got writer
			n, err := info.Chunk.WriteTo(&got)
			info.Chunk.Release()
			if err == nil || n != int64(len(got)) || !bytes.HasPrefix(kept, got) {
				t.Errorf("%d bytes sent, %v; want no more than the %d that stayed, and an error", len(got), err, len(kept))
			}
			w.close()
		})
	}
}

// endFS tells of each append between its write and its publication.
type endFS struct {
	vfs.FS
	appended func()
}

func (f endFS) OpenOrCreate(name string) (vfs.File, error) {
	file, err := f.FS.OpenOrCreate(name)
	return endFile{file, f.appended}, err
}

type endFile struct {
	vfs.File
	appended func()
}

func (f endFile) SetEnd(end int64) {
	if end > 0 {
		f.appended()
	}
}

// TestLookUpBesideAnAppend: the index knows a batch a moment before readers may. In a
// log without records they start to look right there.
func TestLookUpBesideAnAppend(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.o.IndexIntervalBytes = 0
	w.fs = endFS{w.fs, func() {
		asked++
		if found, ok, err := w.OffsetForTimestamp(0); ok || err != nil {
			t.Errorf("%+v, %v, %v in a log whose records are all deleted", found, ok, err)
		}
		if found, ok, err := w.OffsetOfMaxTimestamp(); ok || err != nil {
			t.Errorf("largest timestamp %+v, %v, %v in a log whose records are all deleted", found, ok, err)
		}
	}}
	w.open()
	for i := range int64(4) {
		if err := w.AdvanceLogStart(i); err != nil {
			t.Fatal(err)
		}
		w.mustAppend(batch(1, 100*i), 0)
	}
	if asked != 4 {
		t.Errorf("asked %d times beside 4 appends", asked)
	}
}

// harmIndexes makes the second entry of each offset index of spaced batches wrong, and
// returns the first index as it was.
func (w *world) harmIndexes() (name string, whole []byte) {
	w.t.Helper()
	for _, n := range w.names() {
		if _, suffix, ok := ParseFileName(n); !ok || suffix != IndexSuffix || len(w.content(n)) < 3*8 {
			continue
		}
		if name == "" {
			name, whole = n, w.content(n)
		}
		harmed := w.content(n)
		harmed[8+7]++ // Its position.
		w.overwrite(n, harmed)
	}
	return name, whole
}

// TestLookUpMendsAnIndex: a lookup by time that meets a wrong entry in the index of a
// sealed segment has it rebuilt, as a read does.
func TestLookUpMendsAnIndex(t *testing.T) {
	w := newWorld(t)
	w.o.IndexIntervalBytes = 0
	w.open()
	for i := range int64(20) {
		w.mustAppend(spaced(i), 0)
	}
	w.close()
	name, whole := w.harmIndexes()
	w.open()
	for offset := int64(0); offset < w.LogEndOffset(); offset++ {
		if found, ok, err := w.OffsetForTimestamp(timeOf(offset)); err != nil || !ok || found.Offset != offset {
			t.Fatalf("timestamp of %d: %+v, %v, %v", offset, found, ok, err)
		}
	}
	w.close()
	if !bytes.Equal(w.content(name), whole) {
		t.Error("the index was not rebuilt")
	}
}

// TestTruncationMendsAnIndex: a truncation that meets a wrong index entry has the index
// made anew. It is no reason to give up the log, and with it the log directory.
func TestTruncationMendsAnIndex(t *testing.T) {
	for offset := int64(1); offset < 23*perBatch; offset++ {
		w := newWorld(t)
		w.o.IndexIntervalBytes = 0
		w.open()
		for i := range int64(23) {
			w.mustAppend(spaced(i), 0)
		}
		w.close()
		w.harmIndexes()
		w.open()
		if err := w.TruncateTo(offset); err != nil {
			t.Fatalf("truncate to %d: %v", offset, err)
		}
		if got, want := w.LogEndOffset(), offset/perBatch*perBatch; got != want {
			t.Fatalf("truncated to %d: the log ends at %d, want %d", offset, got, want)
		}
		w.checkPrefixByTime()
	}
}
