package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCheckHeader has one row per rule that the header can break. Each row
// breaks that rule alone and seals the batch again, so that no other check
// stands in.
func TestCheckHeader(t *testing.T) {
	set32 := func(at int, v int32) func(Batch) { return func(b Batch) { putInt32(b[at:], v) } }
	flag := func(bit byte) func(Batch) { return func(b Batch) { b[atAttributes+1] |= bit } }
	producer := func(id int64, epoch int16, seq int32) func(Batch) {
		return func(b Batch) {
			binary.BigEndian.PutUint64(b[atProducerID:], uint64(id))
			binary.BigEndian.PutUint16(b[atProducerEpoch:], uint16(epoch))
			putInt32(b[atBaseSequence:], seq)
		}
	}
	for _, c := range []struct {
		name   string
		change func(Batch)
		rules  func(*Validation)
		want   error
	}{
		{name: "a good batch", want: nil},
		{name: "idempotent", change: producer(1, 0, 0), want: nil},
		{name: "base offset 1", change: func(b Batch) { b.SetBaseOffset(1) }, want: ErrInvalidRecord},
		{name: "base offset -1", change: func(b Batch) { b.SetBaseOffset(-1) }, want: ErrInvalidRecord},
		{name: "count 0", change: set32(atCount, 0), want: ErrInvalidRecord},
		{name: "count negative", change: set32(atCount, -3), want: ErrInvalidRecord},
		{name: "count 10^6", change: set32(atCount, 1e6), want: ErrInvalidRecord},
		{name: "last offset delta too large", change: set32(atLastOffsetDelta, 3), want: ErrInvalidRecord},
		{name: "last offset delta too small", change: set32(atLastOffsetDelta, 1), want: ErrInvalidRecord},
		{name: "last offset delta 2^31-1", change: set32(atLastOffsetDelta, math.MaxInt32), want: ErrInvalidRecord},
		{name: "both lie together", change: func(b Batch) { set32(atCount, 1e6)(b); set32(atLastOffsetDelta, 1e6-1)(b) }, want: ErrInvalidRecord},
		{name: "control batch", change: flag(bitControl), want: ErrInvalidRecord},
		{name: "delete horizon", change: flag(bitDeleteHorizon), want: ErrInvalidRecord},
		{name: "log append time from a client", change: flag(bitLogAppendTime), want: ErrInvalidTimestamp},
		{name: "codec 5", change: flag(5), want: ErrUnsupportedCodec},
		{name: "codec 7", change: flag(7), want: ErrUnsupportedCodec},
		{name: "transactional without producer id", change: flag(bitTransactional), want: ErrInvalidRecord},
		{name: "transactional", change: func(b Batch) { flag(bitTransactional)(b); producer(1, 0, 0)(b) }},
		{name: "transactional without sequence", change: func(b Batch) { flag(bitTransactional)(b); producer(1, 0, -1)(b) }, want: ErrInvalidRecord},
		{name: "transactional without sequence, from a coordinator", change: func(b Batch) { flag(bitTransactional)(b); producer(1, 0, -1)(b) },
			rules: func(v *Validation) { v.FromCoordinator = true }},
		{name: "producer without sequence", change: producer(1, 0, -1), want: ErrInvalidRecord},
		{name: "producer without epoch", change: producer(1, -1, 0), want: ErrInvalidRecord},
		{name: "at max.message.bytes", rules: func(v *Validation) { v.MaxMessageBytes = goldenSize }},
		{name: "over max.message.bytes", rules: func(v *Validation) { v.MaxMessageBytes = goldenSize - 1 }, want: ErrTooLarge},
	} {
		for _, mode := range []Mode{Records, HeaderOnly} {
			b := Batch(bytes.Clone(build(None, fixed(3))))
			if c.change != nil {
				c.change(b)
			}
			v := openValidation()
			v.Mode = mode
			if c.rules != nil {
				c.rules(&v)
			}
			if _, err := v.Check(seal(b)); !errors.Is(err, c.want) {
				t.Errorf("%s, mode %d: got %v, want %v", c.name, mode, err, c.want)
			}
		}
	}
}

// goldenSize is the size of a batch of three of the benchmark's records.
const goldenSize = HeaderSize + 3*109

func TestCheckWrongChecksum(t *testing.T) {
	for _, c := range allCodecs {
		for _, mode := range []Mode{Records, HeaderOnly} {
			b := Batch(bytes.Clone(build(c, fixed(3))))
			b[len(b)-1]++
			v := openValidation()
			v.Mode = mode
			if _, err := v.Check(b); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v, mode %d: %v", c, mode, err)
			}
		}
	}
}

