package commitlog

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/append/direct"
	"tidemark/engines/append/mapped"
	"tidemark/engines/read/pread"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// smallDisk mounts a file system of its own that holds size bytes.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("needs to mount a tmpfs, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills a real small disk: what does not fit is refused and leaves
// nothing, in the log as in its files; what was there is served; with room again
// appends and rolls go on without a restart; and a restart, clean or not, finds what
// was acknowledged and nothing else.
func TestFullDisk(t *testing.T) {
	for _, spec := range []engines.AppendSpec{buffered.Spec(), mapped.Spec(), direct.Spec()} {
		t.Run(spec.Name, func(t *testing.T) {
			disk := smallDisk(t, "size=8m")
			if err := spec.Available(disk); err != nil {
				t.Skipf("%s does not run on a tmpfs here: %v", spec.Name, err)
			}
			ballast := filepath.Join(disk, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			o := DefaultOptions()
			o.Append, o.Read, o.SegmentBytes, o.TimestampBeforeMaxMs, o.RetentionMs = spec, pread.Spec(), 1<<20, -1, -1
			l, err := Open(vfs.OS{}, disk+"/t-0", o, OpenState{}, clock.Real{})
			if err != nil {
				t.Fatal(err)
			}
			b := benchBatch(100_000)
			accepted := int64(0)
			appendOne := func() error {
				b.SetBaseOffset(0)
				info, err := l.AppendAsLeader(b, 0, Client)
				if err == nil && info.BaseOffset != accepted*int64(b.Count()) {
					t.Fatalf("batch %d has offset %d", accepted, info.BaseOffset)
				}
				if err == nil {
					accepted++
				}
				return err
			}
			for err == nil {
				err = appendOne()
			}
			for range 3 { // It stays refused, whatever there is a little room for.
				if again := appendOne(); again != nil {
					err = again
				}
			}
			if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFailed) || l.Err() != nil {
				t.Fatalf("append to a full disk: %v, the log: %v; want ENOSPC and the log well", err, l.Err())
			}
			if accepted < 10 {
				t.Fatalf("%d batches fitted into 4 MiB", accepted)
			}
			holds := func(when string) {
				t.Helper()
				if got, want := l.LogEndOffset(), accepted*int64(b.Count()); got != want {
					t.Fatalf("%s: log end offset %d, want %d", when, got, want)
				}
				if got, want := l.Size(), accepted*int64(b.Size()); got != want {
					t.Fatalf("%s: %d bytes of batches, want %d", when, got, want)
				}
				for offset := int64(0); offset < l.LogEndOffset(); offset += int64(b.Count()) {
					info, err := l.Read(offset, 1<<20, offset+int64(b.Count()), true)
					if err != nil {
						t.Fatalf("%s: read %d: %v", when, offset, err)
					}
					got, _, err := record.Parse(drain(t, info.Chunk))
					if err != nil || got.CheckCRC() != nil || got.BaseOffset() != offset {
						t.Fatalf("%s: batch at %d: %v, offset %d", when, offset, err, got.BaseOffset())
					}
				}
			}
			holds("on the full disk")
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if err := appendOne(); err != nil {
					t.Fatalf("append with room again: %v", err)
				}
			}
			holds("with room again")
			// As after a kill: a second log on the same files, the first not closed.
			former := l
			if l, err = Open(vfs.OS{}, copied(t, former), o, OpenState{}, clock.Real{}); err != nil {
				t.Fatal(err)
			}
			holds("after a kill")
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if l = former; l.Close() != nil {
				t.Fatal("close failed")
			}
			if l, err = Open(vfs.OS{}, disk+"/t-0", o, OpenState{CleanShutdown: true}, clock.Real{}); err != nil {
				t.Fatal(err)
			}
			holds("after a clean stop")
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// copied is a copy of the files of a log that nobody appends to, as they are at one
// moment: no segment is sealed meanwhile.
func copied(t *testing.T, l *Log) string {
	t.Helper()
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	to := filepath.Join(t.TempDir(), "t-0")
	if err := os.CopyFS(to, os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestRetentionOnFullDisk: where the disk has no room for the side files of rolled
// segments, retention still removes what is sealed, and no append waits for a sync of
// it.
func TestRetentionOnFullDisk(t *testing.T) {
	w := newWorld(t)
	faulty := vfs.NewFaulty(w.fs)
	w.fs, w.o.RetentionBytes, w.o.FileDeleteDelay = faulty, 2000, 0
	w.open()
	for i := range 40 {
		w.mustAppend(idempotent(5, 0, int32(3*i), 3), int32(i/10))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Err: syscall.ENOSPC})
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) || w.Err() != nil {
		t.Fatalf("flush: %v, the log: %v; want ENOSPC and the log well", err, w.Err())
	}
	if deleted, err := w.ApplyRetention(w.clock.Now(), w.LogEndOffset()); err != nil || deleted == 0 {
		t.Fatalf("retention on a full disk: %d deleted, %v", deleted, err)
	}
	if got := w.Epochs(); len(got) == 0 || got[0].StartOffset < w.LogStartOffset() {
		t.Errorf("leader epochs %v, the log starts at %d", got, w.LogStartOffset())
	}
	faulty.Clear()
	if err := w.Flush(); err != nil || w.RecoveryPoint() != 120 {
		t.Fatalf("flush with room again: %v, recovery point %d, want 120", err, w.RecoveryPoint())
	}
	epochs, start := w.Epochs(), w.LogStartOffset()
	w.crash()
	w.open()
	if diff := cmp.Diff(epochs, w.Epochs()); diff != "" || w.LogStartOffset() != start {
		t.Errorf("after a crash the log starts at %d, want %d; leader epochs (-before +after):\n%s", w.LogStartOffset(), start, diff)
	}
}

// TestNoDescriptors: a process that may open no file more is as one without room.
// What needs no new file goes on, a roll is refused, what a roll leaves to be written
// waits, and with descriptors again all of it is made up for.
func TestNoDescriptors(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		memory := vfs.NewMem()
		fsys := vfs.NewFaulty(memory)
		var none atomic.Bool
		fsys.OnCall(func(op vfs.Op, path string) error {
			if none.Load() && (op == vfs.OpCreate || op == vfs.OpOpen || op == vfs.OpSyncDir) {
				return &os.PathError{Op: "open", Path: path, Err: errno}
			}
			return nil
		})
		o := DefaultOptions()
		o.Append, o.Read, o.SegmentBytes, o.TimestampBeforeMaxMs, o.RetentionMs = buffered.Spec(), pread.Spec(), 300_000, -1, -1
		l, err := Open(fsys, "/t-0", o, OpenState{}, clock.Real{})
		if err != nil {
			t.Fatal(err)
		}
		b := benchBatch(100_000)
		accepted := int64(0)
		appendOne := func() error {
			b.SetBaseOffset(0)
			_, err := l.AppendAsLeader(b, 0, Client)
			if err == nil {
				accepted++
			}
			return err
		}
		for range 5 {
			if err := appendOne(); err != nil {
				t.Fatal(err)
			}
		}
		none.Store(true)
		for err == nil {
			err = appendOne()
		}
		_ = l.Flush() // The snapshot of the segment before cannot be written.
		if !errors.Is(err, errno) || errors.Is(err, ErrFailed) || l.Err() != nil {
			t.Fatalf("%v: append: %v, the log: %v; want the roll refused and the log well", errno, err, l.Err())
		}
		none.Store(false)
		for range 10 {
			if err := appendOne(); err != nil {
				t.Fatalf("%v: append with descriptors again: %v", errno, err)
			}
		}
		if err := l.Flush(); err != nil {
			t.Fatalf("%v: flush with descriptors again: %v", errno, err)
		}
		if got, want := l.RecoveryPoint(), accepted*int64(b.Count()); got != want {
			t.Errorf("%v: recovery point %d, want %d", errno, got, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
