package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/protocol/record"
)

func testCleaner() *Cleaner {
	return NewCleaner(CleanerOptions{MapBytes: 1 << 16, MapLoad: 0.9, BufferBytes: 512})
}

// history fills a log with everything that compaction treats in a way of its own:
// overwritten keys, tombstones, records without a key, idempotent producers,
// transactions that ended either way.
func history(m *compacted) {
	at := testStart.UnixMilli()
	one := func(key, value string) []pick { return []pick{{[]byte(key), []byte(value), at}} }
	for i := range 24 {
		key := fmt.Sprintf("k%d", i%5)
		switch i % 8 {
		case 0:
			m.put(record.LZ4, 1, false, append(one(key, "first"), one("only"+key, "kept")...))
		case 1:
			m.put(record.None, 10, true, one(key, "in a transaction"))
		case 2:
			m.put(record.None, -1, false, []pick{{[]byte(key), nil, at}, {[]byte("gone"), nil, at}, {[]byte("z"), []byte("z"), at + 1}})
		case 3:
			m.put(record.Zstd, 11, true, one(key, "aborted"))
		case 4:
			m.end(10, true)
		case 5:
			m.end(11, false)
		case 6:
			m.put(record.None, -1, false, []pick{{nil, []byte("no key"), at}})
		case 7:
			m.put(record.Snappy, 2, false, one(key, "second"))
			m.epoch++
		}
	}
	m.ok(m.Roll())
	m.put(record.None, -1, false, one("active", "not cleaned"))
}

// TestCleanedTwiceIsTheSame: a round over what a round left changes nothing, once
// markers and tombstones have their delete horizon.
func TestCleanedTwiceIsTheSame(t *testing.T) {
	m := newCompacted(t)
	m.world.open()
	history(m)
	m.cleaner = testCleaner()
	var previous []record.Batch
	for i := range 4 {
		m.firstDirty.Store(0)
		m.clean(m.LogEndOffset())
		m.check(0)
		now := m.readAll(0)
		if same := slices.EqualFunc(previous, now, func(a, b record.Batch) bool { return bytes.Equal(a, b) }); i > 1 && !same {
			t.Fatalf("round %d changed what round %d had left", i+1, i)
		}
		previous = now
	}
}

// TestDeleteHorizon follows tombstones and markers of both kinds through the rounds
// of KIP-534.
func TestDeleteHorizon(t *testing.T) {
	m := newCompacted(t)
	m.world.open()
	history(m)
	m.cleaner = testCleaner()
	count := func() (tombstones, markers, horizons int) {
		for _, b := range m.readAll(0) {
			if b.HasDeleteHorizon() {
				horizons++
				if got := b.BaseTimestamp() - testStart.UnixMilli(); got < 1000 || got > 3000 {
					t.Fatalf("delete horizon %d ms after the start", got)
				}
			}
			for _, e := range decode(t, b) {
				switch {
				case e.control:
					markers++
				case e.value == nil:
					tombstones++
				}
			}
		}
		return tombstones, markers, horizons
	}
	again := func() {
		m.firstDirty.Store(0)
		m.clean(m.LogEndOffset())
		m.check(0)
	}
	again()
	tombstones, markers, horizons := count()
	if tombstones == 0 || markers != 6 || horizons == 0 {
		t.Fatalf("after the first round %d tombstones, %d markers, %d horizons", tombstones, markers, horizons)
	}
	m.clock.Advance(999 * time.Millisecond)
	again()
	if a, b, _ := count(); a != tombstones || b != markers {
		t.Fatalf("%d tombstones and %d markers before delete.retention.ms, want %d and %d", a, b, tombstones, markers)
	}
	m.clock.Advance(time.Millisecond)
	again()
	if a, _, _ := count(); a != 0 {
		t.Fatalf("%d tombstones are left after delete.retention.ms", a)
	}
	m.clock.Advance(time.Second)
	again()
	again()
	// Of the transactions' last data the batches stay for their producers, and
	// with them the markers behind.
	if _, b, _ := count(); b >= markers || b == 0 {
		t.Fatalf("%d markers at last, %d before", b, markers)
	}
	m.reopen(true, true)
	m.checkProducers()
}

