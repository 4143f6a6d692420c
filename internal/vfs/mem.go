package vfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Mem is a file system in memory, empty but for its root directory. Names are
// cleaned and taken from the root, so "a/b" and "/a/b" are one file. Times are
// always zero: nothing in a log may hang on them. Its files have no descriptor.
//
// One mutex guards names and contents alike.
type Mem struct {
	mu sync.Mutex
	// root is the tree as a process sees it; durable, the names a power cut
	// leaves. Nodes are shared between the two.
	root *memNode
	// pending are the changes of names that no SyncDir has made durable, in
	// the order they happened.
	pending []nameChange
	locks   map[string]bool
	// capacity bounds the sum of file sizes, used; 0 = no bound.
	capacity, used int64
}

var _ FS = (*Mem)(nil)

// memNode is a file or, when entries is not nil, a directory.
type memNode struct {
	entries map[string]*memNode
	// durableEntries are the names that survive a power cut.
	durableEntries map[string]*memNode
	content
}

func newDirNode() *memNode {
	return &memNode{entries: map[string]*memNode{}, durableEntries: map[string]*memNode{}}
}

// NewMem returns an empty file system.
func NewMem() *Mem { return &Mem{root: newDirNode(), locks: map[string]bool{}} }

// SetCapacity bounds the sum of all file sizes; growth beyond it fails with
// ENOSPC. Zero lifts the bound.
func (m *Mem) SetCapacity(sizeBytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = sizeBytes
}

// Free implements FS: what SetCapacity leaves, or a tebibyte without it.
func (m *Mem) Free(dir string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.dir("free", dir); err != nil {
		return 0, err
	}
	if m.capacity == 0 {
		return 1 << 40, nil
	}
	return max(0, m.capacity-m.used), nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) { return m.open(name, os.O_CREATE|os.O_EXCL) }

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, 0) }

// OpenOrCreate implements FS.
func (m *Mem) OpenOrCreate(name string) (File, error) { return m.open(name, os.O_CREATE) }

func (m *Mem) open(name string, flags int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, base, err := m.parent("open", name)
	if err != nil {
		return nil, err
	}
	node := parent.entries[base]
	switch {
	case base == "" || node != nil && node.entries != nil:
		return nil, pathError("open", name, syscall.EISDIR)
	case node != nil && flags&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case node == nil && flags&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case node == nil:
		node = &memNode{}
		m.change(nameChange{{parent, base, node}})
	}
	return &memFile{fs: m, node: node, name: name}, nil
}

// Remove implements FS. An open file stays usable, as on any POSIX system.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, base, err := m.parent("remove", name)
	if err != nil {
		return err
	}
	node := parent.entries[base]
	if node == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(node.entries) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.unlink(parent, base, node)
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, base, err := m.parent("remove", dir)
	if err != nil {
		return nil // Nothing there: nothing to remove.
	}
	if node := parent.entries[base]; node != nil {
		m.unlink(parent, base, node)
	}
	return nil
}

// unlink removes an entry, and below it, deepest first, all others.
func (m *Mem) unlink(parent *memNode, base string, node *memNode) {
	for _, name := range slices.Sorted(maps.Keys(node.entries)) {
		m.unlink(node, name, node.entries[name])
	}
	m.used -= int64(len(node.data))
	node.unlinked = true
	m.change(nameChange{{parent, base, nil}})
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldParent, oldBase, err := m.parent("rename", oldName)
	if err != nil {
		return err
	}
	newParent, newBase, err := m.parent("rename", newName)
	if err != nil {
		return err
	}
	node, target := oldParent.entries[oldBase], newParent.entries[newBase]
	switch {
	case node == nil:
		return pathError("rename", oldName, fs.ErrNotExist)
	case node == target:
		return nil
	case target != nil && (node.entries != nil) != (target.entries != nil), target != nil && len(target.entries) > 0:
		return pathError("rename", newName, fs.ErrExist)
	case target != nil:
		m.used -= int64(len(target.data))
		target.unlinked = true
	}
	m.change(nameChange{{oldParent, oldBase, nil}, {newParent, newBase, node}})
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.root
	for _, name := range pathParts(dir) {
		child := node.entries[name]
		if child == nil {
			child = newDirNode()
			m.change(nameChange{{node, name, child}})
		}
		if child.entries == nil {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		node = child
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(dir string) ([]os.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.dir("open", dir)
	if err != nil {
		return nil, err
	}
	list := make([]os.DirEntry, 0, len(node.entries))
	for _, name := range slices.Sorted(maps.Keys(node.entries)) {
		list = append(list, fs.FileInfoToDirEntry(node.entries[name].info(name)))
	}
	return list, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (os.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, base, err := m.parent("stat", name)
	if err != nil {
		return nil, err
	}
	node := parent.entries[base]
	if base == "" {
		node = m.root
	}
	if node == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return node.info(filepath.Base(name)), nil
}

// Lock implements FS; the owner is always this process.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenOrCreate(name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := filepath.Clean("/" + name)
	if m.locks[key] {
		return nil, &LockedError{Path: name, Owner: LockOwner()}
	}
	m.locks[key] = true
	return &memLock{File: f, fs: m, key: key}, nil
}

// memLock is a lock held on a Mem.
type memLock struct {
	File
	fs  *Mem
	key string
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.fs.mu.Lock()
	delete(l.fs.locks, l.key)
	l.fs.mu.Unlock()
	return l.File.Close()
}

// dir finds a directory.
func (m *Mem) dir(op, name string) (*memNode, error) {
	node := m.root
	for _, part := range pathParts(name) {
		if node = node.entries[part]; node == nil {
			return nil, pathError(op, name, fs.ErrNotExist)
		}
		if node.entries == nil {
			return nil, pathError(op, name, syscall.ENOTDIR)
		}
	}
	return node, nil
}

// parent finds the directory that holds name, and the name in it; base is empty
// for the root itself.
func (m *Mem) parent(op, name string) (parent *memNode, base string, err error) {
	clean := filepath.Clean("/" + name)
	if clean == "/" {
		return m.root, "", nil
	}
	node, err := m.dir(op, filepath.Dir(clean))
	if err != nil {
		return nil, "", pathError(op, name, err.(*os.PathError).Err)
	}
	return node, filepath.Base(clean), nil
}

func pathParts(name string) []string {
	clean := strings.Trim(filepath.Clean("/"+name), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

func pathError(op, name string, err error) error {
	return &os.PathError{Op: op, Path: name, Err: err}
}
