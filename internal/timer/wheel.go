// Package timer is a hierarchical timing wheel: many pending deadlines, most of
// which are cancelled before they fall due, at constant cost each and without a
// goroutine or an allocation per deadline. It is Kafka's SystemTimer
// (org.apache.kafka.server.util.timer) with intrusive entries and one armed
// clock callback instead of a reaper thread.
//
// Level 0 has 64 slots of one tick, level n has 64 slots of 64^n ticks; an entry
// far away sits in a coarse slot and moves to finer ones as its time comes near.
// Deadlines are never early; they are late by at most one tick plus the lateness
// of the clock.
package timer

import (
	"math/bits"
	"sync"
	"time"

	"tidemark/internal/clock"
)

const (
	slotBits = 6
	slots    = 1 << slotBits
	levels   = 7 // 64^7 ticks of 1 ms are 139 years
)

// Entry is one pending deadline, meant to be embedded. The zero value is idle.
// Its fields belong to the wheel that it is added to.
type Entry struct {
	next, prev  *Entry
	due         int64 // in ticks since the wheel's start
	level, slot uint8
	pending     bool
	expire      func()
}

// Wheel holds pending entries. It is safe for concurrent use, guarded by mu.
// Expire functions run outside mu, one after another, on the clock's goroutine;
// they must be short.
type Wheel struct {
	clock clock.Clock
	start time.Time
	tick  time.Duration

	mu      sync.Mutex
	now     int64 // the last tick that was processed
	lists   [levels][slots]Entry
	used    [levels]uint64 // bit i: lists[level][i] is not empty
	count   int
	armed   clock.Timer
	armedAt int64 // the tick that armed fires at; meaningful while armed != nil
	closed  bool
}

// New returns a wheel that counts in ticks of the given length.
func New(c clock.Clock, tick time.Duration) *Wheel {
	w := &Wheel{clock: c, start: c.Now(), tick: tick}
	for l := range w.lists {
		for s := range w.lists[l] {
			head := &w.lists[l][s]
			head.next, head.prev = head, head
		}
	}
	return w
}

// Add makes e call expire once d has passed, unless Stop comes first. e must be
// idle. After Close nothing is ever called.
func (w *Wheel) Add(e *Entry, d time.Duration, expire func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	passed := w.clock.Now().Sub(w.start)
	if w.count == 0 {
		w.now = max(w.now, int64(passed/w.tick)) // nothing can be due between
	}
	passed += max(d, 0)
	e.due = max(int64((passed+w.tick-1)/w.tick), w.now+1)
	e.expire = expire
	e.pending = true
	w.count++
	w.place(e)
	w.arm()
}

// Stop takes e out and reports whether it was still pending: after true, expire
// is never called; after false, it was or is about to be.
func (w *Wheel) Stop(e *Entry) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.pending {
		return false
	}
	w.unlink(e)
	return true
}

// Len is the number of pending entries.
func (w *Wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Close drops every pending entry without calling it.
func (w *Wheel) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.armed != nil {
		w.armed.Stop()
		w.armed = nil
	}
}

// place links e into the finest level whose span still reaches its due tick.
func (w *Wheel) place(e *Entry) {
	level := 0
	for level < levels-1 && (e.due>>(slotBits*level))-(w.now>>(slotBits*level)) >= slots {
		level++
	}
	e.level = uint8(level)
	e.slot = uint8(e.due >> (slotBits * level) & (slots - 1))
	head := &w.lists[level][e.slot]
	e.prev, e.next = head.prev, head
	head.prev.next, head.prev = e, e
	w.used[level] |= 1 << e.slot
}

func (w *Wheel) unlink(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.next, e.prev, e.pending = nil, nil, false
	w.count--
	head := &w.lists[e.level][e.slot]
	if head.next == head {
		w.used[e.level] &^= 1 << e.slot
	}
}

// nextTick is the first tick after now at which a slot falls due or must move to
// a finer level; ok is false when nothing is pending.
func (w *Wheel) nextTick() (at int64, ok bool) {
	for level := range w.used {
		if w.used[level] == 0 {
			continue
		}
		shift := slotBits * level
		current := w.now >> shift
		ahead := bits.RotateLeft64(w.used[level], -int(current&(slots-1))-1)
		first := (current + 1 + int64(bits.TrailingZeros64(ahead))) << shift
		if !ok || first < at {
			at, ok = first, true
		}
	}
	return at, ok
}

// arm asks the clock for a callback at the next interesting tick.
func (w *Wheel) arm() {
	at, ok := w.nextTick()
	if !ok || w.armed != nil && w.armedAt <= at {
		return // an early callback finds nothing and arms again
	}
	if w.armed != nil {
		w.armed.Stop()
	}
	w.armedAt = at
	wait := w.start.Add(time.Duration(at) * w.tick).Sub(w.clock.Now())
	w.armed = w.clock.AfterFunc(max(wait, 0), w.fire)
}

// fire processes every tick up to the clock's and calls what fell due.
func (w *Wheel) fire() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.armed = nil
	due := w.advance(int64(w.clock.Now().Sub(w.start) / w.tick))
	w.arm()
	w.mu.Unlock()
	for _, expire := range due {
		expire()
	}
}

// advance moves now to the given tick and returns the calls that fell due.
func (w *Wheel) advance(to int64) (due []func()) {
	for {
		at, ok := w.nextTick()
		if !ok || at > to {
			break
		}
		w.now = at
		for level := levels - 1; level >= 0; level-- {
			shift := slotBits * level
			if at&(1<<shift-1) != 0 {
				continue
			}
			head := &w.lists[level][at>>shift&(slots-1)]
			for head.next != head {
				e := head.next
				w.unlink(e)
				if e.due <= at {
					due = append(due, e.expire)
					continue
				}
				e.pending = true
				w.count++
				w.place(e)
			}
		}
	}
	w.now = max(w.now, to)
	return due
}
