package producer

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is the rule with all batches ever appended of one producer and epoch.
type model struct {
	epoch   int16
	batches []Batch
}

func (m *model) check(b Batch) (duplicate bool, err error) {
	recent := m.batches[max(0, len(m.batches)-Window):]
	if m.epoch >= 0 && b.Epoch == m.epoch {
		for _, r := range recent {
			if r.FirstSequence == b.FirstSequence && r.LastSequence == b.LastSequence {
				return true, nil
			}
		}
	}
	switch {
	case m.epoch < 0:
		return false, nil
	case b.Epoch < m.epoch:
		return false, ErrInvalidEpoch
	case b.Epoch > m.epoch && b.FirstSequence != 0:
		return false, ErrOutOfOrderSequence
	case b.Epoch > m.epoch:
		return false, nil
	}
	last := m.batches[len(m.batches)-1].LastSequence
	if uint32(b.FirstSequence) != (uint32(last)+1)&math.MaxInt32 {
		return false, ErrOutOfOrderSequence
	}
	return false, nil
}

func TestCheckAgainstAllBatches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, m, offset := NewState(), model{epoch: None}, int64(0)
		next := int32(math.MaxInt32 - 20) // Most runs cross the wrap.
		rt.Repeat(map[string]func(*rapid.T){
			"send": func(rt *rapid.T) {
				count := rapid.Int32Range(1, 4).Draw(rt, "count")
				first := next + rapid.SampledFrom([]int32{0, 0, 0, -1, 1, -3, -20}).Draw(rt, "shift")
				if first < 0 {
					first = 0
				}
				epoch := max(0, m.epoch) + rapid.SampledFrom([]int16{0, 0, 0, 0, 1, -1}).Draw(rt, "epoch")
				if epoch < 0 {
					return
				}
				b := Batch{ProducerID: 9, Epoch: epoch, FirstSequence: first, LastSequence: int32((uint32(first) + uint32(count) - 1) & math.MaxInt32),
					BaseOffset: offset, LastOffset: offset + int64(count) - 1}
				wantDuplicate, wantErr := m.check(b)
				duplicate, err := s.Check(&b)
				if (duplicate != nil) != wantDuplicate || !errors.Is(err, wantErr) {
					rt.Fatalf("%+v: duplicate %+v, %v, want %v, %v", b, duplicate, err, wantDuplicate, wantErr)
				}
				if wantDuplicate || wantErr != nil {
					return
				}
				s.Record(&b, 1)
				if b.Epoch != m.epoch {
					m = model{epoch: b.Epoch}
				}
				m.batches = append(m.batches, b)
				next = int32((uint32(b.LastSequence) + 1) & math.MaxInt32)
				offset += int64(count)
			},
			"restart": func(rt *rapid.T) {
				entries, err := Decode(Encode(s.Entries()))
				if err != nil {
					rt.Fatal(err)
				}
				s.Load(entries)
				m.batches = m.batches[max(0, len(m.batches)-1):]
			},
		})
	})
}

func TestExpiryGoesByTheBrokersClock(t *testing.T) {
	s := NewState()
	s.Record(&Batch{ProducerID: 1, TimestampMs: -1}, 1000)
	s.Record(&Batch{ProducerID: 2, TimestampMs: 1 << 50}, 400)
	s.Record(&Batch{ProducerID: 3, BaseOffset: 7, Transactional: true}, 0)
	if n := s.Expire(1000, 500); n != 1 {
		t.Errorf("%d expired, want producer 2 alone: 3 is in a transaction", n)
	}
	s.RecordMarker(3, 0, 5, 100)
	if n := s.Expire(1000, 500); n != 1 || len(s.Entries()) != 1 || s.Entries()[0].ProducerID != 1 {
		t.Errorf("%d expired, %+v left, want 1 left", n, s.Entries())
	}
}

func TestMarkers(t *testing.T) {
	s := NewState()
	s.Record(&Batch{ProducerID: 4, Epoch: 2, LastSequence: 3, BaseOffset: 10, LastOffset: 13, Transactional: true}, 50)
	s.Record(&Batch{ProducerID: 4, Epoch: 2, FirstSequence: 4, LastSequence: 4, BaseOffset: 14, LastOffset: 14, Transactional: true}, 60)
	want := Entry{ProducerID: 4, Epoch: 2, LastSequence: 4, LastOffset: 14, TimestampMs: 60, CoordinatorEpoch: None, CurrentTxnFirstOffset: 10}
	if diff := cmp.Diff([]Entry{want}, s.Entries()); diff != "" {
		t.Errorf("in a transaction (-want +got):\n%s", diff)
	}
	s.RecordMarker(4, 3, 8, 70)
	want = Entry{ProducerID: 4, Epoch: 3, LastSequence: None, LastOffset: None, TimestampMs: 70, CoordinatorEpoch: 8, CurrentTxnFirstOffset: None}
	if diff := cmp.Diff([]Entry{want}, s.Entries()); diff != "" {
		t.Errorf("after a marker of a newer epoch (-want +got):\n%s", diff)
	}
	if err := s.CheckEpoch(4, 2); !errors.Is(err, ErrInvalidEpoch) {
		t.Errorf("an epoch from before the marker: %v, want ErrInvalidEpoch", err)
	}
}

// TestSnapshotBytes pins the layout of Kafka's ProducerSnapshot version 1.
func TestSnapshotBytes(t *testing.T) {
	got := hex.EncodeToString(Encode([]Entry{{
		ProducerID: 1, Epoch: 2, LastSequence: 3, LastOffset: 4, OffsetDelta: 5, TimestampMs: 6, CoordinatorEpoch: -1, CurrentTxnFirstOffset: -1,
	}}))
	want := "0001" + "d60ce518" + "00000001" +
		"0000000000000001" + "0002" + "00000003" + "0000000000000004" + "00000005" + "0000000000000006" + "ffffffff" + "ffffffffffffffff"
	if got != want {
		t.Errorf("snapshot\n%s, want\n%s", got, want)
	}
	if empty := hex.EncodeToString(Encode(nil)); empty != "000148674bc700000000" {
		t.Errorf("empty snapshot %s", empty)
	}
}

// FuzzDecode: whatever decodes encodes to the same bytes and loads.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(nil))
	f.Add(Encode([]Entry{{ProducerID: 1, Epoch: 2, LastSequence: 3, LastOffset: 9, OffsetDelta: 5}, {ProducerID: 2, LastOffset: None}}))
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if diff := cmp.Diff(data, Encode(entries)); diff != "" {
			t.Fatalf("encoded anew (-want +got):\n%s", diff)
		}
		s := NewState()
		s.Load(entries)
		s.Expire(1<<62, 1)
	})
}
