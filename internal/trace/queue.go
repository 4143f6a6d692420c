package trace

import (
	"io"
	"sync"
	"time"
)

// Queue is a sink that writes trace.jsonl from a goroutine of its own: whoever has
// an event to tell never waits for the writer. Events are encoded into pages of
// bounded number; while none is free they are dropped and counted, and a Drop event
// says so as soon as there is room. A page goes out when it is full, and otherwise
// before long, whole lines at a time. It is safe for concurrent use.
type Queue struct {
	w      io.Writer
	failed func(error)
	full   chan []byte
	free   chan []byte
	ended  chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	page    []byte // being filled; nil while there is none
	lost    Event  // a Drop of what was lost and is not told yet; Count 0 for nothing
	dropped int64
	closed  bool // nothing is taken any more
	err     error
}

const (
	pageBytes = 64 << 10
	// pageSlack is room for the event that fills a page.
	pageSlack = 4 << 10
	// pages bound the memory: 4 MiB.
	pages = 64
	// flushInterval is how long an event may wait for its page to fill.
	flushInterval = 50 * time.Millisecond
)

// NewQueue starts the writer. failed, where it is not nil, is told of the first error
// of w, after which everything is dropped. Close ends it; w stays the caller's.
func NewQueue(w io.Writer, failed func(error)) *Queue {
	q := &Queue{w: w, failed: failed, full: make(chan []byte, pages), free: make(chan []byte, pages), ended: make(chan struct{}), done: make(chan struct{})}
	for range pages {
		q.free <- nil // made when it is first needed
	}
	go q.run()
	return q
}

// Write implements Sink. It never blocks.
func (q *Queue) Write(e *Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.page == nil && !q.turnPage() {
		// The last event that is lost gives its number to the one that says so.
		q.lost = Event{ID: e.ID, At: e.At, Kind: Drop, Count: q.lost.Count + 1, Why: "the writer is behind"}
		q.dropped++
		return
	}
	q.page = append(AppendJSON(q.page, e), '\n')
	if len(q.page) >= pageBytes {
		q.full <- q.page // there is room for every page
		q.page = nil
	}
}

// turnPage takes a free page.
func (q *Queue) turnPage() bool {
	if q.err != nil {
		return false
	}
	select {
	case page := <-q.free:
		if page == nil {
			page = make([]byte, 0, pageBytes+pageSlack)
		}
		q.page = page
		q.tellLost()
		return true
	default:
		return false
	}
}

func (q *Queue) tellLost() {
	if q.lost.Count > 0 {
		q.page = append(AppendJSON(q.page, &q.lost), '\n')
		q.lost = Event{}
	}
}

// Dropped is how many events were lost.
func (q *Queue) Dropped() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// run writes pages until Close.
func (q *Queue) run() {
	defer close(q.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case page := <-q.full:
			q.write(page)
		case <-tick.C:
			q.writeAll()
		case <-q.ended:
			q.writeAll()
			return
		}
	}
}

// writeAll writes the full pages and the one that is being filled.
func (q *Queue) writeAll() {
	for {
		q.mu.Lock()
		var page []byte
		select {
		case page = <-q.full: // Pages come here under mu: none is overtaken.
		default:
			if q.page == nil && q.lost.Count > 0 {
				q.turnPage()
			}
			page, q.page = q.page, nil
		}
		q.mu.Unlock()
		if page == nil {
			return
		}
		q.write(page)
	}
}

func (q *Queue) write(page []byte) {
	if q.Err() == nil && len(page) > 0 {
		if _, err := q.w.Write(page); err != nil {
			q.mu.Lock()
			q.err = err
			q.mu.Unlock()
			if q.failed != nil {
				q.failed(err)
			}
		}
	}
	q.free <- page[:0]
}

// Err is the first error of the writer.
func (q *Queue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Close writes what there is and returns the first error. Later events are dropped.
func (q *Queue) Close() error {
	q.mu.Lock()
	closed := q.closed
	q.closed = true
	q.mu.Unlock()
	if !closed {
		close(q.ended)
	}
	<-q.done
	return q.Err()
}
