package vfs

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"tidemark/internal/invariant"
)

// content is the bytes of a file, as seen now and as a power cut leaves them.
type content struct {
	data    []byte
	durable []byte
	// dirtyFrom and dirtyTo bound the bytes of data that may differ from
	// durable; equal when nothing does.
	dirtyFrom, dirtyTo int64
	// unlinked files no longer count towards the used space.
	unlinked bool
}

// markDirty widens the dirty range.
func (c *content) markDirty(from, to int64) {
	if c.dirtyFrom == c.dirtyTo {
		c.dirtyFrom, c.dirtyTo = from, to
		return
	}
	c.dirtyFrom, c.dirtyTo = min(c.dirtyFrom, from), max(c.dirtyTo, to)
}

// resize sets the length of data; what is gained reads as zeros.
func (c *content) resize(size int64) {
	old := int64(len(c.data))
	switch {
	case size < old:
		clear(c.data[size:])
		c.data = c.data[:size]
		c.markDirty(size, old)
	case size <= int64(cap(c.data)):
		c.data = c.data[:size]
		c.markDirty(old, size)
	default:
		c.data = append(c.data, make([]byte, size-old)...)
		c.markDirty(old, size)
	}
}

// sync makes the bytes durable.
func (c *content) sync() {
	size := int64(len(c.data))
	if int64(len(c.durable)) > size {
		c.durable = c.durable[:size]
	}
	if from, to := c.dirtyFrom, min(c.dirtyTo, size); from < to {
		if int64(len(c.durable)) < to {
			c.durable = append(c.durable, make([]byte, to-int64(len(c.durable)))...)
		}
		copy(c.durable[from:to], c.data[from:to])
	}
	c.dirtyFrom, c.dirtyTo = 0, 0
}

// memFile is an open file of a Mem; its lock guards the content.
type memFile struct {
	fs     *Mem
	node   *memNode
	name   string
	closed bool
}

// Name implements File.
func (f *memFile) Name() string { return f.name }

// Descriptor implements File: there is none.
func (f *memFile) Descriptor() (int, bool) { return 0, false }

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("read", at); err != nil {
		return 0, err
	}
	if at >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements File. Where space runs out it writes what fits, as a disk
// does, and fails with ENOSPC.
func (f *memFile) WriteAt(p []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("write", at); err != nil {
		return 0, err
	}
	end, size := at+int64(len(p)), int64(len(f.node.data))
	var full error
	if room := f.room(); end > size+room {
		full = pathError("write", f.name, syscall.ENOSPC)
		end = max(at, size+room)
		p = p[:end-at]
	}
	if len(p) == 0 {
		return 0, full
	}
	if end > size {
		f.node.resize(end)
		f.charge(end - size)
	}
	f.node.markDirty(at, end)
	return copy(f.node.data[at:], p), full
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("truncate", size); err != nil {
		return err
	}
	growth := size - int64(len(f.node.data))
	if growth > f.room() {
		return pathError("truncate", f.name, syscall.ENOSPC)
	}
	f.node.resize(size)
	f.charge(growth)
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("stat", 0); err != nil {
		return 0, err
	}
	return int64(len(f.node.data)), nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("sync", 0); err != nil {
		return err
	}
	f.node.sync()
	return nil
}

// Close implements File.
func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("close", 0); err != nil {
		return err
	}
	f.closed = true
	return nil
}

func (f *memFile) usable(op string, at int64) error {
	if f.closed {
		return pathError(op, f.name, os.ErrClosed)
	}
	if at < 0 {
		return pathError(op, f.name, syscall.EINVAL)
	}
	return nil
}

// room is how much the file may still grow.
func (f *memFile) room() int64 {
	if f.fs.capacity == 0 || f.node.unlinked {
		return 1 << 40
	}
	return max(0, f.fs.capacity-f.fs.used)
}

func (f *memFile) charge(growth int64) {
	if !f.node.unlinked {
		f.fs.used += growth
	}
	invariant.Check(f.fs.used >= 0, "%s: %d bytes used", f.name, f.fs.used)
}

// memInfo is the answer of Stat.
type memInfo struct {
	name string
	size int64
	dir  bool
}

func (n *memNode) info(name string) fs.FileInfo {
	return memInfo{name: name, size: int64(len(n.data)), dir: n.entries != nil}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) Sys() any           { return nil }

func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | dirPerm
	}
	return filePerm
}
