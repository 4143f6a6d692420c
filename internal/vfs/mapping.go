package vfs

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"tidemark/internal/invariant"
)

// ErrNoDescriptor is the error of a call that needs the operating system's
// descriptor of a file that has none.
var ErrNoDescriptor = errors.New("file without a descriptor")

// PageSize is the unit of mappings: their bounds in a file are multiples of it.
var PageSize = int64(os.Getpagesize())

// PageFloor rounds down to a multiple of PageSize.
func PageFloor(position int64) int64 { return position &^ (PageSize - 1) }

// PageCeil rounds up to a multiple of PageSize.
func PageCeil(position int64) int64 { return PageFloor(position + PageSize - 1) }

// FaultError says that a mapped page could not be had: the file was truncated
// under the mapping, or the disk is full or broken. Without a guard it would be
// a SIGBUS and the end of the process.
type FaultError struct {
	// Path is the mapped file.
	Path string
	// Position is the byte that was touched.
	Position int64
}

// Error implements error.
func (e *FaultError) Error() string {
	return fmt.Sprintf("%s: fault on the mapped page at position %d", e.Path, e.Position)
}

// Mapping is a stretch of address space, part or all of which shows a file,
// shared with the page cache: what is copied in is at once what read(2) returns.
//
// Copying is safe for concurrent use; Extend and Unmap are the owner's, and
// Unmap comes after the last copy.
type Mapping struct {
	path string
	base int64
	// mem is the address space of the file's bytes, a part of reserved.
	mem, reserved []byte
}

// hugePage is the unit in which the kernel maps a file at one blow where file
// and memory have the same alignment: one fault for 2 MiB in place of 512.
const hugePage = 2 << 20

// Reserve takes address space for length bytes of f from position base on, and
// maps none of the file yet. Base is a multiple of PageSize. Space costs
// nothing until Extend.
func Reserve(f File, base, length int64) (*Mapping, error) {
	invariant.Check(base%PageSize == 0 && length > 0, "reserve %d bytes at %d of %s", length, base, f.Name())
	length = PageCeil(length)
	reserved, err := unix.Mmap(-1, 0, int(length+hugePage), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: f.Name(), Err: err}
	}
	address := int64(uintptr(unsafe.Pointer(unsafe.SliceData(reserved))))
	skip := (base - address) & (hugePage - 1)
	return &Mapping{path: f.Name(), base: base, mem: reserved[skip:][:length:length], reserved: reserved}, nil
}

// Extend maps the pages of f from position from up to position to, which the
// file must reach: a page behind the end of the file faults. What was mapped
// before stays where it is.
func (m *Mapping) Extend(f File, from, to int64, writable bool) error {
	fd, ok := f.Descriptor()
	if !ok {
		return fmt.Errorf("map %s: %w", m.path, ErrNoDescriptor)
	}
	from, to = PageFloor(from), PageCeil(to)
	invariant.Check(m.base <= from && from < to && to <= m.End(), "map %d–%d of %s, reserved %d–%d", from, to, m.path, m.base, m.End())
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	at := unsafe.Pointer(&m.mem[from-m.base])
	_, err := unix.MmapPtr(fd, from, at, uintptr(to-from), prot, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return &os.PathError{Op: "mmap", Path: m.path, Err: err}
	}
	return nil
}

// Map maps the bytes of f from base up to end at once.
func Map(f File, base, end int64, writable bool) (*Mapping, error) {
	m, err := Reserve(f, base, end-base)
	if err != nil {
		return nil, err
	}
	if err := m.Extend(f, base, end, writable); err != nil {
		_ = m.Unmap() // Nothing was mapped.
		return nil, err
	}
	return m, nil
}

// Base is the position of the first byte.
func (m *Mapping) Base() int64 { return m.base }

// End is the position behind the last reserved byte.
func (m *Mapping) End() int64 { return m.base + int64(len(m.mem)) }

// Bytes is the memory of n bytes at position, for a system call to read: the
// kernel answers a fault with EFAULT. Go code that touches it must be guarded.
func (m *Mapping) Bytes(position, n int64) []byte {
	return m.mem[position-m.base:][:n:n]
}

// CopyIn copies p to position, which the mapping must cover. After an error some
// of p may have been written.
func (m *Mapping) CopyIn(position int64, p []byte) error {
	return m.guardedCopy(m.Bytes(position, int64(len(p))), p)
}

// CopyOut copies len(p) bytes from position, which the mapping must cover.
func (m *Mapping) CopyOut(p []byte, position int64) error {
	return m.guardedCopy(p, m.Bytes(position, int64(len(p))))
}

// Clear makes n bytes from position zeros; the mapping must cover them.
func (m *Mapping) Clear(position, n int64) error {
	mem := m.Bytes(position, n)
	return Guard(m.path, m.base, m.mem, func() error {
		clear(mem)
		return nil
	})
}

// guardedCopy turns the signal of a bad page into an error. The setting is the
// goroutine's, so it covers nothing but this copy.
func (m *Mapping) guardedCopy(to, from []byte) error {
	return Guard(m.path, m.base, m.mem, func() error {
		copy(to, from)
		return nil
	})
}

// Populate makes the pages between two positions present and writable, as a
// store to each would, in one call and without a signal: a page that cannot be
// had is an error.
func (m *Mapping) Populate(from, to int64) error {
	mem := m.Bytes(PageFloor(from), PageCeil(to)-PageFloor(from))
	if err := retryInterrupted(func() error { return unix.Madvise(mem, unix.MADV_POPULATE_WRITE) }); err != nil {
		return &os.PathError{Op: "madvise", Path: m.path, Err: err}
	}
	return nil
}

// NoReadAhead tells the kernel that a fault concerns its own page and no other.
// It is advice; a kernel without it goes on as before.
func (m *Mapping) NoReadAhead() {
	_ = unix.Madvise(m.mem, unix.MADV_RANDOM) // Only advice.
}

// LetGo takes the pages between two positions out of the mapping and leaves them
// to the page cache; touching them brings them back. It is advice.
func (m *Mapping) LetGo(from, to int64) {
	from, to = max(PageCeil(from), m.base), min(PageFloor(to), m.End())
	if from < to {
		_ = unix.Madvise(m.Bytes(from, to-from), unix.MADV_DONTNEED) // Only advice; dirty pages stay dirty in the cache.
	}
}

// Unmap gives the address space back; exactly one call.
func (m *Mapping) Unmap() error {
	if err := unix.Munmap(m.reserved); err != nil {
		return &os.PathError{Op: "munmap", Path: m.path, Err: err}
	}
	m.mem, m.reserved = nil, nil
	return nil
}
