// Package producer keeps what a partition must remember about idempotent and
// transactional producers: per producer id its epoch, its last five batches and
// where its open transaction began, so that a retry is answered instead of
// appended, a gap is refused, and nothing joins a transaction that its
// coordinator does not know of (Kafka's ProducerStateManager and
// ProducerAppendInfo, KIP-98, KIP-890). Snapshots have Kafka's bytes; see
// docs/formats/producer-snapshot.md.
//
// The package is pure: no clock, no files. A State is not safe for concurrent
// use; the log guards it with its append lock.
package producer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The refusals of Check and CheckMarker.
var (
	// ErrOutOfOrderSequence: the batch leaves a gap, repeats something older
	// than the last five batches, or starts an epoch at a sequence other than 0.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidEpoch: a newer producer epoch has been seen.
	ErrInvalidEpoch = errors.New("invalid producer epoch")
	// ErrInvalidTxnState: a transactional batch outside a transaction that the
	// coordinator knows of, or another one inside.
	ErrInvalidTxnState = errors.New("batch does not match the state of its producer's transaction")
	// ErrCoordinatorFenced: a marker of a newer transaction coordinator has been
	// seen.
	ErrCoordinatorFenced = errors.New("transaction coordinator is fenced")
)

// Window is how many batches of a producer are remembered, and so how many
// requests it may have in flight (max.in.flight.requests.per.connection).
const Window = 5

// None stands for an absent epoch, sequence, offset or timestamp.
const None = -1

// Batch is what an append says about its producer.
type Batch struct {
	ProducerID                  int64
	Epoch                       int16
	FirstSequence, LastSequence int32
	// BaseOffset and LastOffset are the offsets given; Check does not look at
	// them.
	BaseOffset, LastOffset int64
	TimestampMs            int64
	Transactional          bool
	// Guard proves that a transactional batch was verified; Check alone looks at
	// it.
	Guard Guard
}

// Appended is a batch of a producer that is in the log.
type Appended struct {
	FirstSequence, LastSequence int32
	BaseOffset, LastOffset      int64
	TimestampMs                 int64
}

// State is the producers of one partition.
type State struct {
	producers map[int64]*entry
	// open are the open transactions by where they began: each producer that has a
	// txnFirstOffset, once.
	open []openTxn
	verifications
}

// entry is one producer. batches[:count] are its last batches, oldest first.
type entry struct {
	epoch            int16
	count            int8
	batches          [Window]Appended
	lastSeenMs       int64 // by the broker's clock
	coordinatorEpoch int32
	txnFirstOffset   int64 // None outside a transaction
}

// NewState returns a state that knows no producer.
func NewState() *State {
	return &State{producers: map[int64]*entry{}, verifications: verifications{pending: map[int64]*verification{}}}
}

// Check applies the rule for a client's batch before it is appended. If the
// batch is one of the last five of its producer, that one is returned and
// nothing is to be appended. Without a state for the producer, after retention
// or expiry took it, any sequence is accepted, unless a smaller one is being
// verified.
func (s *State) Check(b *Batch) (duplicate *Appended, err error) {
	e := s.producers[b.ProducerID]
	if e == nil {
		return nil, s.checkTransaction(e, b)
	}
	if b.Epoch == e.epoch {
		for i := range e.batches[:e.count] {
			if a := &e.batches[i]; a.FirstSequence == b.FirstSequence && a.LastSequence == b.LastSequence {
				return a, nil
			}
		}
	}
	if err := s.CheckEpoch(b.ProducerID, b.Epoch); err != nil {
		return nil, err
	}
	if b.Epoch > e.epoch {
		if b.FirstSequence != 0 && e.epoch != None {
			return nil, fmt.Errorf("producer %d starts epoch %d at sequence %d, not 0: %w",
				b.ProducerID, b.Epoch, b.FirstSequence, ErrOutOfOrderSequence)
		}
		return nil, s.checkTransaction(e, b)
	}
	if last := e.lastSequence(); !follows(last, b.FirstSequence) {
		return nil, fmt.Errorf("producer %d sends sequence %d after %d: %w",
			b.ProducerID, b.FirstSequence, last, ErrOutOfOrderSequence)
	}
	return nil, s.checkTransaction(e, b)
}

