package shard

import (
	"time"

	"tidemark/internal/clock"
)

// Options make a Host. All fields but Failed are required.
type Options[M Machine[R], R any] struct {
	Clock clock.Clock
	// New returns an empty machine for a partition.
	New   func(partition int32) M
	Codec Codec[R]
	// CommitTimeout is how long replies wait for the high watermark
	// (offsets.commit.timeout.ms).
	CommitTimeout time.Duration
	// MaxQueued bounds the operations that wait for one shard.
	MaxQueued int
	// LoadBytes is how much of the log is read at a time (offsets.load.buffer.size).
	LoadBytes int
	// Failed, where given, is told of a load that failed or a record that cannot be
	// decoded. It must not block.
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
	// Failed: loading failed; the next election tries again.
	Failed
)

// Host runs the shards of one internal topic. It is safe for concurrent use.
type Host[M Machine[R], R any] struct {
	options Options[M, R]
}

// New returns a host without shards.
func New[M Machine[R], R any](o Options[M, R]) *Host[M, R] { return &Host[M, R]{options: o} }
