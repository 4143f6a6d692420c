package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestCodecNames(t *testing.T) {
	for _, c := range allCodecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("ParseCodec(%q) = %v, %v", c.String(), got, err)
		}
	}
	if c, err := ParseCodec("uncompressed"); err != nil || c != None {
		t.Errorf("compression.type=uncompressed: %v, %v", c, err)
	}
	for _, bad := range []string{"", "producer", "GZIP", "codec(5)"} {
		if _, err := ParseCodec(bad); !errors.Is(err, ErrUnsupportedCodec) {
			t.Errorf("ParseCodec(%q): %v", bad, err)
		}
	}
	if Codec(5).Valid() || Codec(-1).Valid() || Codec(7).String() != "codec(7)" {
		t.Error("numbers without a codec")
	}
}

// TestRoundTrip reads back what the builder wrote, through every pair of codec
// and shape of record, with windows that records straddle.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range allCodecs {
		for _, shape := range []struct{ n, maxValue int }{{1, 1}, {1, 300_000}, {50, 100}, {3000, 100}, {5, 100_000}} {
			es := randomEntries(r, shape.n, shape.maxValue)
			b := build(c, es)
			if b.Codec() != c {
				t.Fatalf("%v batch says %v", c, b.Codec())
			}
			got, err := read(b, Limits{})
			if err == nil {
				err = sameEntries(got, es)
			}
			if err != nil {
				t.Errorf("%v, %d records below %d bytes: %v", c, shape.n, shape.maxValue, err)
			}
			v := openValidation()
			sum, err := v.Check(b)
			if err != nil {
				t.Errorf("%v, %d records below %d bytes: %v", c, shape.n, shape.maxValue, err)
			}
			if want := maxOf(es); sum != want {
				t.Errorf("%v: summary %+v, want %+v", c, sum, want)
			}
		}
	}
}

func maxOf(es []entry) Summary {
	s := Summary{MaxTimestamp: es[0].ts, Count: int32(len(es))}
	for i, e := range es {
		if e.ts > s.MaxTimestamp {
			s.MaxTimestamp, s.OffsetOfMax = e.ts, int32(i)
		}
	}
	return s
}

