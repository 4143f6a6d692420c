package commitlog

import (
	"sync"
	"sync/atomic"
)

// Turns runs tasks of many logs on a bounded number of goroutines, first come,
// first served. A task that is asked for while it waits runs once; one that is
// asked for while it runs gets a further turn, behind those who wait. Whoever asks
// never waits. It is safe for concurrent use.
//
// A device has two. One is its flusher: each task syncs a log, so that every log
// with unsynced appends gets its turn and what is appended meanwhile, to the logs
// that wait as to those being synced, shares the next. The other looks after the
// page cache.
type Turns struct {
	goroutines sync.WaitGroup

	mu sync.Mutex
	// due is signalled when head or closed changes.
	due        sync.Cond
	head, tail *Turn
	closed     bool
}

// Turn is one task's place in a Turns.
type Turn struct {
	turns *Turns
	task  func()
	state atomic.Int32
	// next is the one behind in the queue; guarded by the mu of turns.
	next *Turn
}

// The states of a Turn.
const (
	turnIdle int32 = iota
	turnWaiting
	turnRunning
	turnRunningAsked
)

// NewTurns starts a Turns that runs at most lanes tasks at a time.
func NewTurns(lanes int) *Turns {
	t := &Turns{}
	t.due.L = &t.mu
	for range lanes {
		t.goroutines.Go(t.lane)
	}
	return t
}

// Join gives task a place. It never runs twice at a time, and not before Ask.
func (t *Turns) Join(task func()) *Turn { return &Turn{turns: t, task: task} }

// Ask has the task run: once more, from a moment after this call on. After Close
// it does nothing.
func (t *Turn) Ask() {
	for {
		switch state := t.state.Load(); state {
		case turnWaiting, turnRunningAsked:
			return
		case turnRunning:
			if t.state.CompareAndSwap(turnRunning, turnRunningAsked) {
				return
			}
		default:
			if t.state.CompareAndSwap(turnIdle, turnWaiting) {
				t.turns.push(t, false)
				return
			}
		}
	}
}

// Next reports, to the task while it runs, whether its own next turn follows this
// one at once: it was asked for and nobody else waits.
func (t *Turn) Next() bool {
	if t.state.Load() != turnRunningAsked {
		return false
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	return t.turns.head == nil
}

// push queues x; after Close only a further turn of a task that ran.
func (t *Turns) push(x *Turn, further bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed && !further {
		return
	}
	if t.tail == nil {
		t.head = x
	} else {
		t.tail.next = x
	}
	t.tail = x
	t.due.Signal()
}

// pop waits for the next turn; nil after Close.
func (t *Turns) pop() *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.head == nil && !t.closed {
		t.due.Wait()
	}
	x := t.head
	if x != nil {
		t.head, x.next = x.next, nil
		if t.head == nil {
			t.tail = nil
		}
	}
	return x
}

func (t *Turns) lane() {
	for x := t.pop(); x != nil; x = t.pop() {
		x.state.Store(turnRunning)
		x.task()
		if !x.state.CompareAndSwap(turnRunning, turnIdle) {
			x.state.Store(turnWaiting)
			t.push(x, true)
		}
	}
}

// Close runs what was asked for before and returns once no task runs any more.
func (t *Turns) Close() {
	t.mu.Lock()
	t.closed = true
	t.due.Broadcast()
	t.mu.Unlock()
	t.goroutines.Wait()
}
