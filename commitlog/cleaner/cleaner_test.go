package cleaner

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tidemark/protocol/record"
)

// TestOffsetMapAgainstMap: a map of bounded size knows what a Go map knows, until
// it is full, and then says so.
func TestOffsetMapAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.Int64Range(2, 60).Draw(rt, "slots")
		m := NewOffsetMap(slots*SlotBytes, 0.75)
		for range 3 { // One round after another, in the same memory.
			from := rapid.Int64Range(0, 1<<40).Draw(rt, "from")
			m.Reset(from, rapid.Int64Range(1, 200).Draw(rt, "keys"))
			if m.Latest() != from-1 || m.Len() != 0 || m.Bytes() > slots*SlotBytes {
				rt.Fatalf("after a reset to %d: latest %d, %d keys, %d bytes", from, m.Latest(), m.Len(), m.Bytes())
			}
			want := map[string]int64{}
			offset := from
			for range rapid.IntRange(0, 80).Draw(rt, "puts") {
				key := fmt.Sprint(rapid.IntRange(0, 40).Draw(rt, "key"))
				_, known := want[key]
				if m.Put([]byte(key), offset) {
					want[key] = offset
				} else if known || m.Len() == 0 || m.Fill() > 0.75 {
					rt.Fatalf("no room for key %s with %d of %d slots taken (known: %v)", key, m.Len(), slots, known)
				}
				offset++
			}
			for k := range 41 {
				greatest, ok := want[fmt.Sprint(k)]
				if !ok {
					greatest = -1
				}
				if got := m.Greatest(fmt.Append(nil, k)); got != greatest {
					rt.Fatalf("key %d: %d, want %d", k, got, greatest)
				}
			}
		}
	})
}

// TestOffsetMapTakesWhatItNeeds: a small section does not take the whole budget.
func TestOffsetMapTakesWhatItNeeds(t *testing.T) {
	m := NewOffsetMap(1<<40, 0.9)
	m.Reset(0, 1000)
	if m.Bytes() > 30_000 {
		t.Errorf("%d bytes for a thousand keys", m.Bytes())
	}
	for i := range 1000 {
		if !m.Put(fmt.Append(nil, i), int64(i)) {
			t.Fatalf("no room for key %d of the 1000 announced", i)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { m.Reset(0, 1000); m.Put([]byte("key"), 5); m.Greatest([]byte("key")) }); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

// TestTransactionsAtTheirEdges: data is judged by the next marker of its own
// producer.
func TestTransactionsAtTheirEdges(t *testing.T) {
	data := func(producerID, offset int64) record.Batch {
		w := record.NewBuilder(record.None, 0)
		w.Producer(producerID, 0, 0)
		w.Transactional(true)
		w.Append(0, []byte("k"), []byte("v"), nil)
		b := w.Build()
		b.SetBaseOffset(offset)
		return b
	}
	var x Transactions
	x.Marker(1, 3, record.Abort) // Its data lies before what is seen.
	x.Data(data(1, 5))
	x.Data(data(2, 6))
	x.Marker(1, 7, record.Abort)
	x.Data(data(1, 8))
	if !x.Undecided(7) || !x.Undecided(9) || x.Undecided(6) {
		t.Error("producer 2 is in a transaction since 6, producer 1 since 8")
	}
	x.Marker(2, 9, record.Commit)
	x.Marker(1, 10, record.Commit)
	x.Data(data(1, 11))
	x.Marker(1, 12, record.Abort)
	for _, c := range []struct {
		producerID, offset int64
		aborted            bool
	}{{1, 4, false}, {1, 5, true}, {2, 6, false}, {1, 8, false}, {1, 11, true}, {1, 13, false}} {
		if got := x.Aborted(data(c.producerID, c.offset)); got != c.aborted {
			t.Errorf("producer %d at %d: aborted %v, want %v", c.producerID, c.offset, got, c.aborted)
		}
	}
	if x.Undecided(math.MaxInt64) {
		t.Error("every transaction has ended")
	}
}

// TestDisorderIsRefused: offsets that do not ascend would have the wrong record win.
func TestDisorderIsRefused(t *testing.T) {
	w := record.NewBuilder(record.None, 0)
	w.Append(0, []byte("k"), []byte("1"), nil)
	w.Append(0, []byte("k"), []byte("2"), nil)
	b := w.Build()
	b[record.HeaderSize+1+2] = 2 << 1 // The first record's offset delta.
	b.SetMaxTimestamp(0)
	m := NewOffsetMap(1000, 0.5)
	m.Reset(0, 10)
	x := Indexer{Map: m, Transactions: &Transactions{}}
	if _, err := x.Add(b); err == nil {
		t.Error("indexed, want an error")
	}
	m.Advance(100)
	f := Filter{Map: m, Transactions: &Transactions{}}
	if out, err := f.Append(nil, b, true); err == nil || len(out) > 0 {
		t.Errorf("filtered to %d bytes, %v; want an error", len(out), err)
	}
}

// TestEndlessRetention: a horizon beyond time is the end of time.
func TestEndlessRetention(t *testing.T) {
	w := record.NewBuilder(record.Zstd, record.DefaultLevel)
	w.Append(-1, []byte("k"), nil, nil)
	m := NewOffsetMap(1000, 0.5)
	m.Reset(0, 10)
	m.Advance(100)
	f := Filter{Map: m, Transactions: &Transactions{}, NowMs: 5, DeleteRetentionMs: math.MaxInt64}
	out, err := f.Append(nil, w.Build(), false)
	if err != nil {
		t.Fatal(err)
	}
	b := record.Batch(out)
	r, err := b.Records(record.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rec record.Record
	if b.BaseTimestamp() != math.MaxInt64 || !b.HasDeleteHorizon() || !r.Next(&rec) || b.BaseTimestamp()+rec.TimestampDelta != -1 || b.MaxTimestamp() != -1 {
		t.Errorf("horizon %d, timestamp %d", b.BaseTimestamp(), b.BaseTimestamp()+rec.TimestampDelta)
	}
}
