package vfs

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The calls below are about the page cache. All are help, none a duty: they do
// nothing for a file without a descriptor, and an error of theirs says only that
// the help did not come. What a sync promises is not touched by them.

// StartWriteback has the kernel start to write the dirty pages of f between two
// positions, and returns before they are on the disk.
func StartWriteback(f File, from, to int64) error {
	return writeback(f, from, to, unix.SYNC_FILE_RANGE_WRITE)
}

// AwaitWriteback returns once the pages of f between two positions were handed to
// the disk. They are clean then, and no more durable than the disk's own cache.
func AwaitWriteback(f File, from, to int64) error {
	return writeback(f, from, to, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}

func writeback(f File, from, to int64, flags int) error {
	return onPages("sync_file_range", f, from, to, func(fd int) error { return unix.SyncFileRange(fd, from, to-from, flags) })
}

// DropCache has the kernel drop the clean pages of f between two positions. Pages
// that are dirty, or mapped by anyone, stay.
func DropCache(f File, from, to int64) error { return advise(f, from, to, unix.FADV_DONTNEED) }

// ReadAhead has the kernel begin to read the pages of f between two positions.
func ReadAhead(f File, from, to int64) error { return advise(f, from, to, unix.FADV_WILLNEED) }

func advise(f File, from, to int64, advice int) error {
	return onPages("fadvise", f, from, to, func(fd int) error { return unix.Fadvise(fd, from, to-from, advice) })
}

// onPages makes a system call about the pages of f between two positions, if there
// are any and f has a descriptor.
func onPages(operation string, f File, from, to int64, call func(fd int) error) error {
	fd, ok := f.Descriptor()
	if !ok || from >= to {
		return nil
	}
	if err := retryInterrupted(func() error { return call(fd) }); err != nil {
		return &os.PathError{Op: operation, Path: f.Name(), Err: err}
	}
	return nil
}

// Device is the number of the device that holds path; ok is false where the file
// system does not say.
func Device(fsys FS, path string) (number uint64, ok bool) {
	info, err := fsys.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(stat.Dev), true
}
