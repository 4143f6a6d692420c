package powercut

import (
	"bytes"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"tidemark/internal/vfs"
)

func open(t *testing.T) (*Recorder, *file) {
	t.Helper()
	root := t.TempDir()
	r, err := Start(Options{Dir: filepath.Join(t.TempDir(), "record"), Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Create(filepath.Join(root, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r, f.(*file)
}

func (l *liveFile) wantDurable(t *testing.T, what string, want int64) {
	t.Helper()
	if got := int64(l.durableCell.Load() & maxLength); got != want || l.durable != want {
		t.Errorf("%s: %d bytes are durable by the record, %d by the recorder, want %d", what, got, l.durable, want)
	}
}

// A sync covers what was appended when it began, whatever comes while it runs; of
// two at once the one that began later has the word, whichever ends first.
func TestWhatASyncCovers(t *testing.T) {
	_, f := open(t)
	l := f.live
	write := func(end int64) {
		t.Helper()
		if _, err := f.WriteAt(bytes.Repeat([]byte("x"), int(end)), 0); err != nil {
			t.Fatal(err)
		}
		f.SetEnd(end)
	}
	write(100)
	first := l.beginSync(100)
	f.SetEnd(200)
	l.endSync(first, true)
	l.wantDurable(t, "appended during a sync", 100)

	early, late := l.beginSync(200), l.beginSync(300)
	l.endSync(late, true)
	l.wantDurable(t, "the later of two", 300)
	l.endSync(early, true)
	l.wantDurable(t, "the earlier of two, after it", 300)

	failed := l.beginSync(400)
	l.endSync(failed, false)
	l.wantDurable(t, "a sync that failed", 300)

	write(500)
	cut := l.beginSync(500)
	if err := f.Truncate(350); err != nil {
		t.Fatal(err)
	}
	l.endSync(cut, true)
	l.wantDurable(t, "cut off during a sync", 350)
}

// Bytes that a sync under way may be making durable are copied before they are
// overwritten, and the copy outlives that sync.
func TestCopiesOutliveTheSyncTheyCameIn(t *testing.T) {
	r, f := open(t)
	if _, err := f.WriteAt(make([]byte, 8192), 0); err != nil {
		t.Fatal(err)
	}
	s := f.live.beginSync(8192)
	if _, err := f.WriteAt([]byte("changed"), 5000); err != nil {
		t.Fatal(err)
	}
	f.live.endSync(s, true)
	copies := func() int {
		all, err := undoAll(r.path(undoDir))
		if err != nil {
			t.Fatal(err)
		}
		return len(all[f.live.id])
	}
	if n := copies(); n != 1 || len(f.live.copies) != 1 || f.live.copies[0].gen < s.liveFrom {
		t.Fatalf("%d copies after the sync they came in, %v, want one that counts", n, f.live.copies)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if n := copies(); n != 0 || len(f.live.copies) != 0 {
		t.Errorf("%d copies after the next sync, want none", n)
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	r, f := open(t)
	dir := filepath.Dir(f.Name())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range int64(50) {
				var err error
				switch i {
				case 0:
					_, err = f.WriteAt(make([]byte, 100), 100*n)
					f.SetEnd(100 * (n + 1))
				case 1:
					err = f.Sync()
				case 2:
					err = vfs.WriteFileAtomic(r, filepath.Join(dir, "checkpoint"), make([]byte, n))
				default:
					err = errors.Join(r.MkdirAll(filepath.Join(dir, "d")), r.SyncDir(dir), r.RemoveAll(filepath.Join(dir, "d")))
					if _, cellErr := r.AckCell(filepath.Join(dir, "d")); err == nil {
						err = cellErr
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
