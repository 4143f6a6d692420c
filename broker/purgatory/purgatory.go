// Package purgatory parks requests that cannot be answered yet: a fetch that
// waits for bytes, a produce that waits for replicas. A parked request is woken
// by the partitions it watches, by its deadline, or is dropped when its client
// goes away. It is Kafka's DelayedOperationPurgatory, with the watch lists kept
// in the partitions instead of in a hash table of keys.
//
// It promises: an operation ends exactly once; a wake reaches exactly the
// operations that watch that Key; a parked operation costs one Waiter (and one
// watch per further key) and no goroutine. It does not order wakes.
package purgatory

import (
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/clock"
	"tidemark/internal/timer"
)

// Operation is what is parked. For one operation the three methods are never
// called at the same time, and none is called after one of them ended it.
type Operation interface {
	// TryComplete answers the request and returns true if it can be answered
	// now. It runs on the goroutine that woke the key and must not block.
	TryComplete() bool
	// Expire answers the request with what there is; its deadline has passed.
	Expire()
	// Cancel lets go of the request without an answer: its client is gone.
	Cancel()
}

// Purgatory holds parked operations. It is safe for concurrent use.
type Purgatory struct {
	wheel  *timer.Wheel
	parked atomic.Int64
	// Observe, where it is not nil, is called for each operation that is parked, and
	// what it returns, where that is not nil, when the operation has ended: with
	// "completed", "expired" or "cancelled". It is set before the first Park.
	Observe func(op Operation, d time.Duration) (ended func(how string))
}

// New returns an empty purgatory whose deadlines are exact to a millisecond.
func New(c clock.Clock) *Purgatory {
	return &Purgatory{wheel: timer.New(c, time.Millisecond)}
}

// Parked is the number of operations that wait now.
func (p *Purgatory) Parked() int { return int(p.parked.Load()) }

// Close stops all deadlines. Operations still parked stay so until their keys
// are woken or their waiters cancelled.
func (p *Purgatory) Close() { p.wheel.Close() }

// Key is what operations wait for; it lives in the thing that changes. The zero
// value has no watchers. Lock order: a Waiter's mu before a Key's.
type Key struct {
	count atomic.Int32
	mu    sync.Mutex
	head  *watch // a ring; nil when empty
}

// watch links one Waiter into one Key's ring; guarded by the key's mutex.
type watch struct {
	key        *Key
	waiter     *Waiter
	next, prev *watch
}

// Waiter is one parked operation.
type Waiter struct {
	purgatory *Purgatory
	op        Operation
	timer     timer.Entry

	mu      sync.Mutex // held while a method of op runs
	ended   bool
	stop    func() bool // of CancelWith; nil for none
	tell    func(how string)
	first   [1]watch // room for the common case, one key
	watches []watch
}

// Park waits for op until it completes, d has passed or Cancel is called. The
// caller has just seen that op cannot complete; Park looks again once the keys
// are watched, so a change in between is not missed. The returned waiter may
// already have ended.
func (p *Purgatory) Park(op Operation, d time.Duration, keys ...*Key) *Waiter {
	w := &Waiter{purgatory: p, op: op}
	w.watches = w.first[:0]
	if len(keys) > 1 {
		w.watches = make([]watch, 0, len(keys))
	}
	p.parked.Add(1)
	if p.Observe != nil {
		w.tell = p.Observe(op, d)
	}
	w.mu.Lock()
	for _, k := range keys {
		w.watches = append(w.watches, watch{key: k, waiter: w})
	}
	for i := range w.watches {
		w.watches[i].key.add(&w.watches[i])
	}
	p.wheel.Add(&w.timer, d, w.expire)
	w.mu.Unlock()
	w.try()
	return w
}

// Cancel drops the operation if it has not ended; it may be called at any time
// and more than once.
func (w *Waiter) Cancel() { w.end(Operation.Cancel, "cancelled") }

// CancelWith passes Cancel to register, which calls it when the client goes away
// or at once if it has gone, and calls what register returns once the operation
// has ended, so that nothing is left behind on a connection that lives on.
func (w *Waiter) CancelWith(register func(cancel func()) (stop func() bool)) {
	stop := register(w.Cancel)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		stop()
		return
	}
	w.stop = stop
}

func (w *Waiter) expire() { w.end(Operation.Expire, "expired") }

func (w *Waiter) end(how func(Operation), name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.unlink()
	how(w.op)
	w.op = nil
	if w.tell != nil {
		w.tell(name)
	}
}

// try asks the operation whether it can complete now.
func (w *Waiter) try() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || !w.op.TryComplete() {
		return
	}
	w.unlink()
	w.op = nil
	if w.tell != nil {
		w.tell("completed")
	}
}

// unlink takes the waiter off every list. mu is held.
func (w *Waiter) unlink() {
	w.ended = true
	w.purgatory.wheel.Stop(&w.timer)
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
	for i := range w.watches {
		w.watches[i].key.remove(&w.watches[i])
	}
	w.purgatory.parked.Add(-1)
}

// woken recycles the lists that Wake collects waiters in.
var woken = sync.Pool{New: func() any { return new([]*Waiter) }}

// maxRecycled bounds the capacity of a recycled list.
const maxRecycled = 4096

// Wake lets every operation that watches k look whether it can complete. It
// costs one atomic load when none does.
func (k *Key) Wake() {
	if k.count.Load() == 0 {
		return
	}
	list := woken.Get().(*[]*Waiter)
	*list = k.waiters((*list)[:0])
	for _, w := range *list {
		w.try()
	}
	clear(*list)
	if cap(*list) <= maxRecycled {
		woken.Put(list)
	}
}

// Watchers is the number of operations that watch k.
func (k *Key) Watchers() int { return int(k.count.Load()) }

func (k *Key) waiters(to []*Waiter) []*Waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.head == nil {
		return to
	}
	for n := k.head; ; n = n.next {
		to = append(to, n.waiter)
		if n.next == k.head {
			return to
		}
	}
}

func (k *Key) add(n *watch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count.Add(1)
	if k.head == nil {
		n.next, n.prev = n, n
		k.head = n
		return
	}
	n.next, n.prev = k.head, k.head.prev
	n.prev.next, n.next.prev = n, n
}

func (k *Key) remove(n *watch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count.Add(-1)
	if n.next == n {
		k.head = nil
	} else {
		n.prev.next, n.next.prev = n.next, n.prev
		if k.head == n {
			k.head = n.next
		}
	}
	n.next, n.prev = nil, nil
}
