package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/vfs"
)

// eachFS runs a test on the machine's file system, in memory, and through Faulty
// with nothing planned: they differ in nothing that the list can see.
func eachFS(t *testing.T, test func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, vfs.OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) { test(t, memWith(t, "/dir"), "/dir") })
	t.Run("faulty", func(t *testing.T) { test(t, vfs.NewFaulty(memWith(t, "/dir")), "/dir") })
}

func memWith(t *testing.T, dirs ...string) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	for _, dir := range dirs {
		if err := errors.Join(m.MkdirAll(dir), m.SyncDir(filepath.Dir(dir))); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

func mustWrite(t *testing.T, fsys vfs.FS, name, data string, sync bool) {
	t.Helper()
	f, err := fsys.OpenOrCreate(name)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(data), 0)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, fsys vfs.FS, name, want string) {
	t.Helper()
	got, err := vfs.ReadFile(fsys, name)
	if err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
	}
}

func names(t *testing.T, fsys vfs.FS, dir string) []string {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, entry := range list {
		got = append(got, entry.Name())
	}
	return got
}

func TestFileContent(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "file")
		f, err := fsys.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != name {
			t.Errorf("Name is %q, want %q", f.Name(), name)
		}
		steps := []struct {
			what string
			do   func() error
			want string
		}{
			{"write", func() error { _, err := f.WriteAt([]byte("hello"), 0); return err }, "hello"},
			{"write with a gap", func() error { _, err := f.WriteAt([]byte("!"), 7); return err }, "hello\x00\x00!"},
			{"overwrite", func() error { _, err := f.WriteAt([]byte("LL"), 2); return err }, "heLLo\x00\x00!"},
			{"shrink", func() error { return f.Truncate(3) }, "heL"},
			{"grow", func() error { return f.Truncate(5) }, "heL\x00\x00"},
			{"shrink and write behind", func() error { return errors.Join(f.Truncate(1), writeAt(f, "x", 3)) }, "h\x00\x00x"},
			{"empty", func() error { return f.Truncate(0) }, ""},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			wantContent(t, fsys, name, step.want)
			if size, err := f.Size(); err != nil || size != int64(len(step.want)) {
				t.Errorf("%s: Size is %d, %v, want %d", step.what, size, err, len(step.want))
			}
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("x"), 0)
		wantErr(t, "write to a closed file", err, fs.ErrClosed)
	})
}

func writeAt(f vfs.File, s string, at int64) error {
	_, err := f.WriteAt([]byte(s), at)
	return err
}

