package record

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRewrite: whatever records of a batch are kept, they are what they were, and so
// is the batch's header but for what counts them.
func TestRewrite(t *testing.T) {
	type plain struct {
		offset, timestamp int64
		key, value        string
		null              bool
	}
	read := func(rt *rapid.T, b Batch) (out []plain) {
		if err := b.CheckCRC(); err != nil {
			rt.Fatal(err)
		}
		r, err := b.Records(Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		var rec Record
		for r.Next(&rec) {
			p := plain{b.BaseOffset() + int64(rec.OffsetDelta), b.BaseTimestamp() + rec.TimestampDelta, string(rec.Key), string(rec.Value), rec.Value == nil}
			if b.IsLogAppendTime() {
				p.timestamp = b.MaxTimestamp()
			}
			out = append(out, p)
		}
		if r.Err() != nil {
			rt.Fatal(r.Err())
		}
		return out
	}
	var w Rewriter
	rapid.Check(t, func(rt *rapid.T) {
		codec := rapid.SampledFrom([]Codec{None, Gzip, Snappy, LZ4, Zstd}).Draw(rt, "codec")
		builder := NewBuilder(codec, DefaultLevel)
		builder.Producer(rapid.Int64Range(-1, 1<<40).Draw(rt, "producer"), 3, 1<<31-2)
		builder.Transactional(rapid.Bool().Draw(rt, "transactional"))
		count := rapid.IntRange(1, 20).Draw(rt, "count")
		for range count {
			value := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "value")
			if len(value) == 50 {
				value = nil
			}
			builder.Append(rapid.Int64Range(-1, 1<<42).Draw(rt, "timestamp"), []byte("key"), value, []Header{{Key: []byte("h")}})
		}
		b := builder.Build()
		b.SetBaseOffset(rapid.Int64Range(0, 1<<50).Draw(rt, "offset"))
		b.SetLeaderEpoch(7)
		if rapid.Bool().Draw(rt, "log append time") {
			b.SetLogAppendTime(1 << 41)
		}
		for round := range 2 { // The second time over what the first has left.
			before := read(rt, b)
			keep := make([]bool, len(before))
			for i := range keep {
				keep[i] = rapid.Bool().Draw(rt, "keep")
			}
			keep[rapid.IntRange(0, len(keep)-1).Draw(rt, "one")] = true
			horizon := rapid.SampledFrom([]int64{NoTimestamp, 1 << 43, 1<<63 - 1}).Draw(rt, "horizon")
			had := b.HasDeleteHorizon()
			out, err := w.Rewrite([]byte("before"), b, keep, horizon, Limits{})
			if err != nil || !bytes.HasPrefix(out, []byte("before")) {
				rt.Fatal(err)
			}
			n := Batch(out[6:])
			want := before[:0:0]
			newest := int64(NoTimestamp)
			for i, p := range before {
				if keep[i] {
					want, newest = append(want, p), max(newest, p.timestamp)
				}
			}
			if got := read(rt, n); !slices.Equal(got, want) {
				rt.Fatalf("round %d: %v, want %v", round, got, want)
			}
			if n.LastOffset() != b.LastOffset() || n.ProducerID() != b.ProducerID() || n.ProducerEpoch() != b.ProducerEpoch() || n.BaseSequence() != b.BaseSequence() ||
				n.LastSequence() != b.LastSequence() || n.LeaderEpoch() != 7 || n.Codec() != codec || n.IsTransactional() != b.IsTransactional() ||
				n.IsLogAppendTime() != b.IsLogAppendTime() || n.MaxTimestamp() != newest || n.HasDeleteHorizon() != (had || horizon != NoTimestamp) {
				rt.Fatalf("header % x, was % x", n[:HeaderSize], b[:HeaderSize])
			}
			switch {
			case horizon != NoTimestamp && n.BaseTimestamp() != horizon, horizon == NoTimestamp && had && n.BaseTimestamp() != b.BaseTimestamp():
				rt.Fatalf("horizon %d, asked for %d, was %d", n.BaseTimestamp(), horizon, b.BaseTimestamp())
			}
			b = n
		}
		e := Batch(AppendEmpty(nil, b))
		if len(read(rt, e)) != 0 || e.Size() != HeaderSize || e.LastOffset() != b.LastOffset() || e.LastSequence() != b.LastSequence() || e.LeaderEpoch() != 7 ||
			e.Codec() != None || e.HasDeleteHorizon() || e.MaxTimestamp() != b.MaxTimestamp() || e.IsTransactional() != b.IsTransactional() {
			rt.Fatalf("emptied: % x, was % x", e, b[:HeaderSize])
		}
	})
}
