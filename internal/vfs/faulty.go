package vfs

import (
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Op names a call that Faulty can fail.
type Op string

// The calls of FS and File.
const (
	OpCreate    Op = "create"
	OpOpen      Op = "open"
	OpRemove    Op = "remove"
	OpRemoveAll Op = "removeall"
	OpRename    Op = "rename"
	OpMkdir     Op = "mkdir"
	OpReadDir   Op = "readdir"
	OpStat      Op = "stat"
	OpSyncDir   Op = "syncdir"
	OpLock      Op = "lock"
	OpFree      Op = "free"
	OpRead      Op = "read"
	OpWrite     Op = "write"
	OpTruncate  Op = "truncate"
	OpSize      Op = "size"
	OpSync      Op = "sync"
	OpClose     Op = "close"
)

// Fault is one planned failure.
type Fault struct {
	// Op is the call to fail; empty means any.
	Op Op
	// Path is matched, as by filepath.Match, against the base name of the
	// path (the old one for OpRename); empty means any.
	Path string
	// Nth is the matching call that fails, counted from 1 since Inject; 0 means every
	// one.
	Nth int
	// Short is how many bytes an OpWrite still writes before it fails.
	Short int
	// Err is what the call returns.
	Err error
}

// Faulty is a file system that fails on request and is otherwise the one it
// wraps. A call that fails is not passed on, but for Fault.Short, and for a
// failed close, which closes the file. It is safe for concurrent use.
//
// Its files hide their descriptor, so that every access is seen, unless
// Descriptors is set: then engines that need one run, and what they do through
// it goes by unseen.
type Faulty struct {
	inner FS
	// Descriptors hands out descriptors. It is set before the first use.
	Descriptors bool

	mu     sync.Mutex
	faults []plannedFault
	hook   func(op Op, path string) error
}

type plannedFault struct {
	Fault
	seen int
}

var _ FS = (*Faulty)(nil)

// NewFaulty wraps inner; nothing fails before Inject or OnCall.
func NewFaulty(inner FS) *Faulty { return &Faulty{inner: inner} }

// Inject plans a failure; where several match a call, the first injected wins.
func (f *Faulty) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, plannedFault{Fault: fault})
}

// OnCall has hook called before every call, the failing ones included; an error
// of its own fails the call. It runs on the caller's goroutine with no lock
// held, so it may look at the file systems, clone a Mem or stop the test's world.
func (f *Faulty) OnCall(hook func(op Op, path string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Clear forgets all planned failures and the hook.
func (f *Faulty) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.hook = nil, nil
}

// check decides about one call; short is meaningful with an error only.
func (f *Faulty) check(op Op, path string) (short int, err error) {
	f.mu.Lock()
	hook := f.hook
	for i := range f.faults {
		p := &f.faults[i]
		if !p.matches(op, path) {
			continue
		}
		p.seen++
		if err == nil && (p.Nth == 0 || p.seen == p.Nth) {
			short, err = p.Short, &os.PathError{Op: string(op), Path: path, Err: p.Err}
		}
	}
	f.mu.Unlock()
	if hook != nil {
		if hookErr := hook(op, path); hookErr != nil && err == nil {
			return 0, &os.PathError{Op: string(op), Path: path, Err: hookErr}
		}
	}
	return short, err
}

func (p *plannedFault) matches(op Op, path string) bool {
	if p.Op != "" && p.Op != op {
		return false
	}
	if p.Path == "" {
		return true
	}
	ok, err := filepath.Match(p.Path, filepath.Base(path))
	return ok && err == nil
}

func (f *Faulty) file(op Op, name string, open func(string) (File, error)) (File, error) {
	if _, err := f.check(op, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f}, nil
}

func (f *Faulty) call(op Op, name string, do func(string) error) error {
	if _, err := f.check(op, name); err != nil {
		return err
	}
	return do(name)
}

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) { return f.file(OpCreate, name, f.inner.Create) }

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) { return f.file(OpOpen, name, f.inner.Open) }

// OpenOrCreate implements FS; it counts as OpCreate.
func (f *Faulty) OpenOrCreate(name string) (File, error) {
	return f.file(OpCreate, name, f.inner.OpenOrCreate)
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error { return f.call(OpRemove, name, f.inner.Remove) }

// RemoveAll implements FS.
func (f *Faulty) RemoveAll(dir string) error { return f.call(OpRemoveAll, dir, f.inner.RemoveAll) }

// Rename implements FS.
func (f *Faulty) Rename(oldName, newName string) error {
	return f.call(OpRename, oldName, func(string) error { return f.inner.Rename(oldName, newName) })
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(dir string) error { return f.call(OpMkdir, dir, f.inner.MkdirAll) }

// ReadDir implements FS.
func (f *Faulty) ReadDir(dir string) ([]os.DirEntry, error) {
	if _, err := f.check(OpReadDir, dir); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(dir)
}

// Stat implements FS.
func (f *Faulty) Stat(name string) (os.FileInfo, error) {
	if _, err := f.check(OpStat, name); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error { return f.call(OpSyncDir, dir, f.inner.SyncDir) }

// Lock implements FS.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if _, err := f.check(OpLock, name); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// Free implements FS.
func (f *Faulty) Free(dir string) (int64, error) {
	if _, err := f.check(OpFree, dir); err != nil {
		return 0, err
	}
	return f.inner.Free(dir)
}
