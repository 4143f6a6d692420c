package vfs_test

import (
	"errors"
	"syscall"
	"testing"

	"tidemark/internal/vfs"
)

// Every call can be failed, and the failure carries the path.
func TestFaultyFailsEveryOp(t *testing.T) {
	calls := map[vfs.Op]func(fsys vfs.FS, f vfs.File) error{
		vfs.OpCreate:    func(s vfs.FS, _ vfs.File) error { _, err := s.Create("/dir/x"); return err },
		vfs.OpOpen:      func(s vfs.FS, _ vfs.File) error { _, err := s.Open("/dir/f"); return err },
		vfs.OpRemove:    func(s vfs.FS, _ vfs.File) error { return s.Remove("/dir/f") },
		vfs.OpRemoveAll: func(s vfs.FS, _ vfs.File) error { return s.RemoveAll("/dir") },
		vfs.OpRename:    func(s vfs.FS, _ vfs.File) error { return s.Rename("/dir/f", "/dir/g") },
		vfs.OpMkdir:     func(s vfs.FS, _ vfs.File) error { return s.MkdirAll("/dir/d") },
		vfs.OpReadDir:   func(s vfs.FS, _ vfs.File) error { _, err := s.ReadDir("/dir"); return err },
		vfs.OpStat:      func(s vfs.FS, _ vfs.File) error { _, err := s.Stat("/dir/f"); return err },
		vfs.OpSyncDir:   func(s vfs.FS, _ vfs.File) error { return s.SyncDir("/dir") },
		vfs.OpLock:      func(s vfs.FS, _ vfs.File) error { _, err := s.Lock("/dir/l"); return err },
		vfs.OpFree:      func(s vfs.FS, _ vfs.File) error { _, err := s.Free("/dir"); return err },
		vfs.OpRead:      func(_ vfs.FS, f vfs.File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		vfs.OpWrite:     func(_ vfs.FS, f vfs.File) error { return writeAt(f, "x", 0) },
		vfs.OpTruncate:  func(_ vfs.FS, f vfs.File) error { return f.Truncate(0) },
		vfs.OpSize:      func(_ vfs.FS, f vfs.File) error { _, err := f.Size(); return err },
		vfs.OpSync:      func(_ vfs.FS, f vfs.File) error { return f.Sync() },
		vfs.OpClose:     func(_ vfs.FS, f vfs.File) error { return f.Close() },
	}
	for op, call := range calls {
		t.Run(string(op), func(t *testing.T) {
			m := memWith(t, "/dir")
			mustWrite(t, m, "/dir/f", "content", true)
			faulty := vfs.NewFaulty(m)
			f, err := faulty.Open("/dir/f")
			if err != nil {
				t.Fatal(err)
			}
			faulty.Inject(vfs.Fault{Op: op, Nth: 1, Err: syscall.EIO})
			wantErr(t, "the planned failure", call(faulty, f), syscall.EIO)
			if op != vfs.OpClose {
				wantErr(t, "the call after it", call(faulty, f), nil)
			}
		})
	}
}

func TestFaultyCountsMatchingCallsOnly(t *testing.T) {
	m := memWith(t, "/dir")
	faulty := vfs.NewFaulty(m)
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "*.log", Nth: 2, Short: 3, Err: syscall.ENOSPC})
	log, err := faulty.Create("/dir/1.log")
	if err != nil {
		t.Fatal(err)
	}
	other, err := faulty.Create("/dir/1.index")
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, "first write", writeAt(log, "abc", 0), nil)
	wantErr(t, "write to another file", writeAt(other, "abc", 0), nil)
	n, err := log.WriteAt([]byte("defgh"), 3)
	if n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("second write: got %d, %v, want 3 bytes and ENOSPC", n, err)
	}
	wantContent(t, m, "/dir/1.log", "abcdef")
	wantErr(t, "third write", writeAt(log, "x", 0), nil)
	faulty.Inject(vfs.Fault{Path: "1.log", Err: syscall.EIO})
	wantErr(t, "any call", log.Sync(), syscall.EIO)
	wantErr(t, "any call, again", log.Sync(), syscall.EIO)
	faulty.Clear()
	wantErr(t, "after Clear", log.Sync(), nil)
}

func TestFaultyHidesDescriptors(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.OS{})
	for _, hand := range []bool{false, true} {
		faulty.Descriptors = hand
		f, err := faulty.OpenOrCreate(t.TempDir() + "/f")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Descriptor(); ok != hand {
			t.Errorf("with Descriptors %v a file has a descriptor: %v", hand, ok)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A failure of any call of WriteFileAtomic leaves the old or the new content and
// tells.
func TestWriteFileAtomicFailsCleanly(t *testing.T) {
	for nth := 1; ; nth++ {
		m := memWith(t, "/dir")
		if err := vfs.WriteFileAtomic(m, "/dir/file", []byte("old")); err != nil {
			t.Fatal(err)
		}
		faulty := vfs.NewFaulty(m)
		faulty.Inject(vfs.Fault{Nth: nth, Err: syscall.EIO})
		err := vfs.WriteFileAtomic(faulty, "/dir/file", []byte("new"))
		if err == nil {
			if nth < 7 {
				t.Errorf("call %d failed and nobody was told", nth)
			}
			wantContent(t, m, "/dir/file", "new")
			return
		}
		got, readErr := vfs.ReadFile(m, "/dir/file")
		if readErr != nil || string(got) != "old" && string(got) != "new" {
			t.Errorf("call %d failed: the file has %q, %v", nth, got, readErr)
		}
	}
}

func TestSyncerKeepsTheFirstError(t *testing.T) {
	faulty := vfs.NewFaulty(memWith(t, "/dir"))
	f, err := faulty.Create("/dir/f")
	if err != nil {
		t.Fatal(err)
	}
	s := vfs.NewSyncer(f)
	wantErr(t, "sync", s.Sync(), nil)
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Nth: 1, Err: syscall.EIO})
	wantErr(t, "failing sync", s.Sync(), syscall.EIO)
	wantErr(t, "sync after it", s.Sync(), syscall.EIO)
	wantErr(t, "Err", s.Err(), syscall.EIO)
}
