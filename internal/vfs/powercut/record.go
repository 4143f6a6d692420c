package powercut

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/vfs"
)

// Errors of a record that cannot be cut.
var (
	// ErrUsed: the record was cut already; what lies in the log directories is
	// no longer what it describes.
	ErrUsed = errors.New("the record was used by a cut before; start a broker with a new record")
	// ErrOpenedSince: another process opened a log directory after the one
	// that recorded.
	ErrOpenedSince = errors.New("was opened again, without this record, after the process that recorded it")
)

// Record is what a dead process recorded. It is confined to one goroutine.
type Record struct {
	dir   string
	locks []io.Closer
	begin event
	tree  *tree
	rows  []uint64
	acks  map[string]uint64
	undo  map[nodeID][]undoName
	// places says where the file with an inode lies now.
	places map[uint64]string
}

// Ack is how far a partition was acknowledged.
type Ack struct {
	// Dir is the directory of the partition's log.
	Dir string
	// End is the offset after the last record that was acknowledged, 0 if none
	// was.
	End int64
}

// DurableFile is a file whose name and first bytes survive any cut.
type DurableFile struct {
	// Name is the durable name, Path where the content lies now.
	Name, Path string
	// Durable is how many bytes are durable, End how many were appended.
	Durable, End int64
}

// Open reads a record and locks it, and with it the directories it records. A
// process that still records is a *vfs.LockedError, a record that was cut
// ErrUsed.
func Open(dir string) (*Record, error) {
	r := &Record{tree: newTree(), acks: map[string]uint64{}}
	if err := r.open(dir); err != nil {
		return nil, fmt.Errorf("power-cut record %s: %w", dir, errors.Join(err, r.Close()))
	}
	return r, nil
}

func (r *Record) open(dir string) (err error) {
	if r.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if _, err := os.Stat(r.path(journalFile)); err != nil {
		return err
	}
	if err := r.lock(r.path(lockFile)); err != nil {
		return err
	}
	if _, err := os.Stat(r.path(usedFile)); err == nil {
		return ErrUsed
	}
	if err := r.load(); err != nil {
		return err
	}
	for root := range r.tree.roots {
		if err := r.claimRoot(root); err != nil {
			return err
		}
	}
	return r.locate()
}

func (r *Record) path(name string) string { return filepath.Join(r.dir, name) }

func (r *Record) lock(path string) error {
	l, err := vfs.OS{}.Lock(path)
	if err == nil {
		r.locks = append(r.locks, l)
	}
	return err
}

// load replays the journal and reads the tables.
func (r *Record) load() error {
	data, err := os.ReadFile(r.path(journalFile))
	if err != nil {
		return err
	}
	events, err := decodeJournal(data)
	if err != nil {
		return fmt.Errorf("%s: %w", journalFile, err)
	}
	if len(events) == 0 {
		return fmt.Errorf("%s is empty", journalFile)
	}
	r.begin = events[0]
	acks, err := readCells(r.dir, acksFile)
	if err != nil {
		return err
	}
	for i, e := range events {
		if err := r.tree.replay(e); err != nil {
			return fmt.Errorf("%s: event %d: %w", journalFile, i+1, err)
		}
		switch {
		case e.Op == opNoAcks:
			delete(r.acks, e.Path)
		case e.Op == opAcks && int64(e.Cell) < int64(len(acks)):
			r.acks[e.Path] = acks[e.Cell]
		}
	}
	if r.rows, err = readCells(r.dir, filesFile); err != nil {
		return err
	}
	r.undo, err = undoAll(r.path(undoDir))
	return err
}

// claimRoot locks a log directory, if it is still there, and checks that nobody
// opened it since: the lock file names the last who did.
func (r *Record) claimRoot(root string) error {
	last := opener(root, r.begin.RootLock)
	if last == "" {
		return nil // Killed before it got that far.
	}
	if err := r.lock(filepath.Join(root, r.begin.RootLock)); err != nil {
		return err
	}
	if last != r.begin.Owner && !slices.Contains(r.begin.Formers, last) {
		return fmt.Errorf("%s %w: by %s, not %s", root, ErrOpenedSince, last, r.begin.Owner)
	}
	return nil
}

// opener is who opened a root last, by its lock file; empty where nobody has.
func opener(root, rootLock string) string {
	if rootLock == "" {
		return ""
	}
	last, err := os.ReadFile(filepath.Join(root, rootLock))
	if err != nil {
		return "" // There is none.
	}
	return strings.TrimSpace(string(last))
}

// locate finds where every recorded file lies now.
func (r *Record) locate() error {
	r.places = map[uint64]string{}
	for _, top := range append(r.rootPaths(), r.path(keptDir)) {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == top {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if inode := inodeOf(info); r.places[inode] == "" {
				r.places[inode] = path
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) rootPaths() []string {
	return slices.Sorted(maps.Keys(r.tree.roots))
}

// Close gives the locks up.
func (r *Record) Close() error {
	var errs []error
	for _, l := range r.locks {
		errs = append(errs, l.Close())
	}
	r.locks = nil
	return errors.Join(errs...)
}

// Acks lists the partitions by directory.
func (r *Record) Acks() []Ack {
	var out []Ack
	for dir, end := range r.acks {
		out = append(out, Ack{Dir: dir, End: int64(end)})
	}
	slices.SortFunc(out, func(a, b Ack) int { return strings.Compare(a.Dir, b.Dir) })
	return out
}

// Durable lists the files that are durably in dir, by name; none where dir itself
// is not durable.
func (r *Record) Durable(dir string) []DurableFile {
	id, way, ok := r.tree.rootOf(dir)
	if !ok {
		return nil
	}
	for _, name := range way {
		n := r.tree.nodes[id]
		if n == nil || !n.isDir() {
			return nil
		}
		id = n.durable[name]
	}
	n := r.tree.nodes[id]
	if n == nil || !n.isDir() {
		return nil
	}
	var out []DurableFile
	for _, name := range slices.Sorted(maps.Keys(n.durable)) {
		child := r.tree.nodes[n.durable[name]]
		if child.isDir() || r.places[child.inode] == "" {
			continue
		}
		row := rowOf(r.rows, child.id)
		f := DurableFile{Name: name, Path: r.places[child.inode], Durable: row.durable, End: row.end}
		// Behind what was overwritten since the last sync, nothing is sure.
		for _, u := range r.liveUndo(child.id, row) {
			f.Durable = min(f.Durable, u.from)
		}
		if f.End < 0 {
			f.End = sizeOf(f.Path)
		}
		out = append(out, f)
	}
	return out
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// liveUndo are the copies of a node that still count, the oldest first.
func (r *Record) liveUndo(id nodeID, w row) []undoName {
	return slices.DeleteFunc(slices.Clone(r.undo[id]), func(u undoName) bool { return u.gen < w.liveFrom })
}
