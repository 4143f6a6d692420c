package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"
)

// golden is one batch of two records, byte by byte as the format page draws it:
// the test for which no encoder of ours was asked.
const golden = "" +
	"0000000000000000" + // base offset
	"00000046" + // length
	"ffffffff" + // leader epoch
	"02" + // magic
	"f1d84f9e" + // checksum
	"0000" + // attributes
	"00000001" + // last offset delta
	"0000018bcfe56800" + // base timestamp
	"0000018bcfe56805" + // max timestamp
	"ffffffffffffffff" + // producer id
	"ffff" + // producer epoch
	"ffffffff" + // base sequence
	"00000002" + // count
	"12" + "00" + "00" + "00" + "02" + "6b" + "04" + "7631" + "00" +
	"14" + "00" + "0a" + "02" + "01" + "00" + "02" + "02" + "68" + "02" + "77"

func goldenBatch(t *testing.T) Batch {
	t.Helper()
	b, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := ParseOne(b)
	if err != nil {
		t.Fatalf("golden batch: %v", err)
	}
	return batch
}

func TestGoldenBatch(t *testing.T) {
	w := NewBuilder(None, 0)
	w.Append(testNow, []byte("k"), []byte("v1"), nil)
	w.Append(testNow+5, nil, []byte{}, []Header{{Key: []byte("h"), Value: []byte("w")}})
	got := w.Build()
	if hex.EncodeToString(got) != golden {
		t.Errorf("built\n%x, want\n%s", []byte(got), golden)
	}
	b := goldenBatch(t)
	if err := b.CheckCRC(); err != nil {
		t.Error(err)
	}
	es, err := read(b, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{ts: testNow, key: []byte("k"), value: []byte("v1")},
		{ts: testNow + 5, value: []byte{}, headers: []Header{{Key: []byte("h"), Value: []byte("w")}}},
	}
	if err := sameEntries(es, want); err != nil {
		t.Error(err)
	}
}

func TestHeaderFields(t *testing.T) {
	w := NewBuilder(Snappy, 0)
	w.Producer(77, 3, math.MaxInt32-1)
	w.Transactional(true)
	for i := range 5 {
		w.Append(testNow-int64(i), nil, []byte("v"), nil)
	}
	b := w.Build()
	b.SetBaseOffset(1000)
	b.SetLeaderEpoch(9)
	if err := b.CheckCRC(); err != nil {
		t.Errorf("base offset and leader epoch are outside the checksum: %v", err)
	}
	for _, f := range []struct {
		name      string
		got, want int64
	}{
		{"base offset", b.BaseOffset(), 1000}, {"last offset", b.LastOffset(), 1004},
		{"next offset", b.NextOffset(), 1005}, {"leader epoch", int64(b.LeaderEpoch()), 9},
		{"magic", int64(b.Magic()), 2}, {"codec", int64(b.Codec()), int64(Snappy)},
		{"base timestamp", b.BaseTimestamp(), testNow}, {"max timestamp", b.MaxTimestamp(), testNow},
		{"producer id", b.ProducerID(), 77}, {"producer epoch", int64(b.ProducerEpoch()), 3},
		{"base sequence", int64(b.BaseSequence()), math.MaxInt32 - 1},
		{"last sequence goes from 2147483647 to 0", int64(b.LastSequence()), 2},
		{"count", int64(b.Count()), 5}, {"last offset delta", int64(b.LastOffsetDelta()), 4},
		{"size", int64(b.Size()), int64(len(b))}, {"attributes", int64(b.Attributes()), 2 | 1<<4},
	} {
		if f.got != f.want {
			t.Errorf("%s: got %d, want %d", f.name, f.got, f.want)
		}
	}
	if !b.IsTransactional() || b.IsControl() || b.IsLogAppendTime() || b.HasDeleteHorizon() {
		t.Errorf("flags of %016b", b.Attributes())
	}
	// The client library reads the same from the same bytes.
	kb := kmsgBatch(t, b)
	if kb.FirstOffset != 1000 || kb.PartitionLeaderEpoch != 9 || kb.ProducerID != 77 || kb.ProducerEpoch != 3 ||
		kb.FirstSequence != math.MaxInt32-1 || kb.NumRecords != 5 || kb.Attributes != b.Attributes() ||
		kb.MaxTimestamp != testNow || uint32(kb.CRC) != b.CRC() {
		t.Errorf("kmsg reads %+v", kb)
	}
}

