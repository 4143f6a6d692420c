package powercut

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"tidemark/internal/vfs"
)

// liveFile is what a recorder knows of a file, whoever has it open.
type liveFile struct {
	id nodeID
	// durable and end are the cells of the file's row.
	durableCell, endCell *atomic.Uint64
	undoPath             string

	// mu guards what follows. It is not held during a sync.
	mu      sync.Mutex
	durable int64
	// running are the syncs under way; finished is the ticket of the last to
	// start of those that are done, started that of the last to start.
	running           []*syncing
	started, finished uint64
	// gen numbers the times between syncs in which durable bytes were
	// overwritten; copied counts the copies made, copies are those that may
	// still be needed.
	gen    uint32
	copied int
	copies []undoName
}

// syncing is one sync under way.
type syncing struct {
	ticket uint64
	// end is how far the file is durable once it is done.
	end int64
	// liveFrom is the first generation of copies it does not make obsolete.
	liveFrom uint32
}

// file is an open file of a Recorder.
type file struct {
	vfs.File
	live *liveFile
}

var _ vfs.Ended = (*file)(nil)

// wrap returns the recorded f. The recorder's mu is held.
func (r *Recorder) wrap(f vfs.File, n *node) (vfs.File, error) {
	if n.live == nil {
		durable, err := r.files.at(2 * int64(n.id))
		if err == nil {
			n.live = &liveFile{id: n.id, durableCell: durable, undoPath: r.path(undoDir)}
			n.live.endCell, err = r.files.at(2*int64(n.id) + 1)
		}
		if err != nil {
			_ = f.Close() // Nothing was written through it.
			return nil, recordError(err)
		}
		n.live.durable = int64(durable.Load() & maxLength)
	}
	return &file{File: f, live: n.live}, nil
}

// SetEnd implements vfs.Ended with one store.
func (f *file) SetEnd(end int64) { f.live.endCell.Store(packEnd(end)) }

// Sync implements vfs.File: on return at least what had been appended before the
// call is durable, and that is what the record says.
func (f *file) Sync() error {
	l := f.live
	end := int64(l.endCell.Load()) - 1
	if end < 0 {
		var err error
		if end, err = f.Size(); err != nil {
			return err
		}
	}
	sync := l.beginSync(end)
	err := f.File.Sync()
	l.endSync(sync, err == nil)
	return err
}

func (l *liveFile) beginSync(end int64) *syncing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.copies); n > 0 && l.copies[n-1].gen == l.gen {
		l.gen++
	}
	l.started++
	s := &syncing{ticket: l.started, end: end, liveFrom: l.gen}
	l.running = append(l.running, s)
	return s
}

// endSync takes note of a sync that is done, unless one that started later was
// done before.
func (l *liveFile) endSync(s *syncing, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = slices.DeleteFunc(l.running, func(r *syncing) bool { return r == s })
	if !ok || s.ticket < l.finished {
		return
	}
	l.finished, l.durable = s.ticket, s.end
	l.durableCell.Store(packDurable(s.end, s.liveFrom))
	l.copies = slices.DeleteFunc(l.copies, func(u undoName) bool {
		if u.gen >= s.liveFrom {
			return false
		}
		_ = os.Remove(filepath.Join(l.undoPath, u.String())) // It no longer counts and does no harm.
		return true
	})
}

// limit is the end of the bytes that are durable or may be any moment; mu is
// held.
func (l *liveFile) limit() int64 {
	limit := l.durable
	for _, s := range l.running {
		limit = max(limit, s.end)
	}
	return limit
}

// WriteAt implements vfs.File. Durable bytes are copied before they are
// overwritten.
func (f *file) WriteAt(p []byte, at int64) (int, error) {
	l := f.live
	l.mu.Lock()
	limit := l.limit()
	if at >= limit || len(p) == 0 {
		l.mu.Unlock()
		return f.File.WriteAt(p, at)
	}
	defer l.mu.Unlock()
	from := at / pageSize * pageSize
	to := min((at+int64(len(p))+pageSize-1)/pageSize*pageSize, limit)
	if err := l.copyOut(f.File, from, to); err != nil {
		return 0, recordError(err)
	}
	return f.File.WriteAt(p, at)
}

// Truncate implements vfs.File. Durable bytes are copied before they are cut
// off.
func (f *file) Truncate(size int64) error {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := l.limit(); size < limit {
		if err := l.copyOut(f.File, size, limit); err != nil {
			return recordError(err)
		}
	}
	for _, s := range l.running {
		s.end = min(s.end, size) // What is cut off meanwhile is not promised.
	}
	if end := int64(l.endCell.Load()) - 1; end > size {
		f.SetEnd(size)
	}
	return f.File.Truncate(size)
}

// copyOut keeps a copy of the bytes between two positions under a name that
// tells them: node, generation, number, from, to. Holes stay holes. mu is held.
func (l *liveFile) copyOut(src vfs.File, from, to int64) error {
	copied := undoName{l.id, l.gen, l.copied, from, to}
	name := filepath.Join(l.undoPath, copied.String())
	dst, err := os.OpenFile(name+".part", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	err = dst.Truncate(to)
	if err == nil {
		err = eachData(src, from, to, func(at int64, data []byte) error {
			_, err := dst.WriteAt(data, at)
			return err
		})
	}
	if closeErr := dst.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		// Only a whole copy gets the name that counts.
		err = os.Rename(name+".part", name)
	}
	if err != nil {
		return err
	}
	l.copies, l.copied = append(l.copies, copied), l.copied+1
	return nil
}

// fileInode is the inode of an open file.
func fileInode(f vfs.File) (uint64, error) {
	fd, ok := f.Descriptor()
	if !ok {
		return 0, vfs.ErrNoDescriptor
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return st.Ino, nil
}

func inodeOf(info fs.FileInfo) uint64 {
	return info.Sys().(*syscall.Stat_t).Ino
}
