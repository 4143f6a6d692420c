package vfs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Allocate gives f blocks on the disk for the bytes between two positions and
// makes it at least to bytes long; what is gained reads as zeros. A later write
// there cannot fail for want of space.
func Allocate(f File, from, to int64) error { return fallocate(f, 0, from, to) }

// Preallocate is Allocate without a change of the file's length: a help against
// fragments and for the speed of later writes, undone by Truncate.
func Preallocate(f File, from, to int64) error {
	return fallocate(f, unix.FALLOC_FL_KEEP_SIZE, from, to)
}

func fallocate(f File, mode uint32, from, to int64) error {
	fd, ok := f.Descriptor()
	if !ok {
		return fmt.Errorf("allocate %s: %w", f.Name(), ErrNoDescriptor)
	}
	if err := retryInterrupted(func() error { return unix.Fallocate(fd, mode, from, to-from) }); err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}