// CheckEpoch applies the part of the rule that holds for coordinators too: a
// producer epoch never goes back.
func (s *State) CheckEpoch(producerID int64, epoch int16) error {
	if e := s.producers[producerID]; e != nil && epoch < e.epoch {
		return fmt.Errorf("producer %d has epoch %d, a newer one than %d: %w", producerID, e.epoch, epoch, ErrInvalidEpoch)
	}
	return nil
}

func (e *entry) lastSequence() int32 {
	if e.count == 0 {
		return None
	}
	return e.batches[e.count-1].LastSequence
}

// follows says whether next may come after last; None before the first batch
// makes 0 the next one.
func follows(last, next int32) bool {
	if last == math.MaxInt32 {
		return next == 0
	}
	return next == last+1
}

// Record notes an appended batch, with nowMs as the time its producer was last
// seen. It applies no rule: a follower and a recovery take the leader's word.
func (s *State) Record(b *Batch, nowMs int64) {
	e := s.producer(b.ProducerID)
	if b.Epoch != e.epoch {
		e.epoch, e.count = b.Epoch, 0
	}
	if e.count == Window {
		copy(e.batches[:], e.batches[1:])
		e.count--
	}
	e.batches[e.count] = Appended{
		FirstSequence: b.FirstSequence, LastSequence: b.LastSequence,
		BaseOffset: b.BaseOffset, LastOffset: b.LastOffset, TimestampMs: b.TimestampMs,
	}
	e.count++
	e.lastSeenMs = nowMs
	if b.Transactional && e.txnFirstOffset == None {
		s.begin(e, b.ProducerID, b.BaseOffset)
	}
	s.forget(b.ProducerID)
}

func (s *State) producer(id int64) *entry {
	e := s.producers[id]
	if e == nil {
		e = &entry{epoch: None, coordinatorEpoch: None, txnFirstOffset: None}
		s.producers[id] = e
	}
	return e
}

// Expire forgets the producers not seen for expiryMs, but for those in a
// transaction, and returns how many. The time is the broker's: the timestamps
// of records are their senders' business.
func (s *State) Expire(nowMs, expiryMs int64) int {
	before := len(s.producers)
	for id, e := range s.producers {
		if e.txnFirstOffset == None && nowMs-e.lastSeenMs >= expiryMs {
			delete(s.producers, id)
		}
	}
	s.expire(nowMs, expiryMs)
	return before - len(s.producers)
}

// Entries lists the producers by id, as a snapshot keeps them.
func (s *State) Entries() []Entry {
	entries := make([]Entry, 0, len(s.producers))
	for id, e := range s.producers {
		x := Entry{
			ProducerID: id, Epoch: e.epoch, LastSequence: None, LastOffset: None,
			TimestampMs: e.lastSeenMs, CoordinatorEpoch: e.coordinatorEpoch, CurrentTxnFirstOffset: e.txnFirstOffset,
		}
		if e.count > 0 {
			last := e.batches[e.count-1]
			x.LastSequence, x.LastOffset = last.LastSequence, last.LastOffset
			x.OffsetDelta = int32(last.LastOffset - last.BaseOffset)
		}
		entries = append(entries, x)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return entries
}

// Load replaces the state by the entries of a snapshot, which know the last
// batch of each producer only.
func (s *State) Load(entries []Entry) {
	clear(s.producers)
	clear(s.pending)
	s.open = s.open[:0]
	for _, x := range entries {
		e := &entry{
			epoch: x.Epoch, lastSeenMs: x.TimestampMs,
			coordinatorEpoch: x.CoordinatorEpoch, txnFirstOffset: x.CurrentTxnFirstOffset,
		}
		if x.LastOffset >= 0 {
			e.count = 1
			e.batches[0] = Appended{
				FirstSequence: minusSequence(x.LastSequence, x.OffsetDelta), LastSequence: x.LastSequence,
				BaseOffset: x.LastOffset - int64(x.OffsetDelta), LastOffset: x.LastOffset, TimestampMs: x.TimestampMs,
			}
		}
		s.producers[x.ProducerID] = e
		if e.txnFirstOffset != None {
			s.open = append(s.open, openTxn{x.ProducerID, e.txnFirstOffset})
		}
	}
	slices.SortFunc(s.open, func(a, b openTxn) int { return cmp.Compare(a.first, b.first) })
}

// minusSequence steps back over the wrap from 0 to the largest sequence; a batch
// without sequences has none.
func minusSequence(sequence, steps int32) int32 {
	if sequence == None {
		return None
	}
	if sequence >= steps {
		return sequence - steps
	}
	return math.MaxInt32 - (steps - sequence) + 1
}
