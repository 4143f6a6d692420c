package powercut_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// world is a root with a recorder on it, in a process that Kill ends.
type world struct {
	t            *testing.T
	root, record string
	*powercut.Recorder
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: filepath.Join(t.TempDir(), "root"), record: filepath.Join(t.TempDir(), "record")}
	w.restart()
	return w
}

func (w *world) restart() {
	w.t.Helper()
	r, err := powercut.Start(powercut.Options{Dir: w.record, Roots: []string{w.root}, RootLock: ".lock"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Recorder = r
}

// path is a path in the root.
func (w *world) path(name string) string { return filepath.Join(w.root, name) }

// cut ends the recorder, as a kill does, and cuts the power.
func (w *world) cut(o powercut.CutOptions) powercut.Report {
	w.t.Helper()
	if err := w.Close(); err != nil {
		w.t.Fatal(err)
	}
	record, err := powercut.Open(w.record)
	if err != nil {
		w.t.Fatal(err)
	}
	report, err := record.Cut(o)
	if err := errors.Join(err, record.Close()); err != nil {
		w.t.Fatal(err)
	}
	return report
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(name string) vfs.File {
	w.t.Helper()
	f, err := w.OpenOrCreate(w.path(name))
	w.must(err)
	w.t.Cleanup(func() { _ = f.Close() }) // The test is over.
	return f
}

func (w *world) write(f vfs.File, data string, at int64) {
	w.t.Helper()
	_, err := f.WriteAt([]byte(data), at)
	w.must(err)
}

func (w *world) want(name, content string) {
	w.t.Helper()
	got, err := os.ReadFile(w.path(name))
	w.must(err)
	if string(got) != content {
		w.t.Errorf("%s holds %.80q of %d bytes after the cut, want %.80q of %d", name, got, len(got), content, len(content))
	}
}

func (w *world) wantNone(name string) {
	w.t.Helper()
	if _, err := os.Lstat(w.path(name)); !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("%s is there after the cut: %v", name, err)
	}
}

// Seed 0 is a disk that wrote nothing unasked.
func TestSeedZeroTakesTheUnsynced(t *testing.T) {
	w := start(t)
	for _, name := range []string{"log", "overwritten", "cut", "removed", "nameless", "old"} {
		f := w.create(name)
		w.write(f, "synced "+name, 0)
		w.must(f.Sync())
	}
	w.must(w.SyncDir(w.root))
	w.write(w.create("log"), " and more", 10)
	w.write(w.create("overwritten"), "SYN", 0)
	w.must(w.create("cut").Truncate(3))
	w.must(w.Remove(w.path("removed")))
	f := w.create("new")
	w.write(f, "synced, its name is not", 0)
	w.must(f.Sync())
	f = w.create("tmp")
	w.write(f, "replaces", 0)
	w.must(f.Sync())
	w.must(w.Rename(w.path("tmp"), w.path("old")))
	w.must(w.MkdirAll(w.path("dir/below")))
	w.create("dir/below/file")

	report := w.cut(powercut.CutOptions{})
	w.want("log", "synced log")
	w.want("overwritten", "synced overwritten")
	w.want("cut", "synced cut")
	w.want("removed", "synced removed")
	w.want("old", "synced old")
	w.wantNone("new")
	w.wantNone("tmp")
	w.wantNone("dir")
	if len(report.Names) != 7 {
		t.Errorf("%d changes of names reported, want 7: %+v", len(report.Names), report.Names)
	}
	for _, n := range report.Names {
		if n.Happened {
			t.Errorf("%s of %s survived seed 0", n.Change, n.Path)
		}
	}
}

// What syncs covered is there under every seed, whatever the dice say of the rest.
func TestTheSyncedStays(t *testing.T) {
	for seed := range uint64(40) {
		w := start(t)
		w.write(w.create("tmp"), "old", 0)
		w.must(w.Rename(w.path("tmp"), w.path("file")))
		f := w.create("file")
		w.must(f.Truncate(1))
		w.write(f, "new content", 0)
		w.must(f.Sync())
		w.must(w.MkdirAll(w.path("dir")))
		w.must(w.SyncDir(w.root))
		w.create("dir/gone")
		w.must(w.SyncDir(w.path("dir")))
		w.must(w.Remove(w.path("dir/gone")))
		w.must(w.SyncDir(w.path("dir")))
		w.cut(powercut.CutOptions{Seed: seed, Torn: powercut.Sector})
		w.want("file", "new content")
		w.wantNone("tmp")
		w.wantNone("dir/gone")
		if _, err := os.Stat(w.path("dir")); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// Preallocated space is not content, and neither is what was appended after a
// sync began: the end that the appender told decides, not the length.
func TestPreallocatedSpaceIsNotDurable(t *testing.T) {
	w := start(t)
	f := w.create("segment")
	w.must(w.SyncDir(w.root))
	if err := vfs.Allocate(f, 0, 1<<20); err != nil {
		t.Skipf("this file system does not allocate: %v", err)
	}
	ended := vfs.EndedOf(f)
	m, err := vfs.Map(f, 0, 1<<20, true)
	w.must(err)
	synced := bytes.Repeat([]byte("s"), 5000)
	w.must(m.CopyIn(0, synced))
	ended.SetEnd(5000)
	w.must(f.Sync())
	w.must(m.CopyIn(5000, bytes.Repeat([]byte("u"), 100_000)))
	ended.SetEnd(105_000)
	w.must(m.Unmap())
	report := w.cut(powercut.CutOptions{})
	w.want("segment", string(synced))
	if len(report.Files) != 1 || report.Files[0].LostBytes != 100_000 || report.Files[0].DurableBytes != 5000 {
		t.Errorf("reported %+v, want 5000 durable bytes and 100000 lost", report.Files)
	}
}

// Each unsynced page, or sector, is the new one, the old one, or zeros where there
// was none; and over the seeds both happens. One seed has one outcome.
func TestUnsyncedPagesSurviveOrNot(t *testing.T) {
	const synced, unsynced = 10_000, 400_000
	for _, torn := range []powercut.Torn{powercut.Page, powercut.Sector} {
		lost, kept, torns := 0, 0, 0
		for seed := range uint64(16) {
			var outcomes [2][]byte
			for i := range outcomes {
				w := start(t)
				f := w.create("log")
				w.write(f, string(bytes.Repeat([]byte("s"), synced)), 0)
				w.must(f.Sync())
				w.must(w.SyncDir(w.root))
				w.write(f, string(bytes.Repeat([]byte("u"), unsynced)), synced)
				report := w.cut(powercut.CutOptions{Seed: seed, Torn: torn})
				got, err := os.ReadFile(w.path("log"))
				w.must(err)
				outcomes[i] = got
				if n := bytes.Count(got, []byte("u")); int64(n) != report.KeptBytes || int64(unsynced-n) != report.LostBytes {
					t.Errorf("seed %d: %d bytes survived, reported %d kept and %d lost", seed, n, report.KeptBytes, report.LostBytes)
				}
			}
			got := outcomes[0]
			if !bytes.Equal(got, outcomes[1]) {
				t.Errorf("seed %d has two outcomes", seed)
			}
			if !bytes.HasPrefix(got, bytes.Repeat([]byte("s"), synced)) {
				t.Errorf("seed %d lost synced bytes", seed)
			}
			if len(bytes.Trim(got[synced:], "u\x00")) > 0 {
				t.Errorf("seed %d invented bytes", seed)
			}
			if n := bytes.Count(got, []byte("u")); n == unsynced {
				kept++
			} else if n == 0 {
				lost++
			}
			for at := 4096 * 3; at+4096 <= len(got); at += 4096 {
				if n := bytes.Count(got[at:at+4096], []byte("u")); n%512 != 0 {
					t.Errorf("seed %d tore a sector", seed)
				} else if n != 0 && n != 4096 {
					torns++
				}
			}
		}
		if lost == 0 || lost == 16 {
			t.Errorf("torn by %s: %d of 16 seeds lost all, %d nothing; want some of each", torn, lost, kept)
		}
		if torns > 0 != (torn == powercut.Sector) {
			t.Errorf("torn by %s: %d torn pages", torn, torns)
		}
	}
}

// A failed sync makes nothing durable.
func TestAFailedSyncIsNotRecorded(t *testing.T) {
	w := start(t)
	f := w.create("log")
	w.must(w.SyncDir(w.root))
	w.write(f, "appended", 0)
	fd, _ := f.Descriptor()
	null, err := unix.Open("/proc/self/status", unix.O_RDONLY, 0) // fdatasync(2) of it is EINVAL.
	w.must(err)
	saved, err := unix.Dup(fd)
	w.must(err)
	w.must(unix.Dup2(null, fd))
	if err := f.Sync(); err == nil {
		t.Skip("the sync did not fail")
	}
	w.must(errors.Join(unix.Dup2(saved, fd), unix.Close(saved), unix.Close(null)))
	w.cut(powercut.CutOptions{})
	w.want("log", "")
}

func TestARecordIsUsedOnce(t *testing.T) {
	w := start(t)
	w.create("file")
	if _, err := powercut.Open(w.record); err == nil {
		t.Fatal("the record of a live process was opened")
	} else if locked := (*vfs.LockedError)(nil); !errors.As(err, &locked) {
		t.Errorf("live: %v, want who holds it", err)
	}
	w.cut(powercut.CutOptions{Seed: 3})
	if _, err := powercut.Open(w.record); !errors.Is(err, powercut.ErrUsed) {
		t.Errorf("second cut: %v, want %v", err, powercut.ErrUsed)
	}
	w.restart()
	w.create("other")
	w.cut(powercut.CutOptions{})
	w.wantNone("other")
}

// A directory that somebody else opened since is not what the record describes.
func TestOpenedSince(t *testing.T) {
	w := start(t)
	lock, err := w.Lock(w.path(".lock"))
	w.must(err)
	w.must(errors.Join(lock.Close(), w.Close(), os.WriteFile(w.path(".lock"), []byte("pid 1 (other)\n"), 0o644)))
	if _, err := powercut.Open(w.record); !errors.Is(err, powercut.ErrOpenedSince) {
		t.Errorf("got %v, want %v", err, powercut.ErrOpenedSince)
	}
}

func TestPlaces(t *testing.T) {
	root := t.TempDir()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]powercut.Options{
		"inside":  {Dir: filepath.Join(root, "record"), Roots: []string{root}},
		"around":  {Dir: root, Roots: []string{filepath.Join(root, "data")}},
		"foreign": {Dir: foreign, Roots: []string{root}},
		"nested":  {Dir: t.TempDir(), Roots: []string{root, filepath.Join(root, "below")}},
		"none":    {Dir: t.TempDir()},
	} {
		if r, err := powercut.Start(o); err == nil {
			t.Errorf("%s: accepted", name)
			_ = r.Close() // It should not be.
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, "thesis.tex")); err != nil {
		t.Error(err)
	}
}
