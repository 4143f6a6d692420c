package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tidemark/internal/vfs"
)

// The calls that change names. A removal or a rename is in the journal before it
// happens and a creation after: a process killed in between leaves a journal that
// the reader can match with the files by their inodes.

// Create implements vfs.FS.
func (r *Recorder) Create(name string) (vfs.File, error) { return r.open(name, r.OS.Create) }

// Open implements vfs.FS.
func (r *Recorder) Open(name string) (vfs.File, error) { return r.open(name, r.OS.Open) }

// OpenOrCreate implements vfs.FS.
func (r *Recorder) OpenOrCreate(name string) (vfs.File, error) {
	return r.open(name, r.OS.OpenOrCreate)
}

func (r *Recorder) open(name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, parent, err := r.locate(name)
	if err != nil {
		return nil, err
	}
	_, statErr := os.Lstat(path)
	f, err := open(name)
	if err != nil || parent == nil {
		return f, err
	}
	n, err := r.nodeOf(f, parent, filepath.Base(path), errors.Is(statErr, fs.ErrNotExist))
	if err != nil {
		_ = f.Close() // Nothing was written through it.
		return nil, recordError(err)
	}
	return r.wrap(f, n)
}

// locate returns the absolute path and the directory it lies in; nil where that
// is not recorded.
func (r *Recorder) locate(name string) (path string, parent *node, err error) {
	if path, err = filepath.Abs(name); err != nil {
		return "", nil, err
	}
	return path, r.tree.parent(path), nil
}

// nodeOf finds the node of an opened file, or enters it: as a new name, or, where
// somebody else made it, as found.
func (r *Recorder) nodeOf(f vfs.File, parent *node, name string, created bool) (*node, error) {
	inode, err := fileInode(f)
	if err != nil {
		return nil, err
	}
	if n := r.tree.nodes[parent.entries[name]]; n != nil && !created && n.inode == inode {
		return n, nil
	}
	e := event{Op: opFound, Dir: parent.id, Name: name, Inode: inode}
	size := int64(0)
	if created {
		e.Op = opCreate
	} else if size, err = f.Size(); err != nil {
		return nil, err
	}
	if err := r.enter(&e, size); err != nil {
		return nil, err
	}
	if err := r.note(e); err != nil {
		return nil, err
	}
	return r.tree.nodes[e.Node], nil
}

// note writes an event and brings it into the tree.
func (r *Recorder) note(e event) error {
	if err := r.journal.write(e); err != nil {
		return err
	}
	if err := r.tree.replay(e); err != nil {
		return err
	}
	return r.dropUnneeded()
}

// dropUnneeded removes what is kept of files that cannot come back.
func (r *Recorder) dropUnneeded() error {
	var errs []error
	for _, id := range r.tree.unneeded {
		if err := os.Remove(r.keptPath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		copies, _ := filepath.Glob(r.path(filepath.Join(undoDir, fmt.Sprintf("%d-*", id)))) // The pattern is ours.
		for _, path := range copies {
			errs = append(errs, os.Remove(path))
		}
	}
	r.tree.unneeded = r.tree.unneeded[:0]
	return errors.Join(errs...)
}

func (r *Recorder) keptPath(id nodeID) string {
	return r.path(filepath.Join(keptDir, strconv.Itoa(int(id))))
}

// keep holds on to the file at path, whose name is about to go.
func (r *Recorder) keep(n *node, path string) error {
	if n == nil || n.isDir() {
		return nil
	}
	err := os.Link(path, r.keptPath(n.id))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil // It is kept already, or gone.
	}
	if err != nil {
		return fmt.Errorf("the record must lie on the file system of what it records: %w", err)
	}
	return nil
}

func recordError(err error) error { return fmt.Errorf("power-cut record: %w", err) }

// Remove implements vfs.FS.
func (r *Recorder) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, parent, err := r.locate(name)
	if err != nil {
		return err
	}
	if err := r.forget(parent, path); err != nil {
		return err
	}
	return r.OS.Remove(name)
}

// forget notes that a name goes, if it is known.
func (r *Recorder) forget(parent *node, path string) error {
	if parent == nil {
		return nil
	}
	n := r.tree.nodes[parent.entries[filepath.Base(path)]]
	if n == nil || n.isDir() && len(n.entries) > 0 {
		return nil // Not ours to record, or about to fail.
	}
	if err := r.keep(n, path); err != nil {
		return recordError(err)
	}
	if err := r.note(event{Op: opRemove, Dir: parent.id, Name: filepath.Base(path)}); err != nil {
		return recordError(err)
	}
	return nil
}

// RemoveAll implements vfs.FS.
func (r *Recorder) RemoveAll(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path, parent, err := r.locate(dir)
	if err != nil {
		return err
	}
	if _, ok := r.ackCells[path]; ok {
		if err := r.journal.write(event{Op: opNoAcks, Path: path}); err != nil {
			return recordError(err)
		}
		delete(r.ackCells, path)
	}
	if parent != nil {
		if err := r.forgetAll(parent, path); err != nil {
			return err
		}
	}
	return r.OS.RemoveAll(dir)
}

// forgetAll notes that everything at path goes, the deepest first.
func (r *Recorder) forgetAll(parent *node, path string) error {
	n := r.tree.nodes[parent.entries[filepath.Base(path)]]
	if n == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		if err := r.forgetAll(n, filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return r.forget(parent, path)
}

// Rename implements vfs.FS.
func (r *Recorder) Rename(oldName, newName string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, fromParent, err := r.locate(oldName)
	if err != nil {
		return err
	}
	to, toParent, err := r.locate(newName)
	if err != nil {
		return err
	}
	if fromParent == nil || toParent == nil || fromParent.entries[filepath.Base(from)] == 0 {
		return r.OS.Rename(oldName, newName)
	}
	if err := r.keep(r.tree.nodes[toParent.entries[filepath.Base(to)]], to); err != nil {
		return recordError(err)
	}
	if err := r.note(event{Op: opRename, Dir: fromParent.id, Name: filepath.Base(from), ToDir: toParent.id, ToName: filepath.Base(to)}); err != nil {
		return recordError(err)
	}
	return r.OS.Rename(oldName, newName)
}

// MkdirAll implements vfs.FS.
func (r *Recorder) MkdirAll(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mkdirAll(dir)
}

func (r *Recorder) mkdirAll(dir string) error {
	path, parent, err := r.locate(dir)
	if err != nil {
		return err
	}
	if _, _, recorded := r.tree.rootOf(path); !recorded || r.tree.find(path) != nil {
		return r.OS.MkdirAll(dir)
	}
	if parent == nil {
		if err := r.mkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		parent = r.tree.parent(path)
	}
	_, statErr := os.Lstat(path)
	if err := r.OS.MkdirAll(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	e := event{Op: opCreate, Dir: parent.id, Name: filepath.Base(path), Inode: inodeOf(info), IsDir: true}
	if statErr == nil {
		e.Op = opFound
	}
	if err := r.enter(&e, 0); err != nil {
		return recordError(err)
	}
	if err := r.note(e); err != nil {
		return recordError(err)
	}
	return nil
}

// SyncDir implements vfs.FS. It covers the changes of names that were complete
// when it was called.
func (r *Recorder) SyncDir(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	r.mu.Lock()
	through := r.tree.seq
	r.mu.Unlock()
	if err := r.OS.SyncDir(dir); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.tree.find(path)
	if n == nil || !n.isDir() {
		return nil
	}
	if err := r.note(event{Op: opSyncDir, Dir: n.id, Through: through}); err != nil {
		return recordError(err)
	}
	return nil
}
