package enginetest_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/engines/catalog"
	"tidemark/engines/enginetest"
)

func TestBuiltinAppendEngines(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skipf("not available here: %v", err)
			}
			checkResults(t, enginetest.RunAppend(spec, t.TempDir()))
		})
	}
}

func TestBuiltinReadEngines(t *testing.T) {
	for _, spec := range catalog.Builtin().Reads() {
		t.Run(spec.Name, func(t *testing.T) { checkResults(t, enginetest.RunRead(spec, t.TempDir())) })
	}
}

func TestBuiltinPairs(t *testing.T) {
	for _, a := range catalog.Builtin().Appends() {
		for _, r := range catalog.Builtin().Reads() {
			t.Run(a.Name+"-"+r.Name, func(t *testing.T) {
				if err := a.Available(t.TempDir()); err != nil {
					t.Skipf("not available here: %v", err)
				}
				checkResults(t, enginetest.RunPair(a, r, t.TempDir()))
			})
		}
	}
}

// checkResults wants every clause to hold, and none of them by luck.
func checkResults(t *testing.T, results []enginetest.Result) {
	t.Helper()
	for _, r := range results {
		if r.Err != nil {
			t.Error(r.Err)
		}
		if r.Unproved != "" {
			t.Errorf("%s: the clause cannot fail on this engine: %s", r.Name, r.Unproved)
		}
		if r.Why == "" {
			t.Errorf("%s has no reason", r.Name)
		}
	}
}

func TestFullDisk(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			dir := mountSmall(t)
			if err := spec.Available(dir); err != nil {
				t.Skipf("not available here: %v", err)
			}
			if err := enginetest.CheckFull(spec, dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestShortWrites(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skipf("not available here: %v", err)
			}
			if err := enginetest.CheckShortWrites(spec, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

// mountSmall mounts a file system of 24 MiB for the test.
func mountSmall(t *testing.T) string {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tidemark", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("mount tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}