// TestConcurrentUse checks, reads and recompresses from several goroutines, which
// share nothing but the pools.
func TestConcurrentUse(t *testing.T) {
	es := fixed(200)
	batches := make([]Batch, len(allCodecs))
	for i, c := range allCodecs {
		batches[i] = build(c, es)
	}
	v := openValidation()
	errs := make(chan error, 4)
	for g := range cap(errs) {
		go func() {
			var err error
			for i := range 40 {
				b := batches[(g+i)%len(batches)]
				_, checked := v.Check(b)
				got, readErr := read(b, Limits{})
				again, madeErr := Recompress(b, Codec(i%5), DefaultLevel, Limits{})
				if err = errors.Join(checked, readErr, madeErr); err != nil {
					break
				}
				if err = errors.Join(sameEntries(got, es), again.CheckCRC()); err != nil {
					break
				}
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestClientReadsBuilder decompresses and decodes our batches with the client
// library, and TestReaderReadsClient the other way round.
func TestClientReadsBuilder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range allCodecs {
		es := randomEntries(r, 400, 600)
		kb := kmsgBatch(t, build(c, es))
		plain := kb.Records
		if c != None {
			var err error
			plain, err = kgo.DefaultDecompressor().Decompress(kb.Records, kgo.CompressionCodecType(c))
			if err != nil {
				t.Fatalf("the client cannot decompress our %v: %v", c, err)
			}
		}
		for i := range es {
			var rec kmsg.Record
			_, n := uvarint32(plain)
			u, _ := uvarint32(plain)
			size := n + int(unzigzag32(u))
			if err := rec.ReadFrom(plain[:size]); err != nil {
				t.Fatalf("%v record %d: %v", c, i, err)
			}
			plain = plain[size:]
			got := entry{ts: kb.FirstTimestamp + rec.TimestampDelta64, key: rec.Key, value: rec.Value}
			for _, h := range rec.Headers {
				got.headers = append(got.headers, Header{Key: []byte(h.Key), Value: h.Value})
			}
			if err := sameEntries([]entry{got}, es[i:i+1]); err != nil || rec.OffsetDelta != int32(i) {
				t.Fatalf("%v record %d: offset delta %d, %v", c, i, rec.OffsetDelta, err)
			}
		}
		if len(plain) != 0 {
			t.Errorf("%v: %d bytes after the records", c, len(plain))
		}
	}
}

func TestReaderReadsClient(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	compressors := map[Codec]kgo.CompressionCodec{
		Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression(),
	}
	for c, codec := range compressors {
		es := randomEntries(r, 700, 500)
		plain := kmsgRecords(es)
		comp, err := kgo.DefaultCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		payload, typ := comp.Compress(new(bytes.Buffer), plain)
		if Codec(typ) != c {
			t.Fatalf("the client chose codec %d for %v", typ, c)
		}
		b := withPayload(c, int32(len(es)), payload)
		got, err := read(b, Limits{})
		for i := range got {
			got[i].ts += es[0].ts - b.BaseTimestamp()
		}
		if err == nil {
			err = sameEntries(got, es)
		}
		if err != nil {
			t.Errorf("%v as the client writes it: %v", c, err)
		}
	}
}

// kmsgRecords encodes records with the client library.
func kmsgRecords(es []entry) []byte {
	var plain []byte
	for i, e := range es {
		rec := kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: e.ts - es[0].ts, TimestampDelta: int32(e.ts - es[0].ts),
			Key: e.key, Value: e.value}
		for _, h := range e.headers {
			rec.Headers = append(rec.Headers, kmsg.Header{Key: string(h.Key), Value: h.Value})
		}
		body := rec.AppendTo(nil)
		_, n := uvarint32(body) // the length it was given, 0
		rec.Length = int32(len(body) - n)
		plain = rec.AppendTo(plain)
	}
	return plain
}

// TestSnappyDresses reads the framing of Java's producer, in blocks of any
// size, and the bare block of librdkafka.
func TestSnappyDresses(t *testing.T) {
	es := fixed(1000)
	plain := build(None, es).Payload()
	xerial, _ := hex.DecodeString("82534e41505059000000000100000001")
	for left := plain; len(left) > 0; {
		n := min(len(left), 7777)
		block := s2.EncodeSnappy(nil, left[:n])
		xerial = binary.BigEndian.AppendUint32(xerial, uint32(len(block)))
		xerial = append(xerial, block...)
		left = left[n:]
	}
	for name, payload := range map[string][]byte{"framed": xerial, "bare": s2.EncodeSnappy(nil, plain)} {
		b := withPayload(Snappy, int32(len(es)), payload)
		if got, err := read(b, Limits{}); err != nil || len(got) != len(es) || !bytes.Equal(got[999].value, es[999].value) {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
}

// TestLZ4Dresses reads the frames that differ from ours: linked blocks, all
// checksums and the content size, large blocks, several frames.
func TestLZ4Dresses(t *testing.T) {
	es := fixed(3000)
	plain := build(None, es).Payload()
	frame := func(src []byte, options ...lz4.Option) []byte {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := w.Apply(options...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(src); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for name, payload := range map[string][]byte{
		"checksums and size": frame(plain, lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(plain)))),
		"4 MiB blocks":       frame(plain, lz4.BlockSizeOption(lz4.Block4Mb)),
		"two frames":         append(frame(plain[:5000]), frame(plain[5000:])...),
	} {
		b := withPayload(LZ4, int32(len(es)), payload)
		if got, err := read(b, Limits{}); err != nil || len(got) != len(es) {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
	legacy := withPayload(LZ4, int32(len(es)), frame(plain, lz4.LegacyOption(true)))
	if _, err := read(legacy, Limits{}); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("a legacy frame, which Java refuses: %v", err)
	}
}

// TestZstdWindows reads frames that announce more than they need, as Java's
// producer does at its highest level, and refuses those that need too much.
func TestZstdWindows(t *testing.T) {
	es := fixed(3000)
	plain := build(None, es).Payload()
	for _, window := range []int{1 << 10, 1 << 20, 8 << 20, 128 << 20} {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		for part := plain; len(part) > 0; part = part[min(len(part), 70_000):] { // streamed: no content size
			if _, err := w.Write(part[:min(len(part), 70_000)]); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parseZstdFrame(out.Bytes(), 0)
		if err != nil || f.window != int64(window) || f.end != out.Len() {
			t.Fatalf("window %d: parsed %+v of %d bytes, %v", window, f, out.Len(), err)
		}
		b := withPayload(Zstd, int32(len(es)), out.Bytes())
		if got, err := read(b, Limits{}); err != nil || len(got) != len(es) {
			t.Errorf("window %d: %d records, %v", window, len(got), err)
		}
	}
}

// TestZstdLargeWindow decodes one frame that really needs more than a pooled
// decoder has, twice, so that the turn at the large decoder is given back.
func TestZstdLargeWindow(t *testing.T) {
	value := make([]byte, 12<<20)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range value {
		value[i] = byte(r.UintN(4))
	}
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(16<<20), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err == nil {
		_, err = w.Write(build(None, []entry{{ts: testNow, value: value}}).Payload())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := withPayload(Zstd, 1, out.Bytes())
	for range 2 {
		f, err := parseZstdFrame(b.Payload(), 0)
		if err != nil || f.window <= zstdPooledWindow {
			t.Fatalf("frame %+v, %v", f, err)
		}
		v := openValidation()
		if _, err := v.Check(b); err != nil {
			t.Error(err)
		}
	}
	if _, err := read(b, Limits{DecompressedBytes: 10 << 20}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if len(zstdLarge) != 0 {
		t.Error("the large decoder's turn was not given back")
	}
}

// TestDamageBehindRecords spoils what follows the last record: gzip's trailer, a
// zstd checksum. The records are all there, the batch is still refused.
func TestDamageBehindRecords(t *testing.T) {
	es := fixed(10)
	plain := build(None, es).Payload()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	for c, payload := range map[Codec][]byte{
		Gzip: newCompressor(Gzip, DefaultLevel).compress(nil, plain), Zstd: w.EncodeAll(plain, nil),
	} {
		if _, err := read(withPayload(c, 10, payload), Limits{}); err != nil {
			t.Fatalf("%v as it should be: %v", c, err)
		}
		payload[len(payload)-1] ^= 1
		b := withPayload(c, 10, payload)
		if _, err := read(b, Limits{}); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: Reader gives %v", c, err)
		}
		v := openValidation()
		if _, err := v.Check(b); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: Check gives %v", c, err)
		}
	}
}

// TestLevels compresses at every level that Kafka's configs take.
func TestLevels(t *testing.T) {
	es := fixed(300)
	for _, c := range allCodecs {
		lowest, highest, _, ok := c.Levels()
		levels := []int{DefaultLevel}
		if ok {
			for l := max(lowest, -5); l <= highest; l++ {
				levels = append(levels, l)
			}
			levels = append(levels, lowest, lowest-1, highest+1)
		}
		for _, l := range levels {
			w := NewBuilder(c, l)
			for _, e := range es {
				w.Append(e.ts, e.key, e.value, e.headers)
			}
			got, err := read(w.Build(), Limits{})
			if err == nil {
				err = sameEntries(got, es)
			}
			if err != nil {
				t.Errorf("%v at level %d: %v", c, l, err)
			}
		}
	}
}

func TestRecompress(t *testing.T) {
	es := randomEntries(rand.New(rand.NewPCG(11, 12)), 500, 1000)
	for _, from := range allCodecs {
		w := NewBuilder(from, DefaultLevel)
		w.Producer(5, 6, 7)
		w.Transactional(true)
		for _, e := range es {
			w.Append(e.ts, e.key, e.value, e.headers)
		}
		b := w.Build()
		before := bytes.Clone(b)
		for _, to := range allCodecs {
			got, err := Recompress(b, to, DefaultLevel, Limits{})
			if err != nil {
				t.Fatalf("%v to %v: %v", from, to, err)
			}
			if _, err := ParseOne(got); err != nil || got.Codec() != to || got.CheckCRC() != nil {
				t.Fatalf("%v to %v: %v, codec %v, checksum %v", from, to, err, got.Codec(), got.CheckCRC())
			}
			if !bytes.Equal(got[atLastOffsetDelta:HeaderSize], before[atLastOffsetDelta:HeaderSize]) || !got.IsTransactional() {
				t.Errorf("%v to %v changed the header to %x", from, to, []byte(got[:HeaderSize]))
			}
			back, err := read(got, Limits{})
			if err == nil {
				err = sameEntries(back, es)
			}
			if err != nil {
				t.Errorf("%v to %v: %v", from, to, err)
			}
		}
		if !bytes.Equal(b, before) {
			t.Errorf("recompressing changed the %v batch itself", from)
		}
	}
	if _, err := Recompress(build(Gzip, es), Zstd, DefaultLevel, Limits{DecompressedBytes: 1000}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := Recompress(build(Gzip, es), Codec(6), DefaultLevel, Limits{}); !errors.Is(err, ErrUnsupportedCodec) {
		t.Errorf("to an unknown codec: %v", err)
	}
}

func TestBuilderSize(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	w := NewBuilder(None, 0)
	for i, e := range randomEntries(r, 300, 20_000) {
		key, value := len(e.key), len(e.value)
		if e.key == nil {
			key = -1
		}
		if e.value == nil {
			value = -1
		}
		want := w.SizeWith(e.ts, key, value)
		w.Append(e.ts, e.key, e.value, nil)
		if w.Size() != want || w.Count() != i+1 {
			t.Fatalf("record %d: size %d, foretold %d", i, w.Size(), want)
		}
	}
	size := w.Size()
	if b := w.Build(); len(b) != size || w.Count() != 0 || w.Size() != HeaderSize {
		t.Errorf("built %d bytes of %d, left %d", len(b), size, w.Size())
	}
}

func TestEndTxnMarker(t *testing.T) {
	for _, commit := range []bool{false, true} {
		b := EndTxnMarker{TimestampMs: testNow, ProducerID: 4, ProducerEpoch: 5, CoordinatorEpoch: 6, Commit: commit}.Batch()
		if !b.IsControl() || !b.IsTransactional() || b.Count() != 1 || b.BaseSequence() != NoSequence ||
			b.ProducerID() != 4 || b.ProducerEpoch() != 5 {
			t.Fatalf("marker header %x", []byte(b[:HeaderSize]))
		}
		v := openValidation()
		if _, err := v.Check(b); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("a marker from a client: %v", err)
		}
		v.FromCoordinator = true
		if _, err := v.Check(b); err != nil {
			t.Errorf("a marker from the coordinator: %v", err)
		}
		es, err := read(b, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		kind, epoch, err := ParseControl(es[0].key, es[0].value)
		if err != nil || epoch != 6 || kind != map[bool]ControlType{false: Abort, true: Commit}[commit] {
			t.Errorf("commit %v reads as %v of epoch %d, %v", commit, kind, epoch, err)
		}
		// Byte for byte what Kafka's EndTransactionMarker writes.
		want := fmt.Sprintf("0000000%d", map[bool]int{false: 0, true: 1}[commit])
		if hex.EncodeToString(es[0].key) != want || hex.EncodeToString(es[0].value) != "000000000006" {
			t.Errorf("key %x, value %x", es[0].key, es[0].value)
		}
	}
	for _, key := range [][]byte{nil, {0, 0, 0}} {
		if _, _, err := ParseControl(key, nil); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("control key %x: %v", key, err)
		}
	}
	if _, _, err := ParseControl([]byte{0, 0, 0, 1}, []byte{0}); !errors.Is(err, ErrInvalidRecord) {
		t.Errorf("short marker value: %v", err)
	}
}
