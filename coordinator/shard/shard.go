// Package shard hosts coordinators on the partitions of an internal topic: one
// state machine and one goroutine for each partition that this broker leads.
// It is Kafka's CoordinatorRuntime.
//
// A machine is pure. An operation looks at it and returns an Outcome: records to
// write, replies to give, timers to set. The shard appends the records, replays
// them into the machine at once, and goes on with the next operation; the replies
// leave and the timers start when the high watermark has passed everything that
// was appended before them, reads included, so nobody is told what could be lost.
//
// There is no undo. Where an append is refused after the machine had gone ahead of
// the log, or a commit fails, the machine is thrown away and made again from the
// log. Who waits then is told ErrNotCoordinator and comes back.
//
// Where there is a Store, it has some of the records in place of the log.
//
// The package knows no groups and no transactions, opens no files and no sockets:
// the partition is a Log, the bytes of a record are a Codec's.
package shard

import (
	"errors"
	"time"
)

// The errors of Submit and of replies that the shard gives by itself. What a Log
// returns passes through unchanged.
var (
	// ErrNotCoordinator: the partition is not led by this broker, or no longer
	// (Kafka's NOT_COORDINATOR).
	ErrNotCoordinator = errors.New("not the coordinator of this partition")
	// ErrLoadInProgress: the partition is being replayed
	// (COORDINATOR_LOAD_IN_PROGRESS).
	ErrLoadInProgress = errors.New("coordinator is loading")
	// ErrOverloaded: too many operations wait for this shard
	// (COORDINATOR_NOT_AVAILABLE).
	ErrOverloaded = errors.New("too many operations wait for the coordinator")
	// ErrCommitTimeout: the records were appended and not committed in time; they
	// may be committed later (COORDINATOR_NOT_AVAILABLE, into which Kafka turns its
	// REQUEST_TIMED_OUT for groups).
	ErrCommitTimeout = errors.New("not committed in time")
)

// Token names one request that waits for its reply. Tokens are never reused by a
// Host. Zero is nobody's: the token of operations that timers start.
type Token uint64

// Reply answers the request of a token. Err and Body may both be set: some errors
// come with a body.
type Reply struct {
	Token Token
	// Err is nil, an error of the machine, of the Log or of this package.
	Err error
	// Body is a pointer to the reply of the operation, nil where there is none.
	Body any
}

// TimerKey names a timer of a machine; setting a key again replaces its timer.
type TimerKey struct {
	// Kind is the machine's own.
	Kind int8
	// Name and Member say whose timer it is, such as a group and its member.
	Name, Member string
}

// Timer sets or cancels the timer of a key. It takes effect in two steps: the
// earlier timer of the key stops at once, and the new one starts to run when the
// replies of its outcome leave. So a client's time begins with its answer.
type Timer struct {
	Key TimerKey
	// After is how long the timer runs once started.
	After time.Duration
	// Cancel only stops the timer of Key.
	Cancel bool
}

// Outcome is what an operation wants done. A machine appends to its slices and
// keeps none of them; the shard owns and reuses the Outcome.
type Outcome[R any] struct {
	// Records are appended as one batch, all or none.
	Records []R
	Replies []Reply
	Timers  []Timer
	// RecordsOnly says that the machine changed nothing yet: all changes are in
	// Records. A refused append then needs no reload.
	RecordsOnly bool
	// Transactional writes Records as part of the producer's open transaction;
	// they are replayed with its id.
	Transactional bool
	ProducerID    int64
	ProducerEpoch int16
}

// Reply adds an answer.
func (o *Outcome[R]) Reply(token Token, body any, err error) {
	o.Replies = append(o.Replies, Reply{Token: token, Err: err, Body: body})
}

// Set adds a timer.
func (o *Outcome[R]) Set(key TimerKey, after time.Duration) {
	o.Timers = append(o.Timers, Timer{Key: key, After: after})
}

// Cancel adds the end of a timer.
func (o *Outcome[R]) Cancel(key TimerKey) {
	o.Timers = append(o.Timers, Timer{Key: key, Cancel: true})
}

// Reset empties the outcome for the next operation and keeps its memory.
func (o *Outcome[R]) Reset() {
	clear(o.Records)
	clear(o.Replies)
	clear(o.Timers)
	*o = Outcome[R]{Records: o.Records[:0], Replies: o.Replies[:0], Timers: o.Timers[:0]}
}

// Origin is where a replayed record stands in the log.
type Origin struct {
	// Offset is the record's.
	Offset int64
	// Transactional says that the record counts only once its producer's
	// transaction is committed.
	Transactional bool
	ProducerID    int64
	ProducerEpoch int16
}

// Machine is the state of one partition. The shard calls it from one goroutine at
// a time. It must be deterministic: time is an argument.
type Machine[R any] interface {
	// Replay applies a record of the log. It is called for every record in offset
	// order, while loading and right after each append.
	Replay(from Origin, r R)
	// EndTransaction applies the control record that ended a producer's
	// transaction on this partition.
	EndTransaction(producerID int64, producerEpoch int16, committed bool)
	// Loaded is called once, after the last replay of loading and before the first
	// operation; it sets the timers of what was found, and writes no records.
	Loaded(now time.Time, out *Outcome[R])
	// Expire is the operation of a timer that ran out. The key's timer is gone. Where
	// the log refuses its records, and they are all that it changed, it is called
	// again after the commit timeout.
	Expire(now time.Time, key TimerKey, out *Outcome[R])
}

// Operation is one request put to a machine. It runs on the shard's goroutine and
// must not block. The token is answered by this outcome or a later one.
type Operation[M any, R any] func(machine M, now time.Time, token Token, out *Outcome[R])
