package ledger

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := append(make([]byte, HeaderBytes), rapid.SliceOf(rapid.Byte()).Draw(t, "body")...)
		want := Record{Run: rapid.Uint32().Draw(t, "run"), Stream: Stream{rapid.Uint16().Draw(t, "topic"), rapid.Uint16().Draw(t, "producer"), rapid.Int32().Draw(t, "partition")},
			Seq: rapid.Uint64().Draw(t, "seq"), SentNs: rapid.Int64().Draw(t, "sent")}
		want.Put(value)
		got, err := Parse(value)
		if err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		bit := rapid.IntRange(0, 8*len(value)-1).Draw(t, "bit")
		value[bit/8] ^= 1 << (bit % 8)
		if _, err := Parse(value); !errors.Is(err, ErrChecksum) {
			t.Fatalf("with bit %d turned: error %v, want %v", bit, err, ErrChecksum)
		}
	})
}

func FuzzParse(f *testing.F) {
	value := make([]byte, HeaderBytes+3)
	Record{Run: 1, Seq: 2}.Put(value)
	f.Add(value)
	f.Add(value[:HeaderBytes-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if (err == nil) != (len(data) >= HeaderBytes && checksum(data) == big.Uint32(data[atCRC:])) {
			t.Fatalf("%d bytes: %v", len(data), err)
		}
		if err == nil {
			again := append([]byte(nil), data...)
			r.Put(again)
			if cmp.Diff(data, again) != "" {
				t.Fatal("a record that was read is not written back as it was")
			}
		}
	})
}

// members is the twin of Spans.
type members map[uint64]bool

func (m members) check(t *rapid.T, s Spans, limit uint64) {
	for i, p := range s {
		if p.First >= p.End || i > 0 && s[i-1].End >= p.First {
			t.Fatalf("not disjoint spans in rising order: %v", s)
		}
	}
	for seq := range limit {
		if s.Contains(seq) != m[seq] {
			t.Fatalf("%v contains %d: %v, want %v", s, seq, s.Contains(seq), m[seq])
		}
	}
	if s.Count() != uint64(len(m)) {
		t.Fatalf("%v has %d members, want %d", s, s.Count(), len(m))
	}
}

func TestSpansAgainstASet(t *testing.T) {
	const limit = 40
	seq := rapid.Uint64Range(0, limit-1)
	rapid.Check(t, func(t *rapid.T) {
		var sets [2]Spans
		twins := [2]members{{}, {}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := rapid.IntRange(0, 1).Draw(t, "set")
			if rapid.Bool().Draw(t, "add") {
				p := Span{First: seq.Draw(t, "first"), End: seq.Draw(t, "end")}
				sets[k] = sets[k].Add(p)
				for i := p.First; i < p.End; i++ {
					twins[k][i] = true
				}
			} else {
				x := seq.Draw(t, "seq")
				var was bool
				if sets[k], was = sets[k].Remove(x); was != twins[k][x] {
					t.Fatalf("removing %d says %v, want %v", x, was, twins[k][x])
				}
				delete(twins[k], x)
			}
			twins[k].check(t, sets[k], limit)
		}
		both := members{}
		for x := range twins[0] {
			if twins[1][x] {
				both[x] = true
			}
		}
		both.check(t, sets[0].Intersect(sets[1]), limit)
	})
}

