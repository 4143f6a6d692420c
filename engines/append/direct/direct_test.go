package direct

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

func start(t *testing.T, fsys vfs.FS, segmentBytes int64) (*appender, vfs.File) {
	t.Helper()
	dir := t.TempDir()
	if err := Spec().Available(dir); err != nil {
		t.Skipf("not available here: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("Available left %v, %v", left, err)
	}
	f, err := fsys.Create(filepath.Join(dir, "segment"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // The test is over.
	a, err := Spec().Open(f, 0, engines.AppendOptions{SegmentBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*appender), f
}

// withDescriptors is a file system whose faults are planned and whose files have
// descriptors: what the engine asks of the File is seen, its writes are not.
func withDescriptors() *vfs.Faulty {
	fsys := vfs.NewFaulty(vfs.OS{})
	fsys.Descriptors = true
	return fsys
}

func mustAppend(t *testing.T, a engines.Appender, n int) {
	t.Helper()
	if _, err := a.Append([][]byte{bytes.Repeat([]byte{7}, n)}); err != nil {
		t.Fatal(err)
	}
}

func wantLength(t *testing.T, f vfs.File, want int64) {
	t.Helper()
	if got, err := f.Size(); err != nil || got != want {
		t.Errorf("the file has %d bytes, %v, want %d", got, err, want)
	}
}

// wantSevens wants n bytes of 7 and zeros behind them.
func wantSevens(t *testing.T, f vfs.File, n int) {
	t.Helper()
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < n || strings.Trim(string(got[:n]), "\x07") != "" || strings.Trim(string(got[n:]), "\x00") != "" {
		t.Errorf("the file of %d bytes is not %d sevens and zeros", len(got), n)
	}
}

// The bytes do not pass through the page cache: after appends nothing of the
// file is in it.
func TestLeavesThePageCacheAlone(t *testing.T) {
	a, f := start(t, vfs.OS{}, 64<<20)
	for range 10 {
		mustAppend(t, a, 100_001)
	}
	fd, _ := f.Descriptor()
	var st unix.Cachestat_t
	err := unix.Cachestat(uint(fd), &unix.CachestatRange{Len: 2_000_000}, &st, 0)
	if err == unix.ENOSYS {
		t.Skip("cachestat(2) came with Linux 6.5")
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("a file system that is itself in the page cache: %v", err)
	}
	if err != nil || st.Cache > 0 {
		t.Errorf("%d pages in the cache, %v, want none", st.Cache, err)
	}
}

// Reservation goes in steps that double from 1 MiB, and stops at the segment.
func TestReservationSteps(t *testing.T) {
	a, f := start(t, vfs.OS{}, 5<<20)
	wantLength(t, f, 0)
	for _, step := range []struct{ append, length int64 }{
		{1, 1 << 20}, {1<<20 - 1, 1 << 20}, {1, 2 << 20}, {1 << 20, 4 << 20}, {3<<20 - 1, 5 << 20}, {1, 5<<20 + 4096}, {8191, 5<<20 + 8192},
	} {
		mustAppend(t, a, int(step.append))
		wantLength(t, f, step.length)
	}
	wantSevens(t, f, 5<<20+8192)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantLength(t, f, 5<<20+8192)
}

// Blocks cost a write each, not each batch: appends up to a block are one block
// written, and what pads it are zeros.
func TestUnfinishedBlockIsWrittenAgain(t *testing.T) {
	a, f := start(t, vfs.OS{}, 1<<20)
	var written []int
	a.device.pwrite = func(fd int, p []byte, at int64) (int, error) {
		written = append(written, int(at)<<8|len(p)/4096)
		return unix.Pwrite(fd, p, at)
	}
	size := 0
	for _, n := range []int{1000, 3096, 100, 5000, 8192 - 5100 + 4096, 4096} {
		mustAppend(t, a, n)
		size += n
		wantSevens(t, f, size)
	}
	want := []int{0<<8 | 1, 0<<8 | 1, 4096<<8 | 1, 4096<<8 | 2, 8192<<8 | 2, 16384<<8 | 1}
	for i := range want {
		if written[i] != want[i] {
			t.Errorf("append %d wrote %d blocks at %d, want %d at %d", i, written[i]&255, written[i]>>8, want[i]&255, want[i]>>8)
		}
	}
}

// A device that takes a part of a write is asked again for the rest, from the
// first block that it did not take; one that stops in the middle of a block, or
// fails, leaves no trace.
func TestShortWrites(t *testing.T) {
	for _, test := range []struct {
		name string
		// took is how many bytes the second call of pwrite takes.
		took    int
		err     error
		wantErr error
	}{
		{"interrupted", 0, unix.EINTR, nil},
		{"whole blocks", 8192, nil, nil},
		{"half a block", 8192 + 512, nil, io.ErrShortWrite},
		{"nothing", 0, nil, io.ErrShortWrite},
		{"device error", 0, unix.EIO, unix.EIO},
		{"full", 0, unix.ENOSPC, unix.ENOSPC},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, f := start(t, vfs.OS{}, 64<<20)
			mustAppend(t, a, 5000)
			calls := 0
			a.device.pwrite = func(fd int, p []byte, at int64) (int, error) {
				if calls++; calls != 2 {
					return unix.Pwrite(fd, p, at)
				}
				if _, err := unix.Pwrite(fd, p[:(test.took+4095)&^4095], at); err != nil {
					t.Fatal(err)
				}
				return test.took, test.err
			}
			size := 5000
			_, err := a.Append([][]byte{bytes.Repeat([]byte{7}, 3<<20)})
			if !errors.Is(err, test.wantErr) {
				t.Fatalf("Append: got %v, want %v", err, test.wantErr)
			}
			if err == nil {
				size += 3 << 20
			}
			if a.Size() != int64(size) {
				t.Errorf("Size is %d, want %d", a.Size(), size)
			}
			wantSevens(t, f, size)
			mustAppend(t, a, 100)
			wantSevens(t, f, size+100)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			wantLength(t, f, int64(size)+100)
		})
	}
}

// A tail that will not go is cut off by the next call.
func TestFailedTrimIsMadeUpFor(t *testing.T) {
	fsys := withDescriptors()
	a, f := start(t, fsys, 64<<20)
	mustAppend(t, a, 1000)
	a.device.pwrite = func(fd int, p []byte, at int64) (int, error) {
		if _, err := unix.Pwrite(fd, p, at); err != nil {
			t.Fatal(err)
		}
		return 0, unix.EIO
	}
	fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Err: syscall.EIO})
	for range 2 {
		if _, err := a.Append([][]byte{make([]byte, 9000)}); !errors.Is(err, unix.EIO) || a.Size() != 1000 {
			t.Fatalf("Append: got %v and size %d, want EIO and 1000", err, a.Size())
		}
	}
	if err := a.Truncate(10); !errors.Is(err, syscall.EIO) || a.Size() != 1000 {
		t.Errorf("failed Truncate: got %v and size %d, want EIO and 1000", err, a.Size())
	}
	if err := a.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close that cannot trim: got %v, want EIO", err)
	}
	fsys.Clear()
	a.device.pwrite = unix.Pwrite
	mustAppend(t, a, 1)
	wantSevens(t, f, 1001)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantLength(t, f, 1001)
}

