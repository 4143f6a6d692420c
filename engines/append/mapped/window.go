package mapped

import (
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// windows are the parts of the file that an appender has mapped: the one being
// filled and, once a segment has filled one, the next, whose pages a goroutine
// makes present meanwhile. The first store to a page costs more than the copy:
// the page is found, zeroed, given buffers and marked dirty. Done ahead, by the
// other core, that is not the append's to wait for: in a broker under 64 KiB
// batches 8.2–13.2 million records a second against 5.5–6.8 without. The
// goroutine also unmaps the window before.
//
// There is nothing to read ahead in a file that is all zeros: with it a fault
// brings in large folios, which cost 0.142–0.154 core-seconds a million records
// in a broker, against 0.101–0.109 page by page.
//
// Huge pages are not asked for, though a benchmark of the engine alone gains by
// them: in a virtual machine whose free 2 MiB blocks go back to the host, each
// is a fault of the host's again, and the broker halves (3.6–7.0 million).
//
// The current window is the appender's alone; wait joins the goroutine, and
// every change comes after a wait.
type windows struct {
	current, next *vfs.Mapping
	// onDemand leaves each page to the first store to it.
	onDemand bool
	// working is closed when the goroutine has ended; nil if there is none.
	working chan struct{}
}

const (
	// windowSize is how much of the file is mapped at a time, and so how much
	// memory a segment that stopped growing may have dirty in vain.
	windowSize = 8 << 20
	// pieceSize is how much one call makes present: the address space is
	// locked against the rest of the process meanwhile.
	pieceSize = 2 << 20
)

// advance makes the window that holds position the current one; end is the end
// of the allocated file.
func (w *windows) advance(f vfs.File, position, end int64) error {
	w.wait()
	former := w.current
	w.current = nil
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
	w.current, w.next = w.next, nil
	if former == nil {
		return nil // The first window, perhaps the only one: nothing ahead of it.
	}
	if ahead := w.current.End(); ahead < end && !w.onDemand {
		// Running ahead is a help, not a duty: if the window cannot be mapped
		// now, the next advance tries again and tells.
		w.next, _ = mapWindow(f, ahead, end)
	}
	w.working = make(chan struct{})
	go work(w.working, former, w.next)
	return nil
}

func mapWindow(f vfs.File, base, end int64) (*vfs.Mapping, error) {
	m, err := vfs.Map(f, base, min(base+windowSize, end), true)
	if err == nil {
		m.NoReadAhead()
	}
	return m, err
}

// work is the goroutine beside the appender.
func work(done chan<- struct{}, former, next *vfs.Mapping) {
	defer close(done)
	if next != nil {
		for at := next.Base(); at < next.End(); at += pieceSize {
			if err := next.Populate(at, min(at+pieceSize, next.End())); err != nil {
				break // The copy meets the same page, and its error is told.
			}
		}
	}
	unmap(&former)
}

func (w *windows) wait() {
	if w.working != nil {
		<-w.working
		w.working = nil
	}
}

// drop unmaps everything.
func (w *windows) drop() {
	w.wait()
	unmap(&w.current)
	unmap(&w.next)
}

// unmap can fail only for an address that is not a mapping's.
func unmap(m **vfs.Mapping) {
	if *m != nil {
		err := (*m).Unmap()
		invariant.Check(err == nil, "unmap: %v", err)
		*m = nil
	}
}