func TestCheckNoZstd(t *testing.T) {
	v := openValidation()
	v.NoZstd = true
	for _, c := range allCodecs {
		want := error(nil)
		if c == Zstd {
			want = ErrUnsupportedCodec
		}
		if _, err := v.Check(build(c, fixed(3))); !errors.Is(err, want) {
			t.Errorf("%v in an old Produce request: got %v, want %v", c, err, want)
		}
	}
}

// rec is the wire form of a record with the given body.
func rec(body ...byte) []byte { return append(appendVarint32(nil, int32(len(body))), body...) }

// TestCheckRecordForm gives malformed records, alone and behind a good one,
// plain and compressed, to the scanner, its slow path and the Reader.
func TestCheckRecordForm(t *testing.T) {
	overlong := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	huge := appendVarint32(nil, math.MaxInt32)
	for _, c := range []struct {
		name  string
		first []byte // as record 0
		good  bool
	}{
		{name: "smallest", first: rec(0, 0, 0, 1, 1, 0), good: true},
		{name: "empty key and value", first: rec(0, 0, 0, 0, 0, 0), good: true},
		{name: "varints longer than need be", first: rec(0, 0x80, 0, 0x80, 0, 0x81, 0, 0x80, 0x80, 0, 0x80, 0), good: true},
		{name: "attributes set", first: rec(0xff, 0, 0, 1, 1, 0), good: true},
		{name: "null header value", first: rec(0, 0, 0, 1, 1, 2, 0, 1), good: true},
		{name: "nothing", first: nil},
		{name: "length 0", first: []byte{0}},
		{name: "length -1", first: []byte{1}},
		{name: "length 2^31-1", first: cat(huge, []byte{0, 0, 0, 1, 1, 0})},
		{name: "length of 11 bytes", first: overlong},
		{name: "length overflows", first: []byte{0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 1, 1, 0}},
		{name: "length beyond batch", first: append([]byte{16}, 0, 0, 0, 1, 1, 0)},
		{name: "last byte missing", first: []byte{12, 0, 0, 0, 1, 1}},
		{name: "length one beyond batch", first: append([]byte{14}, 0, 0, 0, 1, 1, 0)},
		{name: "length longer than fields", first: rec(0, 0, 0, 1, 1, 0, 0)},
		{name: "length shorter than fields", first: []byte{12, 0, 0, 0, 1, 2, 'a', 0}},
		{name: "timestamp of 11 bytes", first: rec(cat([]byte{0}, overlong, []byte{0, 1, 1, 0})...)},
		{name: "timestamp cut", first: rec(0, 0x80, 0x80, 0x80, 0x80, 0x80)},
		{name: "offset delta 1", first: rec(0, 0, 2, 1, 1, 0)},
		{name: "offset delta -1", first: rec(0, 0, 1, 1, 1, 0)},
		{name: "offset delta of 11 bytes", first: rec(cat([]byte{0, 0}, overlong, []byte{1, 1, 0})...)},
		{name: "key length -2", first: rec(0, 0, 0, 3, 1, 0)},
		{name: "key length -2 with room", first: rec(0, 0, 0, 3, 12, 'v', 'a', 'l', 'u', 'e', 's', 0)},
		{name: "key length beyond record", first: rec(0, 0, 0, 8, 1, 0, 0)},
		{name: "key length 2^31-1", first: rec(cat([]byte{0, 0, 0}, huge, []byte{1, 0})...)},
		{name: "key length -2^31", first: rec(0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0)},
		{name: "value length -2", first: rec(0, 0, 0, 1, 3, 0)},
		{name: "value length -65 with room", first: rec(cat([]byte{0, 0, 0, 1, 0x81, 1}, make([]byte, 64), []byte{0})...)},
		{name: "value length to the end", first: rec(0, 0, 0, 1, 2, 0)},
		{name: "value length 2^31-1", first: rec(cat([]byte{0, 0, 0, 1}, huge, []byte{0})...)},
		{name: "value of two length bytes beyond record", first: rec(0, 0, 0, 1, 0x80, 0x7f, 0)},
		{name: "header count -1", first: rec(0, 0, 0, 1, 1, 1)},
		{name: "header count 2^31-1", first: rec(cat([]byte{0, 0, 0, 1, 1}, huge)...)},
		{name: "header count too large", first: rec(0, 0, 0, 1, 1, 4, 0, 1)},
		{name: "header count too small", first: rec(0, 0, 0, 1, 1, 2, 0, 1, 0, 1)},
		{name: "header key null", first: rec(0, 0, 0, 1, 1, 2, 1, 1)},
		{name: "header key beyond record", first: rec(0, 0, 0, 1, 1, 2, 8, 1)},
		{name: "header value beyond record", first: rec(0, 0, 0, 1, 1, 2, 0, 8)},
	} {
		for _, codec := range allCodecs {
			payload := c.first
			if codec != None {
				payload = newCompressor(codec, DefaultLevel).compress(nil, payload)
			}
			b := withPayload(codec, 1, payload)
			v := openValidation()
			_, checked := v.Check(b)
			_, readErr := read(b, Limits{})
			large := scanLargely(c.first)
			if c.good {
				if checked != nil || readErr != nil || large != nil {
					t.Errorf("%s, %v: refused: %v; %v; %v", c.name, codec, checked, readErr, large)
				}
				continue
			}
			if !errors.Is(checked, ErrInvalidRecord) {
				t.Errorf("%s, %v: Check gives %v", c.name, codec, checked)
			}
			if !errors.Is(readErr, ErrInvalidRecord) && !strings.HasPrefix(c.name, "offset delta 1") {
				t.Errorf("%s, %v: Reader gives %v", c.name, codec, readErr)
			}
			if !errors.Is(large, ErrInvalidRecord) {
				t.Errorf("%s: the slow path gives %v", c.name, large)
			}
		}
	}
}

