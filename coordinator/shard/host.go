package shard

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/clock"
	"tidemark/internal/timer"
	"tidemark/protocol/record"
)

// Options make a Host. All fields but Store and Failed are required.
type Options[M Machine[R], R any] struct {
	Clock clock.Clock
	// New returns an empty machine for a partition.
	New   func(partition int32) M
	Codec Codec[R]
	// Store, where given, keeps records that the log does not.
	Store Store[R]
	// CommitTimeout is how long replies wait for the high watermark
	// (offsets.commit.timeout.ms).
	CommitTimeout time.Duration
	// MaxQueued bounds the operations that wait for one shard's goroutine.
	MaxQueued int
	// LoadBytes is how much of the log is read at a time (offsets.load.buffer.size).
	LoadBytes int
	// Failed, where given, is told why a load failed or why the machine had to be
	// made again from the log. It must not block.
	Failed func(partition int32, err error)
}

// State is what a shard does.
type State int8

// The states of a shard.
const (
	// Inactive: this broker does not lead the partition.
	Inactive State = iota
	// Loading: the log is being replayed.
	Loading
	// Active: operations are taken.
	Active
	// Failed: the log could not be replayed; the next election tries again.
	Failed
)

// AnyEpoch, given to Resigned, ends a shard of whatever leader epoch.
const AnyEpoch int32 = -1

// Host runs the shards of one internal topic. It is safe for concurrent use.
type Host[M Machine[R], R any] struct {
	options Options[M, R]
	wheel   *timer.Wheel
	tokens  atomic.Uint64
	running sync.WaitGroup

	mu     sync.RWMutex
	shards map[int32]*shard[M, R] // guarded by mu
	closed bool                   // guarded by mu
}

// New returns a host without shards. Close it.
func New[M Machine[R], R any](o Options[M, R]) *Host[M, R] {
	return &Host[M, R]{options: o, wheel: timer.New(o.Clock, time.Millisecond), shards: map[int32]*shard[M, R]{}}
}

// Elected makes this broker the coordinator of a partition: a shard begins to load
// it from its log. An epoch that is not newer than the running shard's is ignored,
// unless that one failed. Where this broker goes on leading, which the next epoch
// with the same log says, the shard goes on too. It does not block.
//
// A shard that is still ending never holds up its successor, so that a session that
// is lost twice in a row while loading leaves nothing stuck (KAFKA-9307).
func (h *Host[M, R]) Elected(partition, leaderEpoch int32, log Log) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if s := h.shards[partition]; s != nil {
		if s.keepOn(leaderEpoch, log) {
			return
		}
		s.end()
	}
	s := newShard(h, partition, leaderEpoch, log)
	h.shards[partition] = s
	h.running.Go(s.run)
}

// Resigned ends the shard of a partition: whoever waits is told ErrNotCoordinator.
// The leader epoch is that of the state in which this broker does not lead; a state
// older than the running shard's is ignored. It does not block.
func (h *Host[M, R]) Resigned(partition, leaderEpoch int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.shards[partition]
	if s == nil || leaderEpoch != AnyEpoch && leaderEpoch < s.leaderEpoch() {
		return
	}
	delete(h.shards, partition)
	s.end()
}

// Submit puts an operation to the shard of a partition. done is called exactly once
// with the reply: at once where the operation is refused, otherwise on the shard's
// goroutine. It must not block, and must not call Close.
func (h *Host[M, R]) Submit(partition int32, operation Operation[M, R], done func(Reply)) {
	h.submit(partition, work[M, R]{operation: operation, done: done})
}

// CompleteTransaction writes the control record that ends a producer's transaction
// on a partition and applies it to the machine (WriteTxnMarkers); newer is
// Log.AppendMarker's. done is called as in Submit.
func (h *Host[M, R]) CompleteTransaction(partition int32, marker record.EndTxnMarker, newer bool, done func(Reply)) {
	h.submit(partition, work[M, R]{marker: &marker, newer: newer, done: done})
}

func (h *Host[M, R]) submit(partition int32, w work[M, R]) {
	h.mu.RLock()
	s := h.shards[partition]
	h.mu.RUnlock()
	if s == nil {
		w.done(Reply{Err: ErrNotCoordinator})
		return
	}
	w.token = Token(h.tokens.Add(1))
	if err := s.enqueue(w); err != nil {
		w.done(Reply{Token: w.token, Err: err})
	}
}

// State tells what the shard of a partition does.
func (h *Host[M, R]) State(partition int32) State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.shards[partition]; s != nil {
		return s.now()
	}
	return Inactive
}

// Partitions returns, in order, the partitions that have a shard, in whatever state.
func (h *Host[M, R]) Partitions() []int32 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var list []int32
	for p := range h.shards {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// Close ends all shards and waits for them. Nothing is called afterwards.
func (h *Host[M, R]) Close() {
	h.mu.Lock()
	h.closed = true
	for p, s := range h.shards {
		delete(h.shards, p)
		s.end()
	}
	h.mu.Unlock()
	h.running.Wait()
	h.wheel.Close()
}
