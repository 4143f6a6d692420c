package buffered

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

func start(t *testing.T, fsys vfs.FS, name string) engines.Appender {
	t.Helper()
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // The test is over.
	a, err := Spec().Open(f, 0, engines.AppendOptions{SegmentBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The engine also runs on files without a descriptor, where every fault of a
// write can be planned.
func TestShortWriteLeavesNoTrace(t *testing.T) {
	for _, truncateFails := range []bool{false, true} {
		mem := vfs.NewMem()
		fsys := vfs.NewFaulty(mem)
		a := start(t, fsys, "/segment")
		if _, err := a.Append([][]byte{[]byte("kept")}); err != nil {
			t.Fatal(err)
		}
		fsys.Inject(vfs.Fault{Op: vfs.OpWrite, Nth: 2, Short: 3, Err: syscall.EIO})
		if truncateFails {
			fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Nth: 1, Err: syscall.EIO})
		}
		if _, err := a.Append([][]byte{[]byte("lost"), []byte("torn")}); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Append: got %v, want EIO", err)
		}
		if a.Size() != 4 {
			t.Errorf("Size after a failed append: got %d, want 4", a.Size())
		}
		want := "kept"
		if truncateFails {
			want = "keptlosttor" // Until the next call.
		}
		wantFile(t, mem, want)
		if position, err := a.Append([][]byte{[]byte("!")}); err != nil || position != 4 {
			t.Errorf("next Append: got %d, %v, want 4", position, err)
		}
		wantFile(t, mem, "kept!")
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAppendRefusesWhileTheTailStays(t *testing.T) {
	mem := vfs.NewMem()
	fsys := vfs.NewFaulty(mem)
	a := start(t, fsys, "/segment")
	fsys.Inject(vfs.Fault{Op: vfs.OpWrite, Nth: 1, Short: 2, Err: syscall.EIO})
	fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Err: syscall.EIO})
	for range 3 {
		if _, err := a.Append([][]byte{[]byte("xxx")}); !errors.Is(err, syscall.EIO) {
			t.Errorf("Append over a torn tail: got %v, want EIO", err)
		}
	}
	if err := a.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close over a torn tail: got %v, want EIO", err)
	}
	fsys.Clear()
	if err := a.Close(); err != nil {
		t.Errorf("Close once the tail can be dropped: %v", err)
	}
	wantFile(t, mem, "")
}

func TestFailedTruncateChangesNothing(t *testing.T) {
	mem := vfs.NewMem()
	fsys := vfs.NewFaulty(mem)
	a := start(t, fsys, "/segment")
	if _, err := a.Append([][]byte{[]byte("abc")}); err != nil {
		t.Fatal(err)
	}
	fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Nth: 1, Err: syscall.EIO})
	if err := a.Truncate(1); !errors.Is(err, syscall.EIO) || a.Size() != 3 {
		t.Errorf("failed Truncate: got %v and size %d, want EIO and 3", err, a.Size())
	}
	if err := a.Truncate(1); err != nil || a.Size() != 1 {
		t.Errorf("Truncate: got %v and size %d, want 1", err, a.Size())
	}
	wantFile(t, mem, "a")
}

func TestOpenMeetsErrors(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpSize, vfs.OpTruncate} {
		fsys := vfs.NewFaulty(vfs.NewMem())
		f, err := fsys.Create("/segment")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("valid, tail"), 0); err != nil {
			t.Fatal(err)
		}
		fsys.Inject(vfs.Fault{Op: op, Err: syscall.EIO})
		if _, err := Spec().Open(f, 5, engines.AppendOptions{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("Open with a failing %s: got %v, want EIO", op, err)
		}
	}
}

// What is reserved ahead on the disk does not show in the length, is bounded,
// and is given back at Close.
func TestReservedBlocksAreGivenBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "segment")
	a := start(t, vfs.OS{}, name)
	const size = 3 << 20
	for range size >> 16 {
		if _, err := a.Append([][]byte{make([]byte, 1<<16)}); err != nil {
			t.Fatal(err)
		}
	}
	length, during := blocks(t, name)
	if length != size || during > 2*size+minAhead {
		t.Errorf("while appending: %d bytes in %d on disk, want %d in at most twice that", length, during, size)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	length, after := blocks(t, name)
	if length != size || after > size+1<<16 {
		t.Errorf("after Close: %d bytes in %d on disk, want %d in as much", length, after, size)
	}
}

// Behind a file that has grown by small appends there are zeros, less than a step of
// them, which a reader of the end never meets; they go with Close and with a
// truncation. Large appends, small files and those asked to be exact have none.
func TestZerosBehindTheEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		options engines.AppendOptions
		piece   int
		total   int64
		zeros   bool
	}{
		{"small appends", engines.AppendOptions{SegmentBytes: 64 << 20}, 10_007, minAhead + 100_000, true},
		{"small file", engines.AppendOptions{SegmentBytes: 64 << 20}, 10_007, minAhead - 100_000, false},
		{"large appends", engines.AppendOptions{SegmentBytes: 64 << 20}, zeroBelow, minAhead + 1_000_000, false},
		{"exact", engines.AppendOptions{SegmentBytes: 64 << 20, NoPrefault: true}, 10_007, minAhead + 100_000, false},
		{"full segment", engines.AppendOptions{SegmentBytes: minAhead + 50_000}, 10_007, minAhead + 45_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "segment")
			f, err := vfs.OS{}.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() // The test is over.
			a, err := Spec().Open(f, 0, c.options)
			if err != nil {
				t.Fatal(err)
			}
			piece := bytes.Repeat([]byte{7}, c.piece)
			fill := func() {
				t.Helper()
				for a.Size()+int64(c.piece) <= c.total {
					if _, err := a.Append([][]byte{piece}); err != nil {
						t.Fatal(err)
					}
				}
			}
			check := func(zeros bool) {
				t.Helper()
				got, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				content, rest := got[:a.Size()], got[a.Size():]
				if bytes.Count(content, []byte{7}) != len(content) {
					t.Error("the content is not what was appended")
				}
				if bytes.Count(rest, []byte{0}) != len(rest) || len(rest) >= zeroStep || int64(len(got)) > c.options.SegmentBytes {
					t.Errorf("%d bytes behind %d, want less than %d, all zeros, within the segment", len(rest), len(content), zeroStep)
				}
				if zeros != (len(rest) > 0) {
					t.Errorf("%d bytes behind the end, want some: %v", len(rest), zeros)
				}
			}
			fill()
			check(c.zeros)
			if err := a.Truncate(a.Size() - 30_000); err != nil {
				t.Fatal(err)
			}
			check(false)
			fill()
			check(c.zeros)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			check(false)
		})
	}
}

func blocks(t *testing.T, name string) (length, onDisk int64) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size(), info.Sys().(*syscall.Stat_t).Blocks * 512
}

func wantFile(t *testing.T, fsys vfs.FS, want string) {
	t.Helper()
	if got, err := vfs.ReadFile(fsys, "/segment"); err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want %q", got, err, want)
	}
}