// scanLargely scans a payload of one record by the path for large records.
func scanLargely(payload []byte) error {
	s := newScanner(1, rules{lowestDelta: math.MinInt64, highestDelta: math.MaxInt64})
	var w window
	w.over(payload)
	if err := s.scanLarge(&w); err != nil {
		return err
	}
	return s.finish(len(w.peek(1)) == 0, w.err)
}

func TestCheckCounts(t *testing.T) {
	es := fixed(100)
	plain := build(None, es).Payload()
	for _, c := range allCodecs {
		payload := plain
		if c != None {
			payload = newCompressor(c, DefaultLevel).compress(nil, plain)
		}
		for _, count := range []int32{1, 99, 101, 1_000_000, math.MaxInt32} {
			v := openValidation()
			b := withPayload(c, count, payload)
			if _, err := v.Check(b); !errors.Is(err, ErrInvalidRecord) {
				t.Errorf("%v: 100 records announced as %d: %v", c, count, err)
			}
			if _, err := read(b, Limits{}); !errors.Is(err, ErrInvalidRecord) {
				t.Errorf("%v: reading 100 records announced as %d: %v", c, count, err)
			}
		}
	}
}

func TestCheckOffsetDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	es := fixed(9000) // deltas of one, two and three bytes
	for range 50 {
		var plain []byte
		wrong := r.IntN(len(es))
		for i, e := range es {
			delta := int32(i)
			if i == wrong {
				delta = int32(r.IntN(2 * len(es)))
				if delta == int32(i) {
					delta++
				}
			}
			rec := Record{OffsetDelta: delta, Value: e.value[:r.IntN(5)]}
			plain = rec.appendTo(plain)
		}
		v := openValidation()
		_, err := v.Check(withPayload(None, int32(len(es)), plain))
		if bad := ErrorsOf(err); !errors.Is(err, ErrInvalidRecord) || len(bad) != 1 || bad[0].Index != int32(wrong) {
			t.Fatalf("record %d has a wrong offset delta: %v", wrong, err)
		}
	}
}

func TestCheckKeys(t *testing.T) {
	for _, c := range allCodecs {
		es := fixed(500)
		for i := range es {
			es[i].key = []byte("key")
		}
		v := openValidation()
		v.RequireKeys = true
		if _, err := v.Check(build(c, es)); err != nil {
			t.Errorf("%v: every record has a key: %v", c, err)
		}
		es[7].key, es[400].key, es[401].key = nil, nil, []byte{}
		_, err := v.Check(build(c, es))
		bad := ErrorsOf(err)
		if !errors.Is(err, ErrInvalidRecord) || len(bad) != 2 || bad[0].Index != 7 || bad[1].Index != 400 {
			t.Errorf("%v: records 7 and 400 have no key: %v", c, bad)
		}
		v.RequireKeys = false
		if _, err := v.Check(build(c, es)); err != nil {
			t.Errorf("%v: keys are not required: %v", c, err)
		}
	}
	v := openValidation()
	v.RequireKeys = true
	if _, err := v.Check(build(None, fixed(5000))); len(ErrorsOf(err)) != MaxRecordErrors {
		t.Errorf("%d of 5000 wrong records named, want %d", len(ErrorsOf(err)), MaxRecordErrors)
	}
}