// TestAccountAgainstAMap acknowledges in any order and in pieces of any size.
func TestAccountAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := New(7).Account(Stream{Topic: 1})
		sent := rapid.IntRange(1, 60).Draw(t, "sent")
		value := make([]byte, HeaderBytes)
		for i := range sent {
			if seq := a.Stamp(value, 0); seq != uint64(i) {
				t.Fatalf("record %d has sequence %d", i, seq)
			}
		}
		type piece struct{ first, count int }
		var pieces []piece
		for at := 0; at < sent; {
			n := min(rapid.IntRange(1, 8).Draw(t, "piece"), sent-at)
			pieces = append(pieces, piece{at, n})
			at += n
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		random.Shuffle(len(pieces), func(i, k int) { pieces[i], pieces[k] = pieces[k], pieces[i] })
		offsets, failed := map[uint64]int64{}, 0
		for _, p := range pieces {
			switch rapid.IntRange(0, 3).Draw(t, "fate") {
			case 0: // no answer
			case 1:
				a.Failed(uint64(p.first), uint64(p.count))
				failed += p.count
			default:
				shift := int64(rapid.IntRange(0, 1).Draw(t, "shift")) * 100
				a.Acked(uint64(p.first), uint64(p.count), int64(p.first)+shift, 0)
				for i := range p.count {
					offsets[uint64(p.first+i)] = int64(p.first+i) + shift
				}
			}
		}
		v := a.View()
		got := map[uint64]int64{}
		for i, k := range v.Acks {
			if i > 0 && (v.Acks[i-1].end() > k.First || v.Acks[i-1].joins(k)) {
				t.Fatalf("acknowledgements overlap or could be one: %v", v.Acks)
			}
			for n := range k.Count {
				got[k.First+n] = k.Offset + int64(n)
			}
		}
		if d := cmp.Diff(offsets, got); d != "" {
			t.Fatalf("offsets (-want +got):\n%s", d)
		}
		if v.AckedCount() != uint64(len(offsets)) || v.Acked().Count() != v.AckedCount() || v.Failed.Count() != uint64(failed) ||
			v.UnknownCount() != uint64(sent-failed-len(offsets)) {
			t.Fatalf("%d acknowledged, %d failed, %d unknown; want %d, %d and the rest of %d", v.AckedCount(), v.Failed.Count(), v.UnknownCount(), len(offsets), failed, sent)
		}
	})
}

// TestMemoryFollowsAnomalies: a million records in order leave one interval, and
// marks for their time only.
func TestMemoryFollowsAnomalies(t *testing.T) {
	a := New(1).Account(Stream{})
	value := make([]byte, HeaderBytes)
	for i := range int64(1_000_000) {
		seq := a.Stamp(value, i)
		a.Acked(seq, 1, i, i*1000) // a microsecond each
	}
	v := a.View()
	if len(v.Acks) != 1 || v.AckedCount() != 1_000_000 {
		t.Errorf("%d intervals of %d acknowledged records, want 1 of 1000000", len(v.Acks), v.AckedCount())
	}
	if len(v.marks) > 1001 {
		t.Errorf("%d marks for one second, want one for each millisecond", len(v.marks))
	}
	for _, seq := range []uint64{0, 1500, 999_999} {
		at, ok := v.AckedBefore(seq)
		if truth := int64(seq) * 1000; !ok || at > truth || truth-at > markEvery {
			t.Errorf("sequence %d was acknowledged at %d (%v), want at most a millisecond before %d", seq, at, ok, truth)
		}
	}
}

func TestViewsAreOrderedAndApart(t *testing.T) {
	l := New(1)
	for _, s := range []Stream{{2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 0, 0}} {
		l.Account(s).Stamp(make([]byte, HeaderBytes), 0)
	}
	views := l.Views()
	l.Account(Stream{1, 0, 0}).Stamp(make([]byte, HeaderBytes), 0)
	var got []Stream
	for _, v := range views {
		got = append(got, v.Stream)
		if v.Sent != 1 {
			t.Errorf("%v: a view changed with its account", v.Stream)
		}
	}
	if d := cmp.Diff([]Stream{{1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {2, 0, 0}}, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

// TestBooksAllocateNothing for a record of an undisturbed producer.
func TestBooksAllocateNothing(t *testing.T) {
	a := New(1).Account(Stream{})
	value := make([]byte, 100)
	offset := int64(0)
	if n := testing.AllocsPerRun(1000, func() { a.Acked(a.Stamp(value, 0), 1, offset, 0); offset++ }); n != 0 {
		t.Errorf("%v allocations for a record, want 0", n)
	}
}

// BenchmarkAccount is what a record costs a producer: stamping 100 bytes, and the
// acknowledgement of each alone.
func BenchmarkAccount(b *testing.B) {
	a := New(1).Account(Stream{})
	value := make([]byte, 100)
	b.ReportAllocs()
	for i := range b.N {
		seq := a.Stamp(value, int64(i))
		a.Acked(seq, 1, int64(seq), int64(i))
	}
}
