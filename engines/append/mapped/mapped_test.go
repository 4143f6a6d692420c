package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

func start(t *testing.T, fsys vfs.FS, segmentBytes int64) (engines.Appender, vfs.File) {
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
	return a, f
}

func mustAppend(t *testing.T, a engines.Appender, n int) {
	t.Helper()
	if _, err := a.Append([][]byte{make([]byte, n)}); err != nil {
		t.Fatal(err)
	}
}

func wantLength(t *testing.T, f vfs.File, want int64) {
	t.Helper()
	if got, err := f.Size(); err != nil || got != want {
		t.Errorf("the file has %d bytes, %v, want %d", got, err, want)
	}
}

// Topics are created and altered at once, and each of them asks.
func TestAvailableAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	const askers, times = 8, 50
	for range askers {
		go func() {
			var err error
			for i := 0; i < times && err == nil; i++ {
				err = Spec().Available(dir)
			}
			errs <- err
		}()
	}
	for range askers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Allocation goes in steps of 16 MiB, doubling, and stops at the segment.
func TestAllocationSteps(t *testing.T) {
	a, f := start(t, vfs.OS{}, 80<<20)
	wantLength(t, f, 0)
	for _, step := range []struct{ append, length int64 }{
		{1, 16 << 20}, {16<<20 - 1, 32 << 20}, {1, 32 << 20}, {16 << 20, 64 << 20}, {32 << 20, 80 << 20}, {16 << 20, 80<<20 + vfs.PageSize},
	} {
		mustAppend(t, a, int(step.append))
		wantLength(t, f, step.length)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantLength(t, f, 80<<20+1)
}

// A file truncated by a stranger is an error of the append that meets the hole,
// and the engine recovers once the file is its own again.
func TestFileTruncatedByAStranger(t *testing.T) {
	a, f := start(t, vfs.OS{}, 64<<20)
	mustAppend(t, a, 1000)
	if err := f.Truncate(1000); err != nil {
		t.Fatal(err)
	}
	_, err := a.Append([][]byte{make([]byte, 100_000)})
	var fault *vfs.FaultError
	if !errors.As(err, &fault) || a.Size() != 1000 {
		t.Fatalf("Append into the hole: got %v and size %d, want a FaultError and 1000", err, a.Size())
	}
	if position, err := a.Append([][]byte{make([]byte, 100_000)}); err != nil || position != 1000 {
		t.Errorf("next Append: got %d, %v, want 1000", position, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	wantLength(t, f, 101_000)
}

func TestFailedTruncateChangesNothing(t *testing.T) {
	fsys := vfs.NewFaulty(vfs.OS{})
	fsys.Descriptors = true
	a, f := start(t, fsys, 64<<20)
	mustAppend(t, a, 1000)
	fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Nth: 1, Err: syscall.EIO})
	if err := a.Truncate(10); !errors.Is(err, syscall.EIO) || a.Size() != 1000 {
		t.Errorf("failed Truncate: got %v and size %d, want EIO and 1000", err, a.Size())
	}
	mustAppend(t, a, 1000)
	fsys.Inject(vfs.Fault{Op: vfs.OpTruncate, Nth: 1, Err: syscall.EIO})
	if err := a.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close that cannot trim: got %v, want EIO", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantLength(t, f, 2000)
}

func TestNeedsADescriptor(t *testing.T) {
	f, err := vfs.NewMem().Create("/segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Spec().Open(f, 0, engines.AppendOptions{}); !errors.Is(err, vfs.ErrNoDescriptor) {
		t.Errorf("Open: got %v, want ErrNoDescriptor", err)
	}
}

func TestUnavailableWhereNothingCanBeMade(t *testing.T) {
	if err := Spec().Available(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("available in a directory that is not there")
	}
}

// A flush takes pages out of the mapping that an append is being copied into, or
// that is being exchanged: nothing of it may be lost.
func TestFlushBesideAppends(t *testing.T) {
	a, f := start(t, vfs.OS{}, 3*windowSize)
	stop, flushed := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				flushed <- nil
				return
			default:
			}
			if err := a.Flush(); err != nil {
				flushed <- err
				return
			}
		}
	}()
	piece := make([]byte, 100_003)
	var pieces byte
	for a.Size() < 2*windowSize+windowSize/2 {
		pieces++
		for i := range piece {
			piece[i] = pieces
		}
		if _, err := a.Append([][]byte{piece}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	for at := byte(1); at <= pieces; at++ {
		if _, err := f.ReadAt(piece, int64(at-1)*int64(len(piece))); err != nil {
			t.Fatal(err)
		}
		for i, got := range piece {
			if got != at {
				t.Fatalf("piece %d has %d at %d", at, got, i)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
