package commitlog

import (
	"bytes"
	"testing"
	"time"

	"tidemark/protocol/record"
)

// keyed makes a batch with a record for each key; a key in upper case gets a
// tombstone.
func keyed(codec record.Codec, producerID int64, transactional bool, base int64, keys string) record.Batch {
	w := record.NewBuilder(codec, record.DefaultLevel)
	if producerID >= 0 {
		w.Producer(producerID, 0, int32(base))
	}
	w.Transactional(transactional)
	for i := range len(keys) {
		value := []byte{byte(base), byte(i)}
		if keys[i] < 'a' {
			value = nil
		}
		w.Append(testStart.UnixMilli()+int64(i), bytes.ToLower([]byte{keys[i]}), value, nil)
	}
	b := w.Build()
	b.SetBaseOffset(base)
	return b
}

func marker(producerID, base int64, commit bool) record.Batch {
	b := record.EndTxnMarker{ProducerID: producerID, Commit: commit, TimestampMs: testStart.UnixMilli()}.Batch()
	b.SetBaseOffset(base)
	return b
}

// fuzzRecord is a record that a segment of any bytes was found to hold.
type fuzzRecord struct {
	offset     int64
	key, value string
	tombstone  bool
}

// survey is the last record of each key, and every record of a log that has none
// out of order; ok is false for one that has, or cannot be read.
func survey(batches []record.Batch) (last map[string]fuzzRecord, all map[fuzzRecord]bool, ok bool) {
	last, all = map[string]fuzzRecord{}, map[fuzzRecord]bool{}
	for i, b := range batches {
		r, err := b.Records(record.Limits{})
		if err != nil {
			return nil, nil, false
		}
		var rec record.Record
		next := int32(0)
		for r.Next(&rec) {
			if rec.OffsetDelta < next || rec.OffsetDelta > b.LastOffsetDelta() {
				r.Close()
				return nil, nil, false
			}
			next = rec.OffsetDelta + 1
			f := fuzzRecord{b.BaseOffset() + int64(rec.OffsetDelta), string(rec.Key), string(rec.Value), rec.Value == nil}
			all[f] = true
			if rec.Key != nil && !b.IsControl() && !abortedLater(b, batches[i+1:]) {
				last[f.key] = f
			}
		}
		err = r.Err()
		r.Close()
		if err != nil {
			return nil, nil, false
		}
	}
	return last, all, true
}

// abortedLater says whether the next marker of b's producer aborts.
func abortedLater(b record.Batch, rest []record.Batch) bool {
	if !b.IsTransactional() {
		return false
	}
	for _, m := range rest {
		if !m.IsControl() || m.ProducerID() != b.ProducerID() {
			continue
		}
		if kind, _, ok := endMarker(m); ok {
			return kind == record.Abort
		}
	}
	return false
}

// mend gives batches the checksums of their bytes, so that changed ones are looked
// at and not just cut off.
func mend(data []byte) []byte {
	data = bytes.Clone(data)
	for rest := data; ; {
		b, next, err := record.Parse(rest)
		if err != nil {
			return data
		}
		b.SetMaxTimestamp(b.MaxTimestamp())
		rest = next
	}
}

// startingAt gives the batches in data other offsets, so that the first has this one:
// a hole between two segments is damage.
func startingAt(offset int64, data []byte) []byte {
	data = bytes.Clone(data)
	by := int64(0)
	for rest := data; ; {
		b, next, err := record.Parse(rest)
		if err != nil {
			return data
		}
		if len(rest) == len(data) {
			by = offset - b.BaseOffset()
		}
		b.SetBaseOffset(b.BaseOffset() + by)
		rest = next
	}
}

// FuzzClean: whatever the segments of a recovered log hold, a round either says
// that it cannot be cleaned and changes nothing, or the last value of every key is
// there, no record that was not, and recovery finds nothing to mend.
func FuzzClean(f *testing.F) {
	join := func(batches ...record.Batch) (all []byte) {
		for _, b := range batches {
			all = append(all, b...)
		}
		return all
	}
	for codec := record.None; codec <= record.Zstd; codec++ {
		f.Add(join(keyed(codec, -1, false, 0, "abCa"), keyed(codec, 7, false, 4, "ab")), []byte(keyed(record.None, 7, false, 6, "aC")), int64(2000), uint8(3))
	}
	f.Add(join(keyed(record.None, 7, true, 0, "ab"), marker(7, 2, false), keyed(record.None, 8, true, 3, "ab"), marker(8, 5, true)),
		join(keyed(record.LZ4, 9, true, 6, "aBB"), marker(9, 9, false), keyed(record.None, 9, true, 10, "A")), int64(0), uint8(1))
	f.Add(join(record.AppendEmpty(nil, keyed(record.None, 7, true, 0, "ab")), marker(7, 2, true)), []byte{}, int64(1<<40), uint8(200))
	f.Fuzz(func(t *testing.T, first, second []byte, laterMs int64, slots uint8) {
		w := newWorld(t)
		if err := w.fs.MkdirAll(w.dir); err != nil {
			t.Fatal(err)
		}
		w.overwrite("00000000000000000000.log", mend(first))
		w.open()
		if end := w.LogEndOffset(); end > 0 {
			w.crash()
			w.overwrite(FileName(end, LogSuffix), mend(startingAt(end, second)))
			w.state.RecoveryPoint = 0
			w.open()
		}
		if err := w.Roll(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AppendAsLeader(keyed(record.None, -1, false, 0, "z"), 1<<30, Client); err != nil {
			t.Fatal(err)
		}
		before := w.readAll(0)
		want, all, readable := survey(before)
		c := NewCleaner(CleanerOptions{MapBytes: 24 * (3 + int64(slots)), MapLoad: 0.8, BufferBytes: 64 + 8*int(slots)})
		for i := range 3 {
			report, err := c.Clean(w.Log, w.LogEndOffset())
			if err != nil {
				if w.Err() != nil || readable {
					t.Fatal(err)
				}
				break
			}
			if report.DirtyBytes > 0 && report.CleanedTo <= report.FirstDirty {
				t.Fatalf("a round without progress: %+v", report)
			}
			if i == 0 {
				w.clock.Advance(time.Duration(min(max(laterMs, 0), 1<<40)) * time.Millisecond)
			}
		}
		check := func() {
			t.Helper()
			after := w.readAll(0)
			got, left, ok := survey(after)
			if ok != readable && readable {
				t.Fatal("what could be read no longer can")
			}
			if !readable {
				return
			}
			for key, was := range want {
				if is, ok := got[key]; is != was && !(was.tombstone && !ok) {
					t.Fatalf("key %q: %+v is left, want %+v", key, is, was)
				}
			}
			for key, is := range got {
				if _, ok := want[key]; !ok {
					t.Fatalf("key %q: %+v is back", key, is)
				}
			}
			for r := range left {
				if !all[r] {
					t.Fatalf("record %+v was never there", r)
				}
			}
		}
		check()
		end := w.LogEndOffset()
		w.crash()
		w.state.RecoveryPoint = 0
		w.open()
		if r := w.Report(); w.LogEndOffset() != end || r.TruncatedBytes > 0 || r.Corruption != nil {
			t.Fatalf("recovery of a cleaned log to %d: end %d, %+v", end, w.LogEndOffset(), r)
		}
		check()
	})
}