// Every way to stable storage is File.Sync, where a file system in between sees it.
func TestFlushIsTheFilesSync(t *testing.T) {
	fsys := withDescriptors()
	a, _ := start(t, fsys, 64<<20)
	mustAppend(t, a, 1000)
	fsys.Inject(vfs.Fault{Op: vfs.OpSync, Nth: 1, Err: syscall.EIO})
	for range 2 {
		if err := a.Flush(); !errors.Is(err, syscall.EIO) {
			t.Errorf("Flush: got %v, want EIO, for ever", err)
		}
	}
	if _, err := a.Append([][]byte{{1}}); !errors.Is(err, syscall.EIO) {
		t.Errorf("Append after a failed Flush: got %v, want EIO", err)
	}
}

// Segments share the memory in which appends are aligned: a broker with many
// partitions does not hold it many times, and an append makes none.
func TestStagesAreShared(t *testing.T) {
	for range cap(largeStages) + cap(smallStages) {
		a, _ := start(t, vfs.OS{}, 8<<20)
		mustAppend(t, a, 1000)
		mustAppend(t, a, 1<<20)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if small, large := len(smallStages), len(largeStages); small != 1 || large != 1 {
		t.Errorf("%d small and %d large stages after appends one by one, want one of each", small, large)
	}
	first, second := takeStage(1000, 4096), takeStage(1000, 4096)
	if len(first.mem) != smallStage || &first.mem[0] == &second.mem[0] {
		t.Error("two appends at once have one stage")
	}
	if s := takeStage(smallStage+1, 4096); len(s.mem) != largeStage || address(s.mem)%4096 != 0 {
		t.Errorf("a stage of %d bytes at %#x for more than a small one", len(s.mem), address(s.mem))
	}
}

func TestOpenTellsWhy(t *testing.T) {
	mem, err := vfs.NewMem().Create("/segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Spec().Open(mem, 0, engines.AppendOptions{}); !errors.Is(err, vfs.ErrNoDescriptor) {
		t.Errorf("a file in memory: got %v, want ErrNoDescriptor", err)
	}
	if err := Spec().Available(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("available in a directory that is not there")
	}
	if err := Spec().Available("/proc/self"); err == nil {
		t.Error("available on proc")
	}
	fsys := withDescriptors()
	for _, fault := range []vfs.Op{vfs.OpSize, vfs.OpRead, vfs.OpTruncate} {
		_, f := start(t, fsys, 1<<20)
		if _, err := f.WriteAt(make([]byte, 9), 0); err != nil {
			t.Fatal(err)
		}
		fsys.Inject(vfs.Fault{Op: fault, Err: syscall.EIO})
		if _, err := Spec().Open(f, 5, engines.AppendOptions{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("Open with a failing %s: got %v, want EIO", fault, err)
		}
		fsys.Clear()
	}
}

// A file system in memory without direct I/O: the kernel's refusal is told in words.
func TestRefusalByTheKernel(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	if err := unix.Mount("ramfs", dir, "ramfs", 0, ""); err != nil {
		t.Skipf("mount ramfs: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}()
	if err := Spec().Available(dir); !errors.Is(err, errNoDirect) {
		t.Errorf("Available on ramfs: got %v, want %v", err, errNoDirect)
	}
}
