package shard

import (
	"sync"

	"tidemark/protocol/record"
)

// work is one entry of a shard's queue: an operation or a control record.
type work[M any, R any] struct {
	operation Operation[M, R]
	marker    *record.EndTxnMarker
	newer     bool // of the marker, as in Log.AppendMarker
	token     Token
	done      func(Reply)
}

// mailbox is how other goroutines reach a shard's. It is guarded by mu; wake holds
// one element while there is something to look at.
type mailbox[M any, R any] struct {
	wake chan struct{}

	mu      sync.Mutex
	state   State
	ended   bool
	epoch   int32
	queue   []work[M, R]
	expired []*armed
}

// letter is what take found.
type letter[M any, R any] struct {
	queue   []work[M, R]
	expired []*armed
	ended   bool
}

// ring wakes the shard's goroutine.
func (b *mailbox[M, R]) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// enqueue adds w unless the shard does not take operations or has limit waiting.
func (b *mailbox[M, R]) enqueue(w work[M, R], limit int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended || b.state == Failed:
		return ErrNotCoordinator
	case b.state == Loading:
		return ErrLoadInProgress
	case len(b.queue) >= limit:
		return ErrOverloaded
	}
	b.queue = append(b.queue, w)
	b.ring()
	return nil
}

// expire notes that a timer fell due.
func (b *mailbox[M, R]) expire(a *armed) {
	b.mu.Lock()
	b.expired = append(b.expired, a)
	b.mu.Unlock()
	b.ring()
}

// end tells the goroutine to stop.
func (b *mailbox[M, R]) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.ring()
}

// take empties the mailbox; the slices of the earlier letter are used again.
func (b *mailbox[M, R]) take(earlier letter[M, R]) letter[M, R] {
	clear(earlier.queue)
	clear(earlier.expired)
	b.mu.Lock()
	defer b.mu.Unlock()
	l := letter[M, R]{queue: b.queue, expired: b.expired, ended: b.ended}
	b.queue, b.expired = earlier.queue[:0], earlier.expired[:0]
	return l
}

// become changes the state.
func (b *mailbox[M, R]) become(s State) {
	b.mu.Lock()
	b.state = s
	b.mu.Unlock()
}

func (b *mailbox[M, R]) now() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *mailbox[M, R]) leaderEpoch() int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

func (b *mailbox[M, R]) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}
