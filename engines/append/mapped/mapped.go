// Package mapped is the append engine that copies into a shared memory mapping
// of the file: no system call per append, and readers find the bytes in the page
// cache as if they had been written.
//
// The file is allocated ahead in steps, so that a store never meets a full disk,
// and mapped one window after the other, never past its end. A page that cannot
// be had all the same (the file truncated by a stranger, a broken disk) would be
// a SIGBUS; it comes back as an error of Append instead.
package mapped

import (
	"fmt"
	"sync/atomic"

	"tidemark/engines"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// firstStep is how much is allocated first; each further step doubles what there
// is, up to the size of a segment.
const firstStep = 16 << 20

// Spec names the engine.
func Spec() engines.AppendSpec {
	// Not every file system allocates ahead.
	return engines.AppendSpec{
		Name:      "mapped",
		Doc:       "copy into a memory mapping of the preallocated file, without a system call per append",
		Available: func(dir string) error { return vfs.TrialAppend(dir, open) },
		Open:      open,
	}
}

// appender implements engines.Appender. All but Flush is confined to one
// goroutine at a time.
type appender struct {
	file         engines.File
	segmentBytes int64
	size         int64
	// written is size, for Flush.
	written atomic.Int64
	// allocated is the length of the file; the windows lie within it.
	allocated int64
	windows   windows
	// torn says that bytes behind size may be other than zero.
	torn bool
	// lent is how many bytes behind size are on loan.
	lent   int64
	syncer *vfs.Syncer
}

func open(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	if _, ok := f.Descriptor(); !ok {
		return nil, fmt.Errorf("open %s: %w", f.Name(), vfs.ErrNoDescriptor)
	}
	length, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	if size < 0 || size > length {
		return nil, fmt.Errorf("open %s: %d valid bytes claimed, %d are there", f.Name(), size, length)
	}
	a := &appender{file: f, segmentBytes: o.SegmentBytes, size: size, allocated: length, syncer: vfs.NewSyncer(f)}
	a.windows.onDemand, a.windows.ahead = o.NoPrefault, never
	if length > size {
		if err := a.trim(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Append implements engines.Appender.
func (a *appender) Append(bufs [][]byte) (int64, error) {
	if err := a.syncer.Err(); err != nil {
		return 0, err
	}
	if a.torn {
		if err := a.trim(); err != nil {
			return 0, err
		}
	}
	end := a.size
	for _, buf := range bufs {
		if err := a.copyIn(end, buf); err != nil {
			// What did get there must go: recovery would take whole batches
			// of it for appended ones. If it will not go now, the next call
			// tries.
			a.torn = true
			_ = a.trim()
			return 0, fmt.Errorf("append to %s: %w", a.file.Name(), err)
		}
		end += int64(len(buf))
	}
	position := a.size
	a.size = end
	a.written.Store(end)
	return position, nil
}

// copyIn copies buf to a position at or behind size, window by window.
func (a *appender) copyIn(position int64, buf []byte) error {
	for len(buf) > 0 {
		window := a.windows.current
		if window == nil || position >= window.End() {
			if err := a.advance(position, int64(len(buf))); err != nil {
				return err
			}
			window = a.windows.current
		}
		n := min(int64(len(buf)), window.End()-position)
		if err := window.CopyIn(position, buf[:n]); err != nil {
			return err
		}
		position += n
		buf = buf[n:]
	}
	if position >= a.windows.ahead {
		a.windows.prepare(a.file, a.allocated, nil)
	}
	return nil
}

// advance makes the window at position current, and the file long enough for
// need bytes from there.
func (a *appender) advance(position, need int64) error {
	if position+need > a.allocated {
		if err := a.allocate(position + need); err != nil {
			return err
		}
	}
	a.allocateAhead(position)
	return a.windows.advance(a.file, position, a.allocated)
}

// allocateAhead makes the file long enough for the window after the one at
// position, so that it can be made present; in the file's first window nobody
// knows yet whether there will be a next. It is a help: an append that needs the
// space meets the error, and tells.
func (a *appender) allocateAhead(position int64) {
	if a.windows.current == nil || a.allocated >= position&^(windowSize-1)+2*windowSize {
		return
	}
	if to := a.nextAllocation(a.allocated); to > a.allocated && vfs.Allocate(a.file, a.allocated, to) == nil {
		a.allocated = to
	}
}

// allocate makes the file long enough for end, by a whole step or, where the
// disk has no more, by what is needed now.
func (a *appender) allocate(end int64) error {
	to, least := a.nextAllocation(end), vfs.PageCeil(end)
	err := vfs.Allocate(a.file, a.allocated, to)
	if err != nil && least < to {
		to, err = least, vfs.Allocate(a.file, a.allocated, least)
	}
	if err != nil {
		return err
	}
	a.allocated = to
	return nil
}

// nextAllocation is the length to give the file so that end fits: twice what it
// has, but no more than a segment unless end asks for it.
func (a *appender) nextAllocation(end int64) int64 {
	to := a.allocated + max(firstStep, a.allocated)
	to = min(to, max(a.segmentBytes, firstStep))
	return vfs.PageCeil(max(to, end))
}

// trim makes the file end at size and drops the windows, which would reach past
// that end.
func (a *appender) trim() error {
	a.windows.drop()
	if err := a.file.Truncate(a.size); err != nil {
		return fmt.Errorf("trim %s: %w", a.file.Name(), err)
	}
	a.allocated, a.torn = a.size, false
	return nil
}

// Flush implements engines.Appender. fdatasync(2) writes the pages that stores
// made dirty as well as msync(2) would. It also takes the right to write from
// every mapping of each page before, by an interrupt of all processors that run
// the process: pages that are mapped no more spare it that.
func (a *appender) Flush() error {
	a.windows.letGo(a.written.Load())
	return a.syncer.Sync()
}

// Truncate implements engines.Appender. The preallocated space goes too: what
// follows the end must read as zeros, not as the dropped batches.
func (a *appender) Truncate(size int64) error {
	invariant.Check(0 <= size && size <= a.size, "truncate %s to %d, its end is %d", a.file.Name(), size, a.size)
	former := a.size
	a.size = size
	if err := a.trim(); err != nil {
		a.size = former
		return err
	}
	return nil
}

// Size implements engines.Appender.
func (a *appender) Size() int64 { return a.size }

// Close implements engines.Appender.
func (a *appender) Close() error { return a.trim() }
