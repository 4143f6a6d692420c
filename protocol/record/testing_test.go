package record

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

const testNow = int64(1_700_000_000_000)

// open is validation that refuses nothing for its timestamps.
func openValidation() Validation {
	return Validation{NowMs: testNow, BeforeMaxMs: -1, AfterMaxMs: -1}
}

// entry is one record in absolute terms.
type entry struct {
	ts         int64
	key, value []byte
	headers    []Header
}

// randomEntries gives records of all shapes: null, empty, tiny and large.
func randomEntries(r *rand.Rand, n, maxValue int) []entry {
	es := make([]entry, n)
	for i := range es {
		es[i] = entry{ts: testNow + r.Int64N(1000) - 500, key: randomBytes(r, 40), value: randomBytes(r, maxValue)}
		if r.IntN(4) == 0 {
			for range 1 + r.IntN(3) {
				key := randomBytes(r, 10)
				if key == nil {
					key = []byte{}
				}
				es[i].headers = append(es[i].headers, Header{Key: key, Value: randomBytes(r, 200)})
			}
		}
	}
	return es
}

// randomBytes returns nil now and then, and compressible bytes otherwise.
func randomBytes(r *rand.Rand, below int) []byte {
	if r.IntN(8) == 0 {
		return nil
	}
	b := make([]byte, r.IntN(below))
	for i := range b {
		b[i] = "abcdefgh"[r.IntN(8)]
	}
	return b
}

func build(c Codec, es []entry) Batch {
	w := NewBuilder(c, DefaultLevel)
	for _, e := range es {
		w.Append(e.ts, e.key, e.value, e.headers)
	}
	return w.Build()
}

// fixed gives n records of 100-byte values, as the benchmarks of the product
// produce them.
func fixed(n int) []entry {
	r := rand.New(rand.NewPCG(1, 2))
	es := make([]entry, n)
	for i := range es {
		v := make([]byte, 100)
		for j := range v {
			v[j] = byte(r.UintN(256)) & 0x3f
		}
		es[i] = entry{ts: testNow + int64(i/10), value: v}
	}
	return es
}

// read returns all records of b, copied.
func read(b Batch, l Limits) ([]entry, error) {
	r, err := b.Records(l)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var es []entry
	var rec Record
	for r.Next(&rec) {
		e := entry{ts: b.BaseTimestamp() + rec.TimestampDelta, key: bytes.Clone(rec.Key), value: bytes.Clone(rec.Value)}
		for _, h := range rec.Headers {
			e.headers = append(e.headers, Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
		}
		es = append(es, e)
	}
	return es, r.Err()
}

func sameEntries(got, want []entry) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := &got[i], &want[i]
		same := g.ts == w.ts && sameBytes(g.key, w.key) && sameBytes(g.value, w.value) &&
			slices.EqualFunc(g.headers, w.headers, func(a, b Header) bool {
				return sameBytes(a.Key, b.Key) && sameBytes(a.Value, b.Value)
			})
		if !same {
			return fmt.Errorf("record %d is %.200q, want %.200q", i, fmt.Sprint(*g), fmt.Sprint(*w))
		}
	}
	return nil
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// seal makes length and checksum of a batch fit its bytes, so that a test
// reaches what lies behind them.
func seal(b []byte) Batch {
	putInt32(b[atLength:], int32(len(b)-LogOverhead))
	putInt32(b[atCRC:], int32(crc32.Checksum(b[atAttributes:], castagnoli)))
	return Batch(b)
}

func putInt32(b []byte, v int32) {
	b[0], b[1], b[2], b[3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
}

// withPayload is a batch of count records that claims codec c for payload.
func withPayload(c Codec, count int32, payload []byte) Batch {
	b := append(bytes.Clone(build(None, fixed(1))[:HeaderSize]), payload...)
	b[atAttributes+1] = byte(c)
	putInt32(b[atLastOffsetDelta:], count-1)
	putInt32(b[atCount:], count)
	return seal(b)
}

// kmsgBatch decodes b with the client library's decoder.
func kmsgBatch(t *testing.T, b Batch) kmsg.RecordBatch {
	t.Helper()
	var kb kmsg.RecordBatch
	if err := kb.ReadFrom(b); err != nil {
		t.Fatalf("kmsg cannot read the batch: %v", err)
	}
	return kb
}
