package commitlog

import (
	"sync"
	"sync/atomic"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// DropBehind, all of it in the background and none of it a duty: appends wait for
// nothing here, and an error leaves pages where they are.
//
// A log that grows through the page cache makes the system look for free pages,
// and write back dirty ones, in the middle of appends. Here the way to the disk
// begins as soon as a window is full, and what lies keptBytes behind the end of the
// log, clean by then, is dropped: the next window finds the pages just given back.
//
// In a broker under 64 KiB batches on eight partitions, the last five of fifteen
// seconds took 1.8 million records a second with the pages kept and 6.5 million so
// (buffered), 1.9 and 5.4 (mapped); the first five 4.3 and 6.7, 5.2 and 5.6. Broker
// time a million records fell from 0.21 to 0.09 core-seconds. One run each, other
// programs on 63 % of the machine.
//
// Whoever fetches what was dropped reads it in order, in most cases: the windows
// ahead of a reader are read ahead, and those it has left are dropped again.
const (
	// windowBytes is the unit of writing back and of dropping: large enough for
	// the disk to stream, small enough that a sync finds little left to write.
	windowBytes = 16 << 20
	// keptBytes is what stays cached at the end of a log: one window being
	// filled, two on their way to the disk, and one of slack, so that dropping
	// seldom waits for the disk and followers and consumers that keep up never do.
	keptBytes = 4 * windowBytes
	// aheadBytes is how far reading ahead goes beyond a reader.
	aheadBytes = 2 * windowBytes
)

// cacheState is what a log keeps for DropBehind.
type cacheState struct {
	// due is the position of the active segment at which there is something to
	// do; guarded by Log.mu.
	due int64
	// behind tends to what was appended, ahead to what is read; nil where the
	// log was given no Turns.
	behind, ahead *Turn

	mu sync.Mutex
	// reads are the segments whose read-ahead waits; guarded by mu.
	reads []*segment
}

// segmentCache is what a segment keeps for DropBehind. It is about the segment's
// bytes in this life of the log: what was there at Open counts as dropped.
type segmentCache struct {
	// started is where writing back has got to; of the task behind alone.
	started int64
	// dropped is where dropping has got to.
	dropped atomic.Int64
	// wanted is how far a reader has asked to read ahead, asked whether that
	// waits to be done.
	wanted atomic.Int64
	asked  atomic.Bool
	// done is how far reading ahead has got; of the task ahead alone.
	done int64
}

// joinBackground gives the log its turns.
func (l *Log) joinBackground(background *Turns) {
	if background == nil {
		return
	}
	l.cache.behind, l.cache.ahead = background.Join(l.tendBehind), background.Join(l.tendAhead)
}

// tendAt has the cache tended to if position has entered a new window; mu is held.
func (l *Log) tendAt(position int64) {
	if position < l.cache.due {
		return
	}
	l.cache.due = position/windowBytes*windowBytes + windowBytes
	if position >= windowBytes && l.dropsBehind() {
		l.cache.behind.Ask()
	}
}

// tendRolled starts the windows of a new active segment; mu is held.
func (l *Log) tendRolled() {
	l.cache.due = windowBytes
	if l.dropsBehind() {
		l.cache.behind.Ask()
	}
}

func (l *Log) dropsBehind() bool {
	return l.cache.behind != nil && l.options.Load().Cache == DropBehind
}

// tendBehind writes back the full windows and drops what lies behind the kept
// ones, newest segment first, back to one that is done with.
func (l *Log) tendBehind() {
	v := l.snapshot()
	after := int64(0) // bytes of the log behind the segment
	for i := len(v.segments) - 1; i >= 0; i-- {
		s, end := v.segments[i], v.endOf(i)
		full := end
		if i == len(v.segments)-1 {
			full = end / windowBytes * windowBytes
		} else if s.cache.dropped.Load() >= end {
			return
		}
		s.tendBehind(full, min(full, (end+after-keptBytes)/windowBytes*windowBytes))
		after += end
	}
}

// tendBehind starts writing back up to full and drops up to past.
func (s *segment) tendBehind(full, past int64) {
	if s.acquire() != nil {
		return // Removed meanwhile, or its next user learns of it.
	}
	defer s.release()
	c := &s.cache
	if c.started < full {
		_ = vfs.StartWriteback(s.file, c.started, full)
		c.started = full
	}
	for from := c.dropped.Load(); from < past; from = c.dropped.Load() {
		to := min(from/windowBytes*windowBytes+windowBytes, past)
		if vfs.AwaitWriteback(s.file, from, to) != nil {
			return
		}
		s.drop(from, to)
		c.dropped.Store(to)
	}
}

// drop lets go of clean pages; s is acquired.
func (s *segment) drop(from, to int64) {
	if holder, ok := s.reader.(engines.PageHolder); ok {
		holder.LetGo(from, to)
	}
	_ = vfs.DropCache(s.file, from, to)
}

// readsAt has the windows ahead of a reader at position read, if their pages were
// dropped; s is acquired.
func (l *Log) readsAt(s *segment, position int64) {
	c := &s.cache
	if !l.dropsBehind() || position >= c.dropped.Load() {
		return
	}
	wanted := c.wanted.Load()
	if position+aheadBytes/2 < wanted && position+2*aheadBytes >= wanted {
		return // Within what was asked for.
	}
	c.wanted.Store(position/windowBytes*windowBytes + aheadBytes)
	if c.asked.CompareAndSwap(false, true) {
		l.cache.mu.Lock()
		l.cache.reads = append(l.cache.reads, s)
		l.cache.mu.Unlock()
		l.cache.ahead.Ask()
	}
}

// tendAhead reads ahead for whoever asked.
func (l *Log) tendAhead() {
	l.cache.mu.Lock()
	reads := l.cache.reads
	l.cache.reads = nil
	l.cache.mu.Unlock()
	for _, s := range reads {
		s.tendAhead()
	}
}

func (s *segment) tendAhead() {
	c := &s.cache
	c.asked.Store(false)
	if s.acquire() != nil {
		return // As above.
	}
	defer s.release()
	to := c.wanted.Load()
	from := to - aheadBytes
	if c.done > from && c.done < to {
		from = c.done // The reader goes on where it was.
	}
	dropped := c.dropped.Load()
	_ = vfs.ReadAhead(s.file, from, min(to, dropped))
	c.done = to
	// What a reader has left for two windows nobody reads, in most cases.
	if past := min(to-aheadBytes-2*windowBytes, dropped); past > 0 {
		s.drop(max(0, past-2*windowBytes), past)
	}
}