// TestBatchLargerThanBuffers: buffers grow to whatever a batch needs, and only for
// the round.
func TestBatchLargerThanBuffers(t *testing.T) {
	for codec := record.None; codec <= record.Zstd; codec++ {
		m := newCompacted(t)
		m.o.SegmentBytes, m.o.Compacted = 1<<20, true
		m.world.open()
		large := bytes.Repeat([]byte("tide"), 50_000)
		for i := range 3 {
			for j := range large[:2000] {
				large[j*100] = byte(i * j * 7)
			}
			m.put(codec, -1, false, []pick{{[]byte("large"), clone(large), 5}, {[]byte("small"), []byte{1}, 6}})
		}
		m.ok(m.Roll())
		m.cleaner = NewCleaner(CleanerOptions{MapBytes: 4096, MapLoad: 0.5, BufferBytes: record.HeaderSize})
		m.clean(m.LogEndOffset())
		m.checkClean()
		m.check(0)
		if cap(m.cleaner.in) > record.HeaderSize || cap(m.cleaner.out) > 2*record.HeaderSize {
			t.Errorf("%v: buffers of %d and %d bytes are kept", codec, cap(m.cleaner.in), cap(m.cleaner.out))
		}
	}
}

// TestMapSmallerThanTheKeys: with room for few keys a log is cleaned in several
// rounds, each of which gets on.
func TestMapSmallerThanTheKeys(t *testing.T) {
	m := newCompacted(t)
	m.o.SegmentBytes = 4096
	m.world.open()
	for i := range 300 {
		m.put(record.None, -1, false, []pick{{fmt.Appendf(nil, "k%d", i%100), []byte{1}, 1}, {fmt.Appendf(nil, "l%d", i%90), nil, 2}})
	}
	m.ok(m.Roll())
	m.cleaner = NewCleaner(CleanerOptions{MapBytes: 24 * 20, MapLoad: 0.9, BufferBytes: 512})
	rounds := 0
	for m.FirstDirty() < m.LogEndOffset() {
		r := m.clean(m.LogEndOffset())
		if rounds++; r.Keys > 18 || m.cleaner.offsets.Bytes() > 24*20 {
			t.Fatalf("%d keys in %d bytes, room was for 18", r.Keys, m.cleaner.offsets.Bytes())
		}
		m.check(0)
	}
	if rounds < 10 {
		t.Fatalf("%d rounds: the map was never full", rounds)
	}
}

func decodeKeyed(t *testing.T, b record.Batch) (out []pick) {
	r, err := b.Records(record.Limits{})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer r.Close()
	var rec record.Record
	for r.Next(&rec) {
		out = append(out, pick{key: clone(rec.Key), value: clone(rec.Value)})
	}
	return out
}

// TestHoles: a fetch inside a hole gets the next batch, lookups and a follower step
// over it, and a restart knows where the log ends.
func TestHoles(t *testing.T) {
	m := newCompacted(t)
	m.o.SegmentBytes = 1 << 16
	m.world.open()
	for i := range 30 {
		m.put(record.None, -1, false, []pick{{[]byte("k"), fmt.Append(nil, i), int64(i)}})
	}
	m.ok(m.Roll())
	m.put(record.None, -1, false, []pick{{[]byte("other"), []byte("v"), 100}})
	m.cleaner = testCleaner()
	m.clean(m.LogEndOffset())
	data, _ := m.read(3, 10)
	if b := record.Batch(data); b.BaseOffset() != 29 {
		t.Fatalf("a fetch at 3 got the batch at %d, want 29", b.BaseOffset())
	}
	if got, ok, err := m.OffsetForTimestamp(7); err != nil || !ok || got != (TimestampOffset{29, 29}) {
		t.Fatalf("the first with timestamp 7: %+v, %v, %v", got, ok, err)
	}
	f := newWorld(t).open()
	for _, b := range m.readAll(0) {
		if _, err := f.AppendAsFollower(b); err != nil {
			t.Fatal(err)
		}
	}
	f.crash()
	f.open()
	if f.LogEndOffset() != 31 || f.Report().TruncatedBytes != 0 || len(f.readAll(0)) != 2 {
		t.Fatalf("the follower ends at %d: %+v", f.LogEndOffset(), f.Report())
	}
	m.ok(m.TruncateTo(20))
	if m.LogEndOffset() != 20 || m.FirstDirty() > 20 {
		t.Fatalf("truncated into a hole: end %d, cleaned to %d", m.LogEndOffset(), m.FirstDirty())
	}
}