func TestCheckTimestamps(t *testing.T) {
	const hour, day = int64(3_600_000), int64(86_400_000)
	for _, c := range []struct {
		name          string
		before, after int64
		base, other   int64
		wrong         int // record to blame, -1 for none
	}{
		{"now", day, hour, testNow, testNow, -1},
		{"at both bounds", day, hour, testNow - day, testNow + hour, -1},
		{"too old", day, hour, testNow, testNow - day - 1, 1},
		{"too new", day, hour, testNow, testNow + hour + 1, 1},
		{"first too new", day, hour, testNow + hour + 1, testNow, 0},
		{"year 292277", day, hour, math.MaxInt64, math.MaxInt64, 0},
		{"beginning of time", day, hour, math.MinInt64, math.MinInt64, 0},
		{"-1", day, hour, -1, -1, 0},
		{"-1, no bound behind", -1, hour, -1, -1, -1},
		{"year 292277, no bounds", -1, -1, math.MaxInt64, math.MaxInt64, -1},
		{"largest bounds", math.MaxInt64, math.MaxInt64, 0, math.MaxInt64, -1},
		{"now exactly", 0, 0, testNow, testNow + 1, 1},
	} {
		for _, codec := range allCodecs {
			v := Validation{NowMs: testNow, BeforeMaxMs: c.before, AfterMaxMs: c.after}
			b := build(codec, []entry{{ts: c.base, value: []byte("a")}, {ts: c.other, value: []byte("b")}})
			sum, err := v.Check(b)
			bad := ErrorsOf(err)
			if c.wrong < 0 {
				if err != nil || sum.MaxTimestamp != max(c.base, c.other) {
					t.Errorf("%s, %v: %+v, %v", c.name, codec, sum, err)
				}
				continue
			}
			if !errors.Is(err, ErrInvalidTimestamp) || len(bad) == 0 || int(bad[0].Index) != c.wrong {
				t.Errorf("%s, %v: got %v, want an invalid timestamp in record %d", c.name, codec, err, c.wrong)
			}
			v.LogAppendTime = true
			if sum, err := v.Check(b); err != nil || sum.MaxTimestamp != testNow || sum.OffsetOfMax != 0 {
				t.Errorf("%s, %v: the broker stamps the batch: %+v, %v", c.name, codec, sum, err)
			}
			v.LogAppendTime, v.Mode = false, HeaderOnly
			if _, err := v.Check(b); c.base >= testNow && !errors.Is(err, ErrInvalidTimestamp) && b.MaxTimestamp() > testNow+c.after {
				t.Errorf("%s, %v: by header: %v", c.name, codec, err)
			}
		}
	}
}

// TestCheckTimestampOverflow has deltas that add up to no timestamp at all.
func TestCheckTimestampOverflow(t *testing.T) {
	for _, c := range []struct{ base, delta int64 }{
		{math.MaxInt64, 1}, {math.MinInt64, -1}, {math.MaxInt64, math.MaxInt64}, {-2, math.MinInt64},
	} {
		rec := Record{TimestampDelta: c.delta}
		b := withPayload(None, 1, rec.appendTo(nil))
		binary.BigEndian.PutUint64(b[atBaseTimestamp:], uint64(c.base))
		v := openValidation()
		if _, err := v.Check(seal(b)); !errors.Is(err, ErrInvalidTimestamp) {
			t.Errorf("%d + %d: %v", c.base, c.delta, err)
		}
	}
}

// TestCheckFindsMaxTimestamp lies in the header, as some clients do, and
// expects the records' truth.
func TestCheckFindsMaxTimestamp(t *testing.T) {
	for _, c := range allCodecs {
		for _, lie := range []int64{-1, 0, testNow + 1_000_000} {
			b := Batch(bytes.Clone(build(c, []entry{{ts: testNow}, {ts: testNow + 7}, {ts: testNow + 7}, {ts: testNow + 2}})))
			b.SetMaxTimestamp(lie)
			v := openValidation()
			sum, err := v.Check(b)
			if want := (Summary{MaxTimestamp: testNow + 7, OffsetOfMax: 1, Count: 4}); err != nil || sum != want {
				t.Errorf("%v: %+v, %v, want %+v", c, sum, err, want)
			}
			v.Mode = HeaderOnly
			if sum, err := v.Check(b); err != nil || sum.MaxTimestamp != lie || sum.OffsetOfMax != 3 {
				t.Errorf("%v by header: %+v, %v", c, sum, err)
			}
		}
	}
}

func TestRecordErrorsClass(t *testing.T) {
	mixed := RecordErrors{{Index: 1, Reason: "a", Err: ErrInvalidRecord}, {Index: 2, Reason: "b", Err: ErrInvalidTimestamp}}
	if !errors.Is(mixed, ErrInvalidTimestamp) || errors.Is(mixed, ErrInvalidRecord) {
		t.Error("one invalid timestamp makes the whole batch's error one")
	}
	var one *RecordError
	if !errors.As(mixed, &one) || one.Index != 1 {
		t.Error("the first wrong record is not found")
	}
	if ErrorsOf(ErrCorrupt) != nil || len(ErrorsOf(mixed)) != 2 || len(ErrorsOf(one)) != 1 {
		t.Error("ErrorsOf")
	}
	if !strings.Contains(mixed.Error(), "2 records") || !strings.Contains(mixed[:1].Error(), "record 1") {
		t.Errorf("%q", mixed.Error())
	}
}
