package mapped

import (
	"math"
	"sync"
	"sync/atomic"

	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// windows are the parts of the file that an appender has mapped: the one being
// filled and, once a quarter of a segment's first is, the next, whose pages a
// goroutine makes present meanwhile. The first store to a page costs more than
// the copy: the page is found, zeroed, given buffers and marked dirty. Done ahead,
// by the other core, that is not the append's to wait for. The goroutine also
// unmaps the window before.
//
// Pages are made present by write(2) of zeros, which is what the allocated file
// reads as anyway: it takes them from the kernel 64 KiB at a time and gives them
// buffers without a fault for each. In a broker under 64 KiB batches that is
// 0.070 core-seconds a million records, against 0.122 where
// madvise(MADV_POPULATE_WRITE) alone makes them. Writes of 1 MiB take free blocks
// of 2 MiB, which in a virtual machine are the host's again: 0.21. The pages are
// then populated for the mapping, so that the copy meets no fault.
//
// Where pages are left to the copy (onDemand, and in the first window) there is
// nothing to read ahead in a file that is all zeros: with it a fault brings in
// large folios, at up to half as much again a record.
//
// The current window is the appender's alone but for letGo; wait joins the
// goroutine, and every change comes after a wait.
type windows struct {
	// mu is held by letGo and to change current.
	mu            sync.Mutex
	current, next *vfs.Mapping
	// gone is the position before which letGo has been.
	gone int64
	// ahead is the position from which the next window is made present; never
	// where it has been, or will not be.
	ahead int64
	// onDemand leaves each page to the first store to it.
	onDemand bool
	// working is closed when the goroutine has ended; nil if there is none.
	working chan struct{}
	// stop tells the goroutine that its pages are not needed any more.
	stop atomic.Bool
}

const (
	// windowSize is how much of the file is mapped at a time, and so how much
	// memory a segment that stopped growing may have dirty in vain.
	windowSize = 8 << 20
	// pieceSize is how much is made present at a time, between two looks at stop.
	pieceSize = 1 << 20
	never     = math.MaxInt64
)

// zeros are what pages are made present with, in one call.
var zeros [64 << 10]byte

// advance makes the window that holds position the current one; end is the end
// of the allocated file.
func (w *windows) advance(f vfs.File, position, end int64) error {
	w.wait()
	former := w.current
	w.exchange(nil)
	base := position &^ (windowSize - 1)
	if w.next == nil || w.next.Base() != base {
		unmap(&w.next)
		next, err := mapWindow(f, base, end)
		if err != nil {
			unmap(&former)
			return err
		}
		w.next = next
	}
	w.exchange(w.next)
	w.next, w.ahead = nil, never
	switch {
	case former != nil:
		w.prepare(f, end, former)
	case !w.onDemand:
		w.ahead = base + windowSize/4 // Perhaps the file stays small.
	}
	return nil
}

// prepare makes the next window present in the background, as far as the file is
// allocated, and unmaps the former one, if there is one. Nothing is running.
func (w *windows) prepare(f vfs.File, end int64, former *vfs.Mapping) {
	w.ahead = never
	if base := w.current.End(); base < end && !w.onDemand {
		// Running ahead is a help, not a duty: if the window cannot be mapped
		// now, the next advance tries again and tells.
		w.next, _ = mapWindow(f, base, end)
	}
	next, done := w.next, make(chan struct{})
	w.working = done
	go func() {
		defer close(done)
		if next != nil {
			w.populate(f, next)
		}
		unmap(&former)
	}()
}

// populate makes the pages of m present, which nobody else uses yet.
func (w *windows) populate(f vfs.File, m *vfs.Mapping) {
	for at := m.Base(); at < m.End() && !w.stop.Load(); at += pieceSize {
		to := min(at+pieceSize, m.End())
		for z := at; z < to; z += int64(len(zeros)) {
			if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-z)], z); err != nil {
				return // The copy meets the same page, and its error is told.
			}
		}
		if err := m.Populate(at, to); err != nil {
			return
		}
	}
}

func mapWindow(f vfs.File, base, end int64) (*vfs.Mapping, error) {
	m, err := vfs.Map(f, base, min(base+windowSize, end), true)
	if err == nil {
		m.NoReadAhead()
	}
	return m, err
}

func (w *windows) wait() {
	if w.working != nil {
		<-w.working
		w.working = nil
	}
}

// drop unmaps everything.
func (w *windows) drop() {
	w.stop.Store(true)
	w.wait()
	w.stop.Store(false)
	w.ahead = never
	former := w.current
	w.exchange(nil)
	unmap(&former)
	unmap(&w.next)
}

func (w *windows) exchange(current *vfs.Mapping) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current, w.gone = current, 0
}

// letGo takes the pages before end out of the current window. It may run beside
// everything else.
func (w *windows) letGo(end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil {
		w.current.LetGo(w.gone, end)
		w.gone = vfs.PageFloor(end)
	}
}

// unmap can fail only for an address that is not a mapping's.
func unmap(m **vfs.Mapping) {
	if *m != nil {
		err := (*m).Unmap()
		invariant.Check(err == nil, "unmap: %v", err)
		*m = nil
	}
}
