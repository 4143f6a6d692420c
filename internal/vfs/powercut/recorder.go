// Package powercut tells what a power cut would leave. A Recorder is the
// machine's file system with a record beside it of what is durable; after the
// process was killed, Record.Cut makes the files what a disk might hold had the
// power failed at that moment, without root, FUSE or a reboot.
//
// Durable is what POSIX promises and no more: bytes that were written before a
// Sync of their file began, once it has returned; names once SyncDir of their
// directory has. Of everything else a seed decides. What was there when the
// record began counts as durable.
//
// Engines run unchanged, as the files keep their descriptors. That needs one
// promise of them: through a descriptor or a mapping a file only grows behind
// its end, or gets the bytes it has; every change of durable bytes goes through
// File.WriteAt or File.Truncate, which keep a copy of what they overwrite.
// Where space is preallocated, the length says nothing: vfs.Ended tells.
//
// The record is a directory outside those it records, described in
// docs/formats/powercut.md. It lies in the page cache, which outlives the
// process, not the machine: this is a test device.
package powercut

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tidemark/internal/vfs"
)

// The files of a record.
const (
	journalFile = "journal"
	filesFile   = "files" // the table of rows
	acksFile    = "acks"  // the table of acknowledged ends
	undoDir     = "undo"  // copies of durable bytes that were overwritten
	keptDir     = "kept"  // files whose name is gone, not durably
	usedFile    = "used"  // the report of the cut that used the record
	lockFile    = ".lock" // held by who records or cuts
)

// parts are the files and directories of a record, but for its lock.
var parts = []string{journalFile, filesFile, acksFile, usedFile, undoDir, keptDir}

// Options say what to record and where.
type Options struct {
	// Dir is the record's own directory; it is made, and a former record in it
	// is dropped. Anything else in it is an error.
	Dir string
	// Roots are the directories that are recorded, with all below them.
	Roots []string
	// RootLock is the name of the lock file that whoever opens a root takes in
	// it.
	RootLock string
}

// Recorder is a vfs.FS that keeps a record of what is durable under its roots
// and is elsewhere the machine's file system. It is safe for concurrent use. A
// record that cannot be written is an error of the call that needed it.
type Recorder struct {
	vfs.OS
	dir   string
	lock  io.Closer
	files *cells
	acks  *cells
	found int

	// mu orders changes of names with their events in the journal.
	mu       sync.Mutex
	tree     *tree
	journal  *journal
	nextNode nodeID
	nextCell uint32
	// ackCells are the partitions with a cell.
	ackCells map[string]uint32
}

var _ vfs.FS = (*Recorder)(nil)

// Start begins a record.
func Start(o Options) (*Recorder, error) {
	r := &Recorder{tree: newTree(), ackCells: map[string]uint32{}}
	if err := r.start(o); err != nil {
		return nil, fmt.Errorf("power-cut record %s: %w", o.Dir, errors.Join(err, r.Close()))
	}
	return r, nil
}

func (r *Recorder) start(o Options) (err error) {
	if r.dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	roots := make([]string, len(o.Roots))
	for i, root := range o.Roots {
		if roots[i], err = filepath.Abs(root); err != nil {
			return err
		}
	}
	if err := checkApart(r.dir, roots); err != nil {
		return err
	}
	if err := r.claim(); err != nil {
		return err
	}
	if r.journal, err = createJournal(r.dir); err != nil {
		return err
	}
	if r.files, err = createCells(r.path(filesFile)); err != nil {
		return err
	}
	if r.acks, err = createCells(r.path(acksFile)); err != nil {
		return err
	}
	begin := event{Op: opStart, Version: formatVersion, Owner: vfs.LockOwner(), RootLock: o.RootLock}
	for _, root := range roots {
		begin.Formers = append(begin.Formers, opener(root, o.RootLock))
	}
	if err := r.journal.write(begin); err != nil {
		return err
	}
	for _, root := range roots {
		if err := r.findAll(root); err != nil {
			return err
		}
	}
	return nil
}

// checkApart refuses a record inside what it records, or around it.
func checkApart(dir string, roots []string) error {
	if len(roots) == 0 {
		return errors.New("nothing to record")
	}
	for i, root := range roots {
		if within(dir, root) || within(root, dir) {
			return fmt.Errorf("the record must lie outside of the log directory %s: a power cut must not touch it", root)
		}
		for _, other := range roots[:i] {
			if within(other, root) || within(root, other) {
				return fmt.Errorf("log directories %s and %s lie within one another", other, root)
			}
		}
	}
	return nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (r *Recorder) path(name string) string { return filepath.Join(r.dir, name) }

// claim locks the directory and empties it, if what is in it is a record.
func (r *Recorder) claim() error {
	if err := r.OS.MkdirAll(r.dir); err != nil {
		return err
	}
	if err := onlyRecord(r.dir); err != nil {
		return err
	}
	lock, err := r.OS.Lock(r.path(lockFile))
	if err != nil {
		return err
	}
	r.lock = lock
	for _, name := range parts {
		if err := os.RemoveAll(r.path(name)); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(r.path(undoDir), 0o755), os.Mkdir(r.path(keptDir), 0o755))
}

// onlyRecord refuses a directory that holds anything but a record.
func onlyRecord(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile && !slices.Contains(parts, e.Name()) {
			return fmt.Errorf("%s is no part of a record: an empty directory is needed", e.Name())
		}
	}
	return nil
}

// findAll enters a root and what is in it as durable.
func (r *Recorder) findAll(root string) error {
	if err := r.OS.MkdirAll(root); err != nil {
		return err
	}
	var events []event
	ids := map[string]nodeID{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := event{Op: opFound, Dir: ids[filepath.Dir(path)], Name: filepath.Base(path), Inode: inodeOf(info), IsDir: d.IsDir()}
		if path == root {
			e.Dir, e.Name = 0, root
		}
		if err := r.enter(&e, info.Size()); err != nil {
			return err
		}
		ids[path], events = e.Node, append(events, e)
		r.found++
		return r.tree.replay(e)
	})
	if err != nil {
		return err
	}
	return r.journal.write(events...)
}

// enter gives the node of e an id and its row.
func (r *Recorder) enter(e *event, durable int64) error {
	r.nextNode++
	e.Node = r.nextNode
	cell, err := r.files.at(2 * int64(e.Node))
	if err != nil {
		return err
	}
	cell.Store(packDurable(durable, 0))
	return nil
}

// Found is how many files and directories were there at the start.
func (r *Recorder) Found() int { return r.found }

// Dir is the directory of the record.
func (r *Recorder) Dir() string { return r.dir }

// AckCell returns the cell of the partition whose log is in dir: whoever
// acknowledges a record stores the offset after it there first. It starts at 0;
// a partition made anew gets a new one.
func (r *Recorder) AckCell(dir string) (*atomic.Uint64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.nextCell
	cell, err := r.acks.at(int64(i))
	if err == nil {
		err = r.journal.write(event{Op: opAcks, Path: dir, Cell: i})
	}
	if err != nil {
		return nil, fmt.Errorf("power-cut record: %w", err)
	}
	r.nextCell++
	r.ackCells[dir] = i
	return cell, nil
}

// Close ends the record, which stays. The files that are open stay usable, but
// no longer recorded: close them first.
func (r *Recorder) Close() error {
	var errs []error
	if r.journal != nil {
		errs = append(errs, r.journal.file.Close())
	}
	for _, c := range []*cells{r.files, r.acks} {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
	}
	return errors.Join(errs...)
}
