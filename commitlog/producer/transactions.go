package producer

import (
	"fmt"
	"math"
	"slices"
)

// openTxn is a transaction that has data and no marker yet.
type openTxn struct{ producerID, first int64 }

// begin notes that the producer's transaction begins at offset first. Offsets
// ascend, so open stays sorted.
func (s *State) begin(e *entry, producerID, first int64) {
	e.txnFirstOffset = first
	s.open = append(s.open, openTxn{producerID, first})
}

// FirstOpen is where the oldest open transaction begins, math.MaxInt64 where none
// is open (Kafka's firstUndecidedOffset).
func (s *State) FirstOpen() int64 {
	if len(s.open) == 0 {
		return math.MaxInt64
	}
	return s.open[0].first
}

// Transactional says whether any of the producers has ended a transaction.
func (s *State) Transactional() bool {
	for _, e := range s.producers {
		if e.coordinatorEpoch != None {
			return true
		}
	}
	return false
}

// InTransaction says whether the producer has an open transaction at that epoch.
func (s *State) InTransaction(producerID int64, epoch int16) bool {
	return s.producers[producerID].inTransaction(epoch)
}

func (e *entry) inTransaction(epoch int16) bool {
	return e != nil && e.txnFirstOffset != None && e.epoch == epoch
}

// checkTransaction holds a batch that is next in its sequence against the state of
// its producer's transaction; e may be nil.
func (s *State) checkTransaction(e *entry, b *Batch) error {
	if !b.Transactional {
		if e != nil && e.txnFirstOffset != None {
			return fmt.Errorf("producer %d sends a batch outside its transaction, which is open since offset %d: %w",
				b.ProducerID, e.txnFirstOffset, ErrInvalidTxnState)
		}
		return nil
	}
	if e.inTransaction(b.Epoch) {
		return nil
	}
	return s.checkVerified(b)
}

// CheckMarker applies the rule for a marker before it is appended: neither the
// producer epoch nor the coordinator epoch goes back. With newer, as in transaction
// version 2 (KIP-890), a marker that ends a transaction has a greater producer
// epoch than its data.
func (s *State) CheckMarker(producerID int64, epoch int16, coordinatorEpoch int32, newer bool) error {
	if err := s.CheckEpoch(producerID, epoch); err != nil {
		return err
	}
	e := s.producers[producerID]
	switch {
	case e == nil:
		return nil
	case newer && e.inTransaction(epoch):
		return fmt.Errorf("producer %d has an open transaction of epoch %d, which a marker of the same epoch does not end: %w",
			producerID, epoch, ErrInvalidEpoch)
	case coordinatorEpoch < e.coordinatorEpoch:
		return fmt.Errorf("producer %d has a marker of coordinator epoch %d, a newer one than %d: %w",
			producerID, e.coordinatorEpoch, coordinatorEpoch, ErrCoordinatorFenced)
	}
	return nil
}

// RecordMarker notes the control batch that ended the producer's transaction, and
// returns where that began; ended is false where it had no data. It applies no
// rule.
func (s *State) RecordMarker(producerID int64, epoch int16, coordinatorEpoch int32, nowMs int64) (first int64, ended bool) {
	e := s.producer(producerID)
	if epoch != e.epoch {
		e.epoch, e.count = epoch, 0
	}
	first = e.txnFirstOffset
	e.coordinatorEpoch, e.lastSeenMs, e.txnFirstOffset = coordinatorEpoch, nowMs, None
	s.forget(producerID)
	if first == None {
		return None, false
	}
	s.open = slices.DeleteFunc(s.open, func(t openTxn) bool { return t.producerID == producerID })
	return first, true
}
