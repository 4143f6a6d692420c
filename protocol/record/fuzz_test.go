package record

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// fuzzLimit keeps what a fuzzer finds from being slow rather than wrong.
const fuzzLimit = 1 << 20

// isKnown says whether an error is of a class that callers map to a code.
func isKnown(err error) bool {
	for _, class := range []error{ErrCorrupt, ErrInvalidRecord, ErrTooLarge, ErrUnsupportedCodec, ErrInvalidTimestamp} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// FuzzBatch parses and checks arbitrary bytes, with length and checksum made to
// fit, so that all of them are reached. Whatever Check accepts must be readable,
// with the summary that the records give.
func FuzzBatch(f *testing.F) {
	for _, c := range allCodecs {
		f.Add([]byte(build(c, fixed(3))), true)
	}
	f.Add([]byte(EndTxnMarker{ProducerID: 1, Commit: true}.Batch()), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, keys bool) {
		if b, rest, err := Parse(data); err == nil && len(b)+len(rest) != len(data) {
			t.Fatalf("%d bytes became %d and %d", len(data), len(b), len(rest))
		}
		if len(data) < HeaderSize {
			if _, err := ParseOne(data); err == nil {
				t.Fatalf("a batch of %d bytes", len(data))
			}
			return
		}
		data = bytes.Clone(data)
		data[atMagic] = Magic2
		b, err := ParseOne(seal(data))
		if err != nil {
			t.Fatalf("sealed batch: %v", err)
		}
		v := Validation{NowMs: testNow, BeforeMaxMs: -1, AfterMaxMs: -1, RequireKeys: keys, FromCoordinator: true,
			Limits: Limits{DecompressedBytes: fuzzLimit}}
		before := bytes.Clone(b)
		sum, err := v.Check(b)
		if !bytes.Equal(b, before) {
			t.Fatal("Check changed the batch")
		}
		if err != nil {
			if !isKnown(err) {
				t.Fatalf("error of no class: %v", err)
			}
			return
		}
		agree(t, b, sum, v.Limits)
	})
}

// agree compares a summary with what the Reader finds.
func agree(t *testing.T, b Batch, sum Summary, l Limits) {
	t.Helper()
	r, err := b.Records(l)
	if err != nil {
		t.Fatalf("checked batch cannot be read: %v", err)
	}
	defer r.Close()
	want := Summary{MaxTimestamp: math.MinInt64}
	var rec Record
	for r.Next(&rec) {
		if rec.OffsetDelta != want.Count {
			t.Fatalf("record %d has offset delta %d", want.Count, rec.OffsetDelta)
		}
		if ts := b.BaseTimestamp() + rec.TimestampDelta; ts > want.MaxTimestamp {
			want.MaxTimestamp, want.OffsetOfMax = ts, want.Count
		}
		want.Count++
	}
	if r.Err() != nil {
		t.Fatalf("checked batch cannot be read: %v", r.Err())
	}
	if want.Count == 1 && sum.MaxTimestamp == math.MinInt64 {
		want.OffsetOfMax = sum.OffsetOfMax // nothing is above the smallest number
	}
	if sum != want {
		t.Fatalf("summary %+v, records give %+v", sum, want)
	}
}

// FuzzScanner compares the scanner over a whole payload with itself over a
// window, with the path for large records, and with the Reader: they must accept
// the same.
func FuzzScanner(f *testing.F) {
	for n := range 4 {
		f.Add([]byte(build(None, fixed(n+1)).Payload()), int32(n+1))
	}
	f.Add(rec(0, 0, 0, 1, 1, 2, 2, 'h', 1), int32(1))
	f.Fuzz(func(t *testing.T, payload []byte, count int32) {
		all := rules{lowestDelta: math.MinInt64, highestDelta: math.MaxInt64}
		whole := newScanner(count, all)
		n, err := whole.scan(payload)
		if err == nil {
			err = whole.finish(n == len(payload), nil)
		}
		piecewise := newScanner(count, all)
		win := window{src: bytes.NewReader(payload), buf: make([]byte, 64)}
		if err2 := piecewise.scanWindow(&win); (err2 == nil) != (err == nil) {
			t.Fatalf("whole: %v; in pieces: %v", err, err2)
		} else if err == nil && (piecewise.maxDelta != whole.maxDelta || piecewise.maxAt != whole.maxAt) {
			t.Fatalf("whole: %+v; in pieces: %+v", whole, piecewise)
		}
		large := newScanner(count, all)
		win.over(payload)
		var err3 error
		for large.next < count && err3 == nil {
			err3 = large.scanLarge(&win)
		}
		if err3 == nil {
			err3 = large.finish(len(win.peek(1)) == 0, win.err)
		}
		if (err3 == nil) != (err == nil) {
			t.Fatalf("whole: %v; field by field: %v", err, err3)
		}
		if count > 0 && count < 1<<20 {
			if _, err4 := read(withPayload(None, count, payload), Limits{}); err == nil && err4 != nil {
				t.Fatalf("scanned, but not readable: %v", err4)
			}
		}
	})
}

// fuzzCodec reads arbitrary bytes as records compressed with c.
func fuzzCodec(f *testing.F, c Codec) {
	plain := build(None, fixed(5)).Payload()
	payload := plain
	if c != None {
		payload = newCompressor(c, DefaultLevel).compress(nil, plain)
	}
	f.Add(payload, int32(5))
	f.Add(payload[:len(payload)/2], int32(5))
	f.Add(append(bytes.Clone(payload), payload...), int32(10))
	f.Fuzz(func(t *testing.T, payload []byte, count int32) {
		b := withPayload(c, count, payload)
		l := Limits{DecompressedBytes: fuzzLimit}
		es, err := read(b, l)
		if err != nil {
			if !isKnown(err) {
				t.Fatalf("error of no class: %v", err)
			}
			return
		}
		if count > 0 && len(es) != int(count) {
			t.Fatalf("%d of %d records without an error", len(es), count)
		}
		again, err := Recompress(b, None, DefaultLevel, l)
		if err != nil {
			t.Fatalf("readable, but not to be recompressed: %v", err)
		}
		back, err := read(again, l)
		if err == nil {
			err = sameEntries(back, es)
		}
		if err != nil {
			t.Fatalf("after recompressing: %v", err)
		}
	})
}

// FuzzReaderNone and its siblings read records of one codec each.
func FuzzReaderNone(f *testing.F)   { fuzzCodec(f, None) }
func FuzzReaderGzip(f *testing.F)   { fuzzCodec(f, Gzip) }
func FuzzReaderSnappy(f *testing.F) { fuzzCodec(f, Snappy) }
func FuzzReaderLZ4(f *testing.F)    { fuzzCodec(f, LZ4) }
func FuzzReaderZstd(f *testing.F)   { fuzzCodec(f, Zstd) }

// FuzzBuilder reads back what the builder makes of arbitrary keys and values.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), int64(0), int64(1), byte(0))
	f.Add([]byte{}, []byte(nil), int64(math.MinInt64), int64(math.MaxInt64), byte(4))
	f.Fuzz(func(t *testing.T, key, value []byte, ts1, ts2 int64, codec byte) {
		c := Codec(codec % 5)
		es := []entry{{ts: ts1, key: key, value: value}, {ts: ts2, key: value, value: key, headers: []Header{{Key: bytes.Clone(key)}}}}
		if es[1].headers[0].Key == nil {
			es[1].headers[0].Key = []byte{}
		}
		got, err := read(build(c, es), Limits{})
		if err == nil {
			err = sameEntries(got, es)
		}
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
	})
}
