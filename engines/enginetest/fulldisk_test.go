package enginetest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/catalog"
	"tidemark/engines/enginetest"
)

// smallDisks are file systems with little room: one in memory and one with a
// journal, extents and delayed allocation on a device of its own.
var smallDisks = map[string]func(t *testing.T) string{"tmpfs": mountTmpfs, "ext4": mountExt4}

func TestFullDisk(t *testing.T) {
	for kind, mount := range smallDisks {
		for _, spec := range catalog.Builtin().Appends() {
			t.Run(spec.Name+"-"+kind, func(t *testing.T) {
				dir := mount(t)
				if err := spec.Available(dir); err != nil {
					t.Skipf("not available here: %v", err)
				}
				if err := enginetest.CheckFull(spec, dir); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// An engine that takes a full disk for an append done is caught.
func TestFullDiskTakenForDoneIsCaught(t *testing.T) {
	spec := engines.AppendSpec{Name: "deaf", Open: func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
		a, err := buffered.Spec().Open(f, size, o)
		return deaf{a}, err
	}}
	if err := enginetest.CheckFull(spec, mountTmpfs(t)); err == nil {
		t.Error("CheckFull does not catch the engine")
	}
}

type deaf struct{ engines.Appender }

func (a deaf) Append(bufs [][]byte) (int64, error) {
	position, err := a.Appender.Append(bufs)
	if errors.Is(err, syscall.ENOSPC) {
		return a.Size(), nil
	}
	return position, err
}

// mountTmpfs mounts a file system of 24 MiB in memory for the test.
func mountTmpfs(t *testing.T) string {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tidemark", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("mount tmpfs: %v", err)
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

// mountExt4 mounts an ext4 of 32 MiB, in a file, for the test.
func mountExt4(t *testing.T) string {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	image := filepath.Join(t.TempDir(), "image")
	for _, command := range [][]string{
		{"truncate", "-s", "32M", image},
		{"mkfs.ext4", "-q", "-m", "0", image},
		{"mount", "-o", "loop", image, dir},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", command[0], err, out)
		}
	}
	t.Cleanup(func() { unmount(t, dir) })
	return dir
}

func unmount(t *testing.T, dir string) {
	if err := unix.Unmount(dir, 0); err != nil {
		t.Errorf("unmount: %v", err)
	}
}