// TestKeysAreAskedFor: whatever storage.validation says, a compacted log takes no
// record without a key, and one that had some before drops them.
func TestKeysAreAskedFor(t *testing.T) {
	m := newCompacted(t)
	m.o.Validation = record.HeaderOnly
	m.world.open()
	m.put(record.None, -1, false, []pick{{nil, []byte("from before"), 1}, {[]byte("k"), []byte("v"), 2}})
	m.ok(m.Roll())
	m.o.Compacted = true
	m.ok(m.Reconfigure(m.o))
	w := record.NewBuilder(record.LZ4, record.DefaultLevel)
	w.Append(1, []byte("k"), []byte("v"), nil)
	w.Append(1, nil, []byte("no key"), nil)
	_, err := m.AppendAsLeader(w.Build(), 0, Client)
	if wrong := record.ErrorsOf(err); !errors.Is(err, record.ErrInvalidRecord) || len(wrong) != 1 || wrong[0].Index != 1 {
		t.Fatalf("got %v, want record 1 to be refused", err)
	}
	if r := m.clean(m.LogEndOffset()); r.Keyless != 1 {
		t.Fatalf("%+v, want one record without a key dropped", r)
	}
	m.checkClean()
	m.check(0)
}

// TestCleanableBounds: the lag and the bound say what a round may touch, the ratio
// and the maximal lag when it is due.
func TestCleanableBounds(t *testing.T) {
	m := newCompacted(t)
	at := testStart.UnixMilli()
	m.world.open()
	var bases []int64
	for i := range 4 {
		bases = append(bases, m.LogEndOffset())
		m.put(record.None, -1, false, []pick{{[]byte("k"), []byte("v"), at + int64(i)*1000}})
		m.ok(m.Roll())
	}
	m.ok(m.Flush())
	m.clock.Advance(4 * time.Second)
	look := func(bound int64, c Compaction) Cleanable {
		m.o.Compaction = c
		m.ok(m.Reconfigure(m.o))
		x, err := m.Cleanable(bound)
		m.ok(err)
		return x
	}
	all := look(100, DefaultCompaction())
	if all.End != m.LogEndOffset() || all.Ratio() != 1 || !all.Due(DefaultCompaction()) || all.OverdueMs != 0 {
		t.Fatalf("%+v of a log that is all dirty", all)
	}
	if x := look(bases[2]+0, DefaultCompaction()); x.End != bases[2] {
		t.Errorf("bound %d: %+v", bases[2], x)
	}
	lagging := DefaultCompaction()
	lagging.MinLagMs = 2500
	if x := look(100, lagging); x.End != bases[2] {
		t.Errorf("records younger than min.compaction.lag.ms would be cleaned: %+v", x)
	}
	overdue := Compaction{MinDirtyRatio: 1, MaxLagMs: 3500}
	if x := look(100, overdue); x.OverdueMs != 500 || !x.Due(overdue) {
		t.Errorf("a record 4000 ms old, max.compaction.lag.ms 3500: %+v", x)
	}
	overdue.MaxLagMs = 4500
	if x := look(100, overdue); x.OverdueMs != 0 || x.Due(overdue) {
		t.Errorf("a record 4000 ms old, max.compaction.lag.ms 4500: %+v", x)
	}
	m.put(record.None, 10, true, []pick{{[]byte("k"), []byte("open"), at}})
	open := m.LogEndOffset() - 1
	m.ok(m.Roll())
	m.ok(m.Flush())
	if x := look(100, DefaultCompaction()); x.End != open {
		t.Errorf("a transaction is open since %d: %+v", open, x)
	}
}