func TestSetLogAppendTime(t *testing.T) {
	b := bytes.Clone(build(LZ4, fixed(3)))
	batch := Batch(b)
	batch.SetLogAppendTime(testNow + 99)
	if !batch.IsLogAppendTime() || batch.MaxTimestamp() != testNow+99 || batch.Codec() != LZ4 {
		t.Errorf("attributes %b, max timestamp %d", batch.Attributes(), batch.MaxTimestamp())
	}
	if err := batch.CheckCRC(); err != nil {
		t.Errorf("consumers verify the checksum of what the broker stamped: %v", err)
	}
}

func TestParse(t *testing.T) {
	two := append(bytes.Clone(goldenBatch(t)), goldenBatch(t)...)
	b, rest, err := Parse(two)
	if err != nil || len(b) != len(two)/2 || len(rest) != len(two)/2 {
		t.Fatalf("Parse of two batches: %d bytes, %d left, %v", len(b), len(rest), err)
	}
	if cap(b) != len(b) {
		t.Error("appending to a batch would overwrite the next one")
	}
	for n := range len(two) / 2 {
		if _, _, err := Parse(two[:n]); err != ErrShort {
			t.Fatalf("Parse of the first %d bytes: %v, want ErrShort", n, err)
		}
	}
}

func TestParseOne(t *testing.T) {
	good := goldenBatch(t)
	with := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(good)) }
	for _, c := range []struct {
		name string
		buf  []byte
		want error
	}{
		{"one", good, nil},
		{"null records", nil, ErrInvalidRecord},
		{"no batch", []byte{}, ErrInvalidRecord},
		{"two batches", append(bytes.Clone(good), good...), ErrInvalidRecord},
		{"cut off", good[:len(good)-1], ErrCorrupt},
		{"header cut off", good[:20], ErrCorrupt},
		{"a byte behind", append(bytes.Clone(good), 0), ErrCorrupt},
		{"length one too large", with(func(b []byte) []byte { b[atLength+3]++; return b }), ErrCorrupt},
		{"length one too small", with(func(b []byte) []byte { b[atLength+3]--; return b }), ErrCorrupt},
		{"length negative", with(func(b []byte) []byte { b[atLength] = 0x80; return b }), ErrCorrupt},
		{"length 2^31-1", with(func(b []byte) []byte { putInt32(b[atLength:], math.MaxInt32); return b }), ErrCorrupt},
		{"length below a header", with(func(b []byte) []byte { putInt32(b[atLength:], 48); return b }), ErrCorrupt},
		{"magic 0", with(func(b []byte) []byte { b[atMagic] = 0; return b }), ErrInvalidRecord},
		{"magic 1", with(func(b []byte) []byte { b[atMagic] = 1; return b }), ErrInvalidRecord},
		{"magic 3", with(func(b []byte) []byte { b[atMagic] = 3; return b }), ErrCorrupt},
		{"magic -1", with(func(b []byte) []byte { b[atMagic] = 0xff; return b }), ErrCorrupt},
	} {
		if _, err := ParseOne(c.buf); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestEveryFlippedByteIsSeen(t *testing.T) {
	good := goldenBatch(t)
	for i := atCRC; i < len(good); i++ {
		b := Batch(bytes.Clone(good))
		b[i] ^= 0x10
		if err := b.CheckCRC(); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d changed and the checksum agrees: %v", i, err)
		}
	}
}
