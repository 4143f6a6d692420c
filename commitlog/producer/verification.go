package producer

import "fmt"

// Guard stands for one verification of a transaction with its coordinator (Kafka's
// VerificationGuard, KIP-890): what was appended, or ended, since the verification
// began makes it void. The zero value verifies nothing.
type Guard uint64

// Unverified is the guard of a batch that need not be verified, as where
// transaction.partition.verification.enable is false.
const Unverified Guard = 1<<64 - 1

// maxPending bounds the verifications that are remembered. Who has more of them
// under way has them begin again.
const maxPending = 1 << 16

// verifications are those that were begun and led to no batch yet.
type verifications struct {
	last    Guard // the last one that was given
	pending map[int64]*verification
}

// verification is one of a producer id.
type verification struct {
	guard Guard
	epoch int16
	// lowest is the smallest first sequence that was seen of the epoch: what comes
	// behind it must wait for it.
	lowest  int32
	sinceMs int64
}

// StartVerification is called with a transactional batch that is to be appended;
// needed is false where its transaction is open here already. Otherwise the caller
// asks the coordinator whether the transaction has the partition in it, and if so
// appends with the guard. All batches of a producer that wait for an answer share
// it.
func (s *State) StartVerification(producerID int64, epoch int16, firstSequence int32, nowMs int64) (g Guard, needed bool) {
	if s.InTransaction(producerID, epoch) {
		return 0, false
	}
	v := s.pending[producerID]
	switch {
	case v == nil:
		if len(s.pending) >= maxPending {
			clear(s.pending)
		}
		s.last++
		v = &verification{guard: s.last, epoch: epoch, lowest: firstSequence, sinceMs: nowMs}
		s.pending[producerID] = v
	case epoch > v.epoch:
		v.epoch, v.lowest = epoch, firstSequence
	case epoch == v.epoch:
		v.lowest = min(v.lowest, firstSequence)
	}
	return v.guard, true
}

// checkVerified refuses the first batch of a transaction that was not verified, or
// that would overtake one that is being verified.
func (s *State) checkVerified(b *Batch) error {
	if b.Guard == Unverified {
		return nil
	}
	v := s.pending[b.ProducerID]
	if v == nil || v.guard != b.Guard {
		return fmt.Errorf("producer %d has no open transaction here that its coordinator confirms: %w", b.ProducerID, ErrInvalidTxnState)
	}
	if b.Epoch == v.epoch && b.FirstSequence > v.lowest {
		return fmt.Errorf("producer %d begins a transaction with sequence %d, %d is to come first: %w",
			b.ProducerID, b.FirstSequence, v.lowest, ErrOutOfOrderSequence)
	}
	return nil
}

// forget makes the guards of the producer void.
func (s *verifications) forget(producerID int64) {
	if len(s.pending) > 0 {
		delete(s.pending, producerID)
	}
}

// expire forgets what was begun expiryMs ago and led to nothing.
func (s *verifications) expire(nowMs, expiryMs int64) {
	for id, v := range s.pending {
		if nowMs-v.sinceMs >= expiryMs {
			delete(s.pending, id)
		}
	}
}
