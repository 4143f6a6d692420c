package producer

import (
	"errors"
	"math"
	"testing"
)

// inTxn is a transactional batch of producer 1, of one record.
func inTxn(epoch int16, sequence int32, offset int64, g Guard) *Batch {
	return &Batch{ProducerID: 1, Epoch: epoch, FirstSequence: sequence, LastSequence: sequence,
		BaseOffset: offset, LastOffset: offset, Transactional: true, Guard: g}
}

// expectCheck applies the rule and compares the refusal.
func expectCheck(t *testing.T, s *State, b *Batch, want error, why string) {
	t.Helper()
	if _, err := s.Check(b); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", why, err, want)
	}
}

// TestVerification follows a transaction and what comes late (KIP-890).
func TestVerification(t *testing.T) {
	s := NewState()
	expectCheck(t, s, inTxn(0, 0, 0, 0), ErrInvalidTxnState, "nobody was asked")
	expectCheck(t, s, inTxn(0, 0, 0, Unverified), nil, "nobody need be asked")

	g, needed := s.StartVerification(1, 0, 0, 5)
	if !needed || g == 0 {
		t.Fatalf("guard %d, needed %v for the first batch", g, needed)
	}
	if again, needed := s.StartVerification(1, 0, 1, 6); again != g || !needed {
		t.Errorf("guard %d, %v for a second batch that waits, want %d", again, needed, g)
	}
	expectCheck(t, s, inTxn(0, 1, 0, g), ErrOutOfOrderSequence, "the first batch waits, the second overtakes it")
	expectCheck(t, s, inTxn(0, 0, 0, g), nil, "verified")
	s.Record(inTxn(0, 0, 0, 0), 7)
	expectCheck(t, s, inTxn(0, 1, 1, 0), nil, "the transaction is open")
	if _, needed := s.StartVerification(1, 0, 1, 8); needed {
		t.Error("an open transaction is to be verified")
	}
	plain := inTxn(0, 1, 1, 0)
	plain.Transactional = false
	expectCheck(t, s, plain, ErrInvalidTxnState, "a batch outside the open transaction")

	if first, ended := s.RecordMarker(1, 0, 3, 9); first != 0 || !ended {
		t.Errorf("the transaction began at %d, ended %v", first, ended)
	}
	expectCheck(t, s, inTxn(0, 1, 2, g), ErrInvalidTxnState, "late, with the guard of the transaction before")
	g2, _ := s.StartVerification(1, 0, 1, 10)
	s.RecordMarker(1, 0, 3, 11)
	expectCheck(t, s, inTxn(0, 1, 2, g2), ErrInvalidTxnState, "ended while the coordinator was asked")
	g3, _ := s.StartVerification(1, 0, 1, 12)
	s.Record(plain, 13)
	expectCheck(t, s, inTxn(0, 2, 2, g3), ErrInvalidTxnState, "appended to while the coordinator was asked")
	g4, _ := s.StartVerification(1, 0, 2, 14)
	s.Load(s.Entries())
	if g5, _ := s.StartVerification(1, 0, 2, 15); g5 == g4 {
		t.Error("a guard from before a truncation is good after it")
	}
}

// TestVerificationsAreBounded: who begins many leaves room.
func TestVerificationsAreBounded(t *testing.T) {
	s := NewState()
	for id := range int64(3 * maxPending) {
		s.StartVerification(id, 0, 0, id)
		if len(s.pending) > maxPending {
			t.Fatalf("%d are remembered", len(s.pending))
		}
	}
	s.Expire(1<<40, 1)
	if len(s.pending) != 0 {
		t.Errorf("%d are left of the expired", len(s.pending))
	}
}

func TestMarkerRule(t *testing.T) {
	s := NewState()
	s.Record(inTxn(2, 0, 10, 0), 0)
	for _, c := range []struct {
		epoch       int16
		coordinator int32
		newer       bool
		want        error
		why         string
	}{
		{2, 5, false, nil, "of the epoch of the data"},
		{3, 5, false, nil, "of a newer one"},
		{1, 5, false, ErrInvalidEpoch, "of an older one"},
		{2, 5, true, ErrInvalidEpoch, "of the epoch of the data in version 2, late"},
		{3, 5, true, nil, "of a newer one in version 2"},
	} {
		if err := s.CheckMarker(1, c.epoch, c.coordinator, c.newer); !errors.Is(err, c.want) {
			t.Errorf("a marker %s: %v, want %v", c.why, err, c.want)
		}
	}
	s.RecordMarker(1, 3, 5, 0)
	if err := s.CheckMarker(1, 3, 4, false); !errors.Is(err, ErrCoordinatorFenced) {
		t.Errorf("a marker of an older coordinator: %v", err)
	}
	if err := s.CheckMarker(1, 3, 6, true); err != nil {
		t.Errorf("the same marker of the next coordinator: %v", err)
	}
	if err := s.CheckMarker(7, 0, 0, true); err != nil {
		t.Errorf("a marker of an unknown producer: %v", err)
	}
	expectCheck(t, s, inTxn(3, 1, 11, Unverified), ErrOutOfOrderSequence, "an epoch that a marker began starts at 0")
	expectCheck(t, s, inTxn(3, 0, 11, Unverified), nil, "so")
}

// TestFirstOpen follows the oldest open transaction, through a snapshot too.
func TestFirstOpen(t *testing.T) {
	s := NewState()
	if s.FirstOpen() != math.MaxInt64 || s.Transactional() {
		t.Error("a new state has transactions")
	}
	for id := range int64(3) {
		b := inTxn(0, 0, 10+id, 0)
		b.ProducerID = id
		s.Record(b, 0)
	}
	s.RecordMarker(1, 0, 0, 0)
	entries, err := Decode(Encode(s.Entries()))
	if err != nil {
		t.Fatal(err)
	}
	s.Load(entries)
	if s.FirstOpen() != 10 || !s.InTransaction(0, 0) || s.InTransaction(1, 0) || s.InTransaction(0, 1) || !s.Transactional() {
		t.Errorf("first open %d, want 10 of producer 0", s.FirstOpen())
	}
	s.RecordMarker(0, 0, 0, 0)
	if s.FirstOpen() != 12 {
		t.Errorf("first open %d, want 12", s.FirstOpen())
	}
}

// TestNoSequences: batches of a coordinator have none, before and after a snapshot.
func TestNoSequences(t *testing.T) {
	s := NewState()
	s.Record(&Batch{ProducerID: 1, FirstSequence: None, LastSequence: None, BaseOffset: 4, LastOffset: 6, Transactional: true}, 0)
	s.Load(s.Entries())
	if got := s.producers[1].batches[0]; got.FirstSequence != None || got.LastSequence != None || got.BaseOffset != 4 {
		t.Errorf("%+v", got)
	}
}