func TestReadAtAnswersEOF(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "file")
		mustWrite(t, fsys, name, "hello", true)
		f, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, read := range []struct {
			at, n int64
			want  string
			err   error
		}{{0, 5, "hello", nil}, {1, 3, "ell", nil}, {3, 9, "lo", io.EOF}, {5, 1, "", io.EOF}, {9, 1, "", io.EOF}} {
			p := make([]byte, read.n)
			n, err := f.ReadAt(p, read.at)
			if string(p[:n]) != read.want || err != read.err {
				t.Errorf("ReadAt(%d bytes, %d): got %q, %v, want %q, %v", read.n, read.at, p[:n], err, read.want, read.err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestNames(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		in := func(name string) string { return filepath.Join(dir, name) }
		_, err := fsys.Open(in("none"))
		wantErr(t, "open what is not there", err, fs.ErrNotExist)
		_, err = fsys.Create(in("no/file"))
		wantErr(t, "create in a directory that is not there", err, fs.ErrNotExist)
		_, err = fsys.Stat(in("none"))
		wantErr(t, "stat what is not there", err, fs.ErrNotExist)
		_, err = fsys.ReadDir(in("none"))
		wantErr(t, "list what is not there", err, fs.ErrNotExist)
		wantErr(t, "remove what is not there", fsys.Remove(in("none")), fs.ErrNotExist)
		wantErr(t, "rename what is not there", fsys.Rename(in("none"), in("x")), fs.ErrNotExist)
		wantErr(t, "remove all of nothing", fsys.RemoveAll(in("none")), nil)

		mustWrite(t, fsys, in("b"), "b", false)
		mustWrite(t, fsys, in("a"), "a", false)
		_, err = fsys.Create(in("a"))
		wantErr(t, "create what is there", err, fs.ErrExist)
		wantErr(t, "make a directory", fsys.MkdirAll(in("d/e/f")), nil)
		wantErr(t, "make it again", fsys.MkdirAll(in("d/e")), nil)
		wantErr(t, "make one in a file", fsys.MkdirAll(in("a/x")), syscall.ENOTDIR)
		wantErr(t, "remove one that is full", fsys.Remove(in("d")), syscall.ENOTEMPTY)
		_, err = fsys.Open(in("d"))
		wantErr(t, "open a directory for writing", err, syscall.EISDIR)
		if diff := cmp.Diff([]string{"a", "b", "d"}, names(t, fsys, dir)); diff != "" {
			t.Errorf("names differ (-want +got):\n%s", diff)
		}
		info, err := fsys.Stat(in("a"))
		if err != nil || info.Size() != 1 || info.IsDir() || info.Name() != "a" {
			t.Errorf("Stat of a file: %v, %v", info, err)
		}
		info, err = fsys.Stat(in("d/e"))
		if err != nil || !info.IsDir() || info.Name() != "e" {
			t.Errorf("Stat of a directory: %v, %v", info, err)
		}
		wantErr(t, "replace", fsys.Rename(in("a"), in("b")), nil)
		wantContent(t, fsys, in("b"), "a")
		mustWrite(t, fsys, in("d/e/f/g"), "deep", false)
		wantErr(t, "move a directory", fsys.Rename(in("d"), in("z")), nil)
		wantContent(t, fsys, in("z/e/f/g"), "deep")
		wantErr(t, "remove all", fsys.RemoveAll(in("z")), nil)
		if diff := cmp.Diff([]string{"b"}, names(t, fsys, dir)); diff != "" {
			t.Errorf("names differ (-want +got):\n%s", diff)
		}
		wantErr(t, "sync the directory", fsys.SyncDir(dir), nil)
		wantErr(t, "sync what is not there", fsys.SyncDir(in("none")), fs.ErrNotExist)
	})
}

func TestRemovedFileStaysOpen(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "file")
		mustWrite(t, fsys, name, "hello", false)
		f, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fsys.Remove(name), writeAt(f, "J", 0)); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 5)
		if _, err := f.ReadAt(p, 0); err != nil || string(p) != "Jello" {
			t.Errorf("read of a removed file: %q, %v", p, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLockNamesItsOwner(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, ".lock")
		lock, err := fsys.Lock(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fsys.Lock(name)
		var locked *vfs.LockedError
		if !errors.As(err, &locked) || !strings.Contains(err.Error(), "pid ") || locked.Path != name {
			t.Errorf("second Lock: got %v, want a LockedError that names the pid", err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := fsys.Lock(name)
		if err != nil {
			t.Fatalf("Lock after Close: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestFree(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		if free, err := fsys.Free(dir); err != nil || free <= 0 {
			t.Errorf("Free: %d, %v", free, err)
		}
		_, err := fsys.Free(filepath.Join(dir, "none"))
		wantErr(t, "Free of what is not there", err, fs.ErrNotExist)
	})
}

func TestWriteFileAtomic(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "checkpoint")
		mustWrite(t, fsys, name+".tmp", "a leftover that is longer than what follows", true)
		for _, want := range []string{"one", "", "three"} {
			if err := vfs.WriteFileAtomic(fsys, name, []byte(want)); err != nil {
				t.Fatal(err)
			}
			wantContent(t, fsys, name, want)
		}
		if diff := cmp.Diff([]string{"checkpoint"}, names(t, fsys, dir)); diff != "" {
			t.Errorf("names differ (-want +got):\n%s", diff)
		}
	})
}

func TestMemCapacity(t *testing.T) {
	m := memWith(t, "/dir")
	m.SetCapacity(100)
	f, err := m.Create("/dir/file")
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.WriteAt(bytes.Repeat([]byte{1}, 150), 0)
	if n != 100 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write of 150 bytes into 100: got %d, %v, want 100 and ENOSPC", n, err)
	}
	wantErr(t, "truncate past the capacity", f.Truncate(101), syscall.ENOSPC)
	if free, err := m.Free("/dir"); err != nil || free != 0 {
		t.Errorf("Free of the full system: %d, %v", free, err)
	}
	if err := errors.Join(f.Truncate(10), writeAt(f, "x", 20)); err != nil {
		t.Fatal(err)
	}
	if err := m.Remove("/dir/file"); err != nil {
		t.Fatal(err)
	}
	if free, err := m.Free("/dir"); err != nil || free != 100 {
		t.Errorf("Free after the removal: %d, %v, want 100", free, err)
	}
}
