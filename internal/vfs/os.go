package vfs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OS is the machine's file system. It is immutable.
type OS struct{}

var _ FS = OS{}

const (
	filePerm = 0o644
	dirPerm  = 0o755
)

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_CREATE|os.O_EXCL|os.O_RDWR)
}

// Open implements FS.
func (OS) Open(name string) (File, error) { return openOS(name, os.O_RDWR) }

// OpenOrCreate implements FS.
func (OS) OpenOrCreate(name string) (File, error) { return openOS(name, os.O_CREATE|os.O_RDWR) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(dir string) error { return os.RemoveAll(dir) }

// Rename implements FS.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// MkdirAll implements FS.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, dirPerm) }

// ReadDir implements FS.
func (OS) ReadDir(dir string) ([]os.DirEntry, error) { return os.ReadDir(dir) }

// Stat implements FS.
func (OS) Stat(name string) (os.FileInfo, error) { return os.Stat(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Free implements FS with statfs(2); blocks reserved for root do not count.
func (OS) Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := retryInterrupted(func() error { return unix.Statfs(dir, &st) }); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// osFile is a file of the machine. It is safe for concurrent use as *os.File is.
type osFile struct {
	*os.File
	fd int
}

func openOS(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, filePerm)
	if err != nil {
		return nil, err
	}
	of := &osFile{File: f}
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { of.fd = int(fd) })
	}
	if err != nil {
		_ = f.Close() // The descriptor's error is the one to tell.
		return nil, fmt.Errorf("descriptor of %s: %w", name, err)
	}
	return of, nil
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	var st unix.Stat_t // os.File's own would be allocated.
	if err := retryInterrupted(func() error { return unix.Fstat(f.fd, &st) }); err != nil {
		return 0, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return st.Size, nil
}

// Sync implements File with fdatasync(2), which writes the size too when it
// changed, and leaves out only times.
func (f *osFile) Sync() error {
	if err := retryInterrupted(func() error { return unix.Fdatasync(f.fd) }); err != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

// Descriptor implements File.
func (f *osFile) Descriptor() (int, bool) { return f.fd, true }

// retryInterrupted repeats a system call that a signal cut short.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
