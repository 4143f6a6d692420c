package vfs_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/vfs"
)

func mappedFile(t *testing.T, size int64) vfs.File {
	t.Helper()
	f, err := vfs.OS{}.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // The test is over.
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMappingIsTheFile(t *testing.T) {
	page := vfs.PageSize
	f := mappedFile(t, 3*page)
	m, err := vfs.Map(f, page, 3*page, true)
	if err != nil {
		t.Fatal(err)
	}
	if m.Base() != page || m.End() != 3*page {
		t.Errorf("mapped %d–%d, want %d–%d", m.Base(), m.End(), page, 3*page)
	}
	if err := errors.Join(m.CopyIn(page+5, []byte("stored")), m.Populate(page, 3*page)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6)
	if _, err := f.ReadAt(got, page+5); err != nil || string(got) != "stored" {
		t.Errorf("ReadAt after CopyIn: %q, %v", got, err)
	}
	if err := writeAt(f, "written", 2*page-3); err != nil {
		t.Fatal(err)
	}
	got = make([]byte, 7)
	if err := m.CopyOut(got, 2*page-3); err != nil || string(got) != "written" {
		t.Errorf("CopyOut after WriteAt: %q, %v", got, err)
	}
	if err := m.Unmap(); err != nil {
		t.Error(err)
	}
}

func TestExtendKeepsWhatIsMapped(t *testing.T) {
	page := vfs.PageSize
	f := mappedFile(t, page)
	m, err := vfs.Reserve(f, 0, 10*page)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Extend(f, 0, page, true), m.CopyIn(0, []byte("first")), f.Truncate(4*page), m.Extend(f, page, 4*page, true), m.CopyIn(page-2, []byte("across"))); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, page+4)
	if err := m.CopyOut(got, 0); err != nil || !strings.HasPrefix(string(got), "first") || string(got[page-2:]) != "across" {
		t.Errorf("after Extend: %q…%q, %v", got[:5], got[page-2:], err)
	}
	if err := m.Unmap(); err != nil {
		t.Error(err)
	}
}

// A page that is gone is an error with its position, for loads, stores and the
// populating call, and the process lives.
func TestFaultIsAnError(t *testing.T) {
	page := vfs.PageSize
	f := mappedFile(t, 4*page)
	m, err := vfs.Map(f, 0, 4*page, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2 * page); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2*page)
	for what, err := range map[string]error{
		"CopyOut": m.CopyOut(buf, page+100),
		"CopyIn":  m.CopyIn(page+100, buf),
	} {
		var fault *vfs.FaultError
		if !errors.As(err, &fault) || fault.Path != f.Name() || fault.Position < 2*page || fault.Position >= 3*page+100 {
			t.Errorf("%s over the end: got %v, want a FaultError on the third page", what, err)
		}
	}
	if err := m.Populate(0, 4*page); err == nil {
		t.Error("Populate over the end succeeded")
	}
	if err := m.CopyIn(0, []byte("alive")); err != nil {
		t.Errorf("CopyIn before the end: %v", err)
	}
	if err := m.Unmap(); err != nil {
		t.Error(err)
	}
}

func TestMappingNeedsADescriptor(t *testing.T) {
	f, err := memWith(t, "/dir").Create("/dir/f")
	if err != nil {
		t.Fatal(err)
	}
	_, err = vfs.Map(f, 0, vfs.PageSize, false)
	wantErr(t, "Map", err, vfs.ErrNoDescriptor)
	wantErr(t, "Allocate", vfs.Allocate(f, 0, 1), vfs.ErrNoDescriptor)
}

func TestAllocate(t *testing.T) {
	f := mappedFile(t, 0)
	if err := errors.Join(vfs.Allocate(f, 0, 8192), vfs.Preallocate(f, 8192, 1<<20)); err != nil {
		t.Skipf("this file system does not allocate: %v", err)
	}
	if size, err := f.Size(); err != nil || size != 8192 {
		t.Errorf("Size is %d, %v, want 8192: Preallocate leaves the length alone", size, err)
	}
}
