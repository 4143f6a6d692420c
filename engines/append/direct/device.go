package direct

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// leastBlock is the least unit of writes. Devices with smaller sectors exist, but
// file systems and the page cache have this unit, and a part of it makes them
// wait for each other.
const leastBlock = 4096

// errNoDirect is the kernel's word, by statx(2), that a file has no direct I/O.
var errNoDirect = errors.New("the file system has no direct I/O")

// device is the engine's own way to a file: a second open file with O_DIRECT.
type device struct {
	fd int
	// block is the unit of positions, lengths and memory addresses, a power of 2.
	block int64
	// pwrite is pwrite(2).
	pwrite func(fd int, p []byte, at int64) (int, error)
}

// openDevice opens f anew: by its descriptor, as the name may have been given to
// another file, or to none, since f was opened.
func openDevice(f engines.File) (device, error) {
	theirs, ok := f.Descriptor()
	if !ok {
		return device{}, vfs.ErrNoDescriptor
	}
	path := fmt.Sprintf("/proc/self/fd/%d", theirs)
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err == unix.EINVAL {
		return device{}, fmt.Errorf("%w (O_DIRECT: %w)", errNoDirect, err)
	}
	if err != nil {
		return device{}, &os.PathError{Op: "open for direct I/O", Path: path, Err: err}
	}
	block, err := blockOf(fd)
	if err != nil {
		_ = unix.Close(fd) // Nothing was written through it.
		return device{}, err
	}
	return device{fd: fd, block: block, pwrite: unix.Pwrite}, nil
}

// blockOf asks the kernel for the unit of direct I/O; one that does not tell
// (before Linux 6.1, or a file system that does not say) has leastBlock or less.
func blockOf(fd int) (int64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st); err != nil || st.Mask&unix.STATX_DIOALIGN == 0 {
		return leastBlock, nil
	}
	if st.Dio_offset_align == 0 {
		return 0, errNoDirect
	}
	block := max(leastBlock, int64(st.Dio_offset_align), int64(st.Dio_mem_align))
	if block > largeStage {
		return 0, fmt.Errorf("direct I/O in units of %d bytes", block)
	}
	return block, nil
}

func (d *device) floor(position int64) int64 { return position &^ (d.block - 1) }

func (d *device) ceil(position int64) int64 { return d.floor(position + d.block - 1) }

// write writes all of p, whole blocks in aligned memory.
func (d *device) write(p []byte, at int64) error {
	for len(p) > 0 {
		n, err := d.pwrite(d.fd, p, at)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("pwrite: %w", err)
		case n <= 0 || int64(n)%d.block != 0:
			return io.ErrShortWrite // What is left cannot be written directly.
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (d *device) close() error { return unix.Close(d.fd) }
