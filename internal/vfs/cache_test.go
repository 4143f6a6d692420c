package vfs

import (
	"bytes"
	"path/filepath"
	"testing"
)

// TestCacheCallsKeepTheBytes: whatever is said about the page cache, and whoever has
// the pages mapped, the bytes stay what they were; a file without a descriptor is left
// alone.
func TestCacheCallsKeepTheBytes(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	for name, fsys := range map[string]FS{"machine": OS{}, "memory": NewMem()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			f, err := fsys.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(want, 0); err != nil {
				t.Fatal(err)
			}
			size := int64(len(want))
			for what, call := range map[string]func(File, int64, int64) error{
				"start writeback": StartWriteback, "await writeback": AwaitWriteback, "drop": DropCache, "read ahead": ReadAhead,
			} {
				for _, r := range [][2]int64{{0, size}, {1, 5000}, {size, size}, {size, 2 * size}} {
					if err := call(f, r[0], r[1]); err != nil {
						t.Errorf("%s from %d to %d: %v", what, r[0], r[1], err)
					}
				}
			}
			got := make([]byte, size)
			if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the bytes changed (%v)", err)
			}
			if _, ok := f.Descriptor(); ok {
				letGo(t, f, want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func letGo(t *testing.T, f File, want []byte) {
	t.Helper()
	m, err := Map(f, 0, int64(len(want)), true)
	if err != nil {
		t.Fatal(err)
	}
	mine := []byte("stored through the mapping")
	if err := m.CopyIn(5000, mine); err != nil {
		t.Fatal(err)
	}
	m.LetGo(-5, m.End()+5)
	got := make([]byte, len(mine))
	if err := m.CopyOut(got, 5000); err != nil || !bytes.Equal(got, mine) {
		t.Errorf("what was stored before LetGo reads as %q (%v)", got, err)
	}
	if err := m.Unmap(); err != nil {
		t.Error(err)
	}
}

// TestDevice: files of one directory are on one device; memory has none.
func TestDevice(t *testing.T) {
	dir := t.TempDir()
	one, ok := Device(OS{}, dir)
	if !ok {
		t.Fatal("a directory of the machine is on no device")
	}
	if err := (OS{}).MkdirAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if two, ok := Device(OS{}, filepath.Join(dir, "sub")); !ok || one != two {
		t.Errorf("devices %d and %d of a directory and one inside", one, two)
	}
	if _, ok := Device(NewMem(), "/"); ok {
		t.Error("a file system in memory has a device")
	}
	if _, ok := Device(OS{}, filepath.Join(dir, "nothing")); ok {
		t.Error("what is not there has a device")
	}
}
