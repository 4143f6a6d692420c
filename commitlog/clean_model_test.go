package commitlog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// entry is a record as it was appended.
type entry struct {
	offset, timestampMs int64
	key, value          []byte
	aborted, control    bool
	// goneAtMs is when compaction may drop it, once a round has seen that it may;
	// 0 before.
	goneAtMs int64
}

// compacted drives a log that is cleaned, beside the list of all records it was
// ever given.
type compacted struct {
	*world
	cleaner   *Cleaner
	entries   []*entry
	headers   map[int64]record.Batch // by base offset
	sequences map[int64]int32
	open      map[int64][]*entry // by producer, of the open transaction
	epoch     int32
	// cleanedTo is the first dirty offset, touched the greatest that a round had,
	// be it cut short.
	cleanedTo, touched int64
	mem                *vfs.Mem
	faulty             *vfs.Faulty
}

func newCompacted(t rapid.TB) *compacted {
	m := &compacted{world: newWorld(t), headers: map[int64]record.Batch{}, sequences: map[int64]int32{}, open: map[int64][]*entry{}}
	m.cleaner = NewCleaner(CleanerOptions{MapBytes: 24 * 64, MapLoad: 0.9, BufferBytes: 256})
	m.o.Compaction = Compaction{DeleteRetentionMs: 1000, MaxLagMs: 1 << 40}
	m.mount(vfs.NewMem())
	if err := m.fs.MkdirAll("/logs"); err != nil {
		t.Fatal(err)
	}
	if err := m.fs.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *compacted) mount(fs *vfs.Mem) {
	m.mem, m.faulty = fs, vfs.NewFaulty(fs)
	m.fs = m.faulty
}

// pick is one record to append.
type pick struct {
	key, value []byte
	ms         int64
}

// put appends a batch and notes its records.
func (m *compacted) put(codec record.Codec, producerID int64, transactional bool, records []pick) {
	m.t.Helper()
	w := record.NewBuilder(codec, record.DefaultLevel)
	if producerID >= 0 {
		w.Producer(producerID, 0, m.sequences[producerID])
		m.sequences[producerID] += int32(len(records))
	}
	w.Transactional(transactional)
	for _, r := range records {
		w.Append(r.ms, r.key, r.value, []record.Header{{Key: []byte("h"), Value: r.key}})
	}
	info, err := m.AppendAsLeader(w.Build(), m.epoch, Coordinator)
	if err != nil {
		m.t.Fatal(err)
	}
	for i, r := range records {
		ms := r.ms
		if m.o.LogAppendTime {
			ms = info.LogAppendTimeMs
		}
		e := &entry{offset: info.BaseOffset + int64(i), timestampMs: ms, key: r.key, value: r.value}
		m.entries = append(m.entries, e)
		if transactional {
			m.open[producerID] = append(m.open[producerID], e)
		}
	}
	m.noteHeader(info.BaseOffset)
}

// end ends the transaction of a producer.
func (m *compacted) end(producerID int64, commit bool) {
	m.t.Helper()
	marker := record.EndTxnMarker{ProducerID: producerID, Commit: commit, TimestampMs: testStart.UnixMilli(), CoordinatorEpoch: 1}
	info, err := m.AppendAsLeader(marker.Batch(), m.epoch, Coordinator)
	if err != nil {
		m.t.Fatal(err)
	}
	ms := marker.TimestampMs
	if m.o.LogAppendTime {
		ms = info.LogAppendTimeMs
	}
	m.entries = append(m.entries, &entry{offset: info.BaseOffset, timestampMs: ms, control: true})
	if !commit {
		for _, e := range m.open[producerID] {
			e.aborted = true
		}
	}
	delete(m.open, producerID)
	m.noteHeader(info.BaseOffset)
}

func (m *compacted) noteHeader(offset int64) {
	data, _ := m.read(offset, 1)
	m.headers[offset] = bytes.Clone(data)
}

// clean runs a round and notes what it may drop from when on.
func (m *compacted) clean(bound int64) CleanReport {
	m.t.Helper()
	m.ok(m.Flush()) // What waits to be sealed is not announced.
	before, err := m.Cleanable(bound)
	if err != nil {
		m.t.Fatal(err)
	}
	report, err := m.cleaner.Clean(m.Log, bound)
	if err != nil {
		m.t.Fatal(err)
	}
	if report.Cleanable != before {
		m.t.Fatalf("cleaned %+v, announced was %+v", report.Cleanable, before)
	}
	if report.CleanedTo > report.End || report.DirtyBytes > 0 && report.CleanedTo <= report.FirstDirty || report.DirtyBytes > 0 && report.End > bound {
		m.t.Fatalf("no progress, or too much: %+v below %d", report, bound)
	}
	m.noteCleaned(report.CleanedTo)
	return report
}

func (m *compacted) noteCleaned(to int64) {
	m.cleanedTo, m.touched = to, max(m.touched, to)
	for _, e := range m.entries {
		if e.offset < to && e.goneAtMs == 0 {
			e.goneAtMs = m.clock.Now().UnixMilli() + m.o.Compaction.DeleteRetentionMs
		}
	}
}

// last is the last record of each key: what a compacted log is about.
func (m *compacted) last() map[string]*entry {
	last := map[string]*entry{}
	for _, e := range m.entries {
		if e.key != nil && !e.aborted && !e.control {
			last[string(e.key)] = e
		}
	}
	return last
}

// check reads the log from several offsets and compares what is there with what
// may be.
func (m *compacted) check(froms ...int64) {
	m.t.Helper()
	byOffset := map[int64]*entry{}
	for _, e := range m.entries {
		byOffset[e.offset] = e
	}
	for _, from := range froms {
		seen := map[string]*entry{}
		present := map[int64]bool{}
		for _, b := range m.readAll(from) {
			m.checkHeader(b)
			for _, e := range decode(m.t, b) {
				want := byOffset[e.offset]
				if want == nil || !sameRecord(e, want) {
					m.t.Fatalf("from %d: record %+v at %d, appended was %+v", from, e, e.offset, want)
				}
				present[e.offset] = true
				if e.offset >= from && want.key != nil && !want.aborted {
					seen[string(want.key)] = want
				}
			}
		}
		for key, want := range m.last() {
			got := seen[key]
			switch {
			case want.offset < from:
			case want.value != nil && got != want, want.value == nil && got != nil && got != want:
				m.t.Fatalf("from %d: the last of key %s is %+v, want %+v", from, key, got, want)
			case got == nil && (want.goneAtMs == 0 || m.clock.Now().UnixMilli() < want.goneAtMs):
				m.t.Fatalf("from %d: the tombstone of key %s at %d has gone before its time", from, key, want.offset)
			}
		}
		for _, e := range m.entries {
			if e.offset >= max(from, m.touched) && !present[e.offset] {
				m.t.Fatalf("from %d: offset %d is missing, cleaned is up to %d", from, e.offset, m.touched)
			}
		}
	}
}

// checkClean is check for a log that was just cleaned: below the first dirty
// offset nothing is there that should have gone.
func (m *compacted) checkClean() {
	m.t.Helper()
	newest := map[string]int64{}
	for _, e := range m.entries {
		if e.key != nil && !e.aborted && !e.control && e.offset < m.cleanedTo {
			newest[string(e.key)] = e.offset
		}
	}
	byOffset := map[int64]*entry{}
	for _, e := range m.entries {
		byOffset[e.offset] = e
	}
	for _, b := range m.readAll(m.LogStartOffset()) {
		for _, got := range decode(m.t, b) {
			e := byOffset[got.offset]
			switch {
			case e.control || e.offset >= m.cleanedTo:
			case e.aborted, e.key == nil, newest[string(e.key)] != e.offset:
				m.t.Fatalf("%+v is still there, cleaned is up to %d", e, m.cleanedTo)
			}
		}
	}
}

func (m *compacted) checkHeader(b record.Batch) {
	m.t.Helper()
	was := m.headers[b.BaseOffset()]
	if was == nil {
		m.t.Fatalf("batch at %d was never appended", b.BaseOffset())
	}
	if b.LastOffset() != was.LastOffset() || b.ProducerID() != was.ProducerID() || b.ProducerEpoch() != was.ProducerEpoch() ||
		b.BaseSequence() != was.BaseSequence() || b.LeaderEpoch() != was.LeaderEpoch() || b.IsControl() != was.IsControl() ||
		b.IsTransactional() != was.IsTransactional() || b.IsLogAppendTime() != was.IsLogAppendTime() ||
		b.Count() > 0 && b.Codec() != was.Codec() {
		m.t.Fatalf("batch at %d changed its header:\n% x, was\n% x", b.BaseOffset(), b[:record.HeaderSize], was[:record.HeaderSize])
	}
}

func decode(t rapid.TB, b record.Batch) (out []*entry) {
	r, err := b.Records(record.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rec record.Record
	newest := int64(-1)
	for r.Next(&rec) {
		e := &entry{offset: b.BaseOffset() + int64(rec.OffsetDelta), timestampMs: b.BaseTimestamp() + rec.TimestampDelta,
			key: clone(rec.Key), value: clone(rec.Value), control: b.IsControl()}
		if b.IsLogAppendTime() {
			e.timestampMs = b.MaxTimestamp()
		}
		if !b.IsControl() && (len(rec.Headers) != 1 || !bytes.Equal(rec.Headers[0].Value, rec.Key)) {
			t.Fatalf("headers of the record at %d: %v", e.offset, rec.Headers)
		}
		newest = max(newest, e.timestampMs)
		out = append(out, e)
	}
	if r.Err() != nil || len(out) > 0 && newest != b.MaxTimestamp() {
		t.Fatalf("batch at %d: %v, largest timestamp %d, its header says %d", b.BaseOffset(), r.Err(), newest, b.MaxTimestamp())
	}
	return out
}

// clone keeps null and empty apart.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func sameRecord(a, b *entry) bool {
	return a.timestampMs == b.timestampMs && (b.control ||
		bytes.Equal(a.key, b.key) && bytes.Equal(a.value, b.value) && (a.key == nil) == (b.key == nil) && (a.value == nil) == (b.value == nil))
}

// checkProducers holds the sequences that the log knows against those given.
func (m *compacted) checkProducers() {
	m.t.Helper()
	known := map[int64]int32{}
	for _, e := range m.Producers() {
		known[e.ProducerID] = e.LastSequence
	}
	for id, next := range m.sequences {
		if got, ok := known[id]; !ok || got != next-1 {
			m.t.Fatalf("producer %d: last sequence %d (%v), want %d", id, got, ok, next-1)
		}
	}
	for _, e := range m.Producers() {
		if (e.CurrentTxnFirstOffset >= 0) != (len(m.open[e.ProducerID]) > 0) {
			m.t.Fatalf("producer %d: open transaction at %d, want %v", e.ProducerID, e.CurrentTxnFirstOffset, m.open[e.ProducerID])
		}
	}
}

func (m *compacted) reopen(unclean, forget bool) {
	m.t.Helper()
	if unclean {
		if err := m.Flush(); err != nil {
			m.t.Fatal(err)
		}
		m.state.FirstDirty = m.FirstDirty()
		m.crash()
		m.state.RecoveryPoint = 0 // Everything is checked.
	} else {
		firstDirty := m.FirstDirty()
		m.close()
		m.state.FirstDirty = firstDirty
	}
	if forget {
		for _, name := range m.names() {
			if _, suffix, ok := ParseFileName(name); ok && suffix != LogSuffix {
				if err := m.fs.Remove(m.dir + "/" + name); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
	m.world.open()
	if r := m.Report(); r.Corruption != nil || r.DroppedSynced || r.TruncatedBytes > 0 {
		m.t.Fatalf("recovery found damage: %+v", r)
	}
}

// cleanAndCrash cuts the power at one call of a round and goes on with what a disk
// might hold then.
func (m *compacted) cleanAndCrash(at int, seed uint64) {
	m.t.Helper()
	if err := m.Flush(); err != nil {
		m.t.Fatal(err)
	}
	var left *vfs.Mem
	firstDirty, mem, calls := m.FirstDirty(), m.mem, 0
	m.faulty.OnCall(func(op vfs.Op, path string) error {
		if op != vfs.OpRead && op != vfs.OpSize && op != vfs.OpStat {
			if calls == at {
				left = mem.CrashClone(seed)
			}
			calls++
		}
		return nil
	})
	end := m.LogEndOffset()
	report, err := m.cleaner.Clean(m.Log, end)
	m.faulty.OnCall(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.noteCleaned(report.CleanedTo)
	if left == nil {
		return
	}
	m.crash()
	m.state.FirstDirty = firstDirty
	m.mount(left)
	m.world.open()
	if got := m.LogEndOffset(); got != end || m.Report().Corruption != nil {
		m.t.Fatalf("log end offset %d after a power cut while cleaning, want %d: %+v", got, end, m.Report())
	}
	m.cleanedTo = firstDirty
}

func (m *compacted) actions() map[string]func(*rapid.T) {
	picks := func(rt *rapid.T, keyless bool) []pick {
		return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) pick {
			p := pick{key: fmt.Appendf(nil, "k%d", rapid.IntRange(0, 9).Draw(rt, "key")), ms: testStart.UnixMilli() + rapid.Int64Range(-50, 50).Draw(rt, "ms")}
			if rapid.IntRange(0, 3).Draw(rt, "tombstone") > 0 {
				p.value = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "value")
			}
			if keyless && rapid.IntRange(0, 5).Draw(rt, "keyless") == 0 {
				p.key = nil
			}
			return p
		}), 1, 8).Draw(rt, "records")
	}
	codec := func(rt *rapid.T) record.Codec {
		return rapid.SampledFrom([]record.Codec{record.None, record.None, record.None, record.LZ4, record.Zstd, record.Snappy, record.Gzip}).Draw(rt, "codec")
	}
	appendPlain := func(rt *rapid.T) { m.put(codec(rt), -1, false, picks(rt, !m.o.Compacted)) }
	return map[string]func(*rapid.T){
		"append":  appendPlain,
		"append2": appendPlain,
		"append3": appendPlain,
		"produce": func(rt *rapid.T) {
			m.put(codec(rt), rapid.Int64Range(0, 2).Draw(rt, "producer"), false, picks(rt, false))
		},
		"in txn": func(rt *rapid.T) {
			m.put(codec(rt), rapid.Int64Range(10, 12).Draw(rt, "producer"), true, picks(rt, false))
		},
		"end txn": func(rt *rapid.T) {
			for id := range int64(3) {
				if len(m.open[10+id]) > 0 {
					m.end(10+id, rapid.Bool().Draw(rt, "commit"))
				}
			}
		},
		"roll":       func(rt *rapid.T) { m.ok(m.Roll()) },
		"new leader": func(*rapid.T) { m.epoch++ },
		"wait": func(rt *rapid.T) {
			m.clock.Advance(time.Duration(rapid.Int64Range(1, 1500).Draw(rt, "ms")) * time.Millisecond)
		},
		"clean": func(rt *rapid.T) {
			m.clean(m.LogEndOffset())
			m.checkClean()
		},
		"clean some": func(rt *rapid.T) {
			m.clean(rapid.Int64Range(0, m.LogEndOffset()).Draw(rt, "bound"))
		},
		"clean and crash": func(rt *rapid.T) {
			m.cleanAndCrash(rapid.IntRange(0, 40).Draw(rt, "call"), rapid.Uint64Range(0, 50).Draw(rt, "seed"))
		},
		"restart": func(rt *rapid.T) {
			m.reopen(rapid.Bool().Draw(rt, "unclean"), rapid.Bool().Draw(rt, "forget"))
			m.checkProducers()
		},
		"reconfigure": func(rt *rapid.T) {
			m.o.SegmentBytes = rapid.SampledFrom([]int64{1024, 2048, 4096}).Draw(rt, "segment")
			m.o.LogAppendTime = rapid.IntRange(0, 3).Draw(rt, "log append time") == 0
			m.o.Compacted = rapid.Bool().Draw(rt, "compacted")
			m.ok(m.Reconfigure(m.o))
		},
		"timestamps": m.timestamps,
		"": func(rt *rapid.T) {
			m.check(0, rapid.Int64Range(0, m.LogEndOffset()).Draw(rt, "from"))
		},
	}
}

func (m *compacted) ok(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// timestamps holds the lookups by time against what is in the log.
func (m *compacted) timestamps(rt *rapid.T) {
	var all []*entry
	newest := int64(-1)
	for _, b := range m.readAll(0) {
		for _, e := range decode(m.t, b) {
			all = append(all, e)
			newest = max(newest, e.timestampMs)
		}
	}
	lookup := func(ms int64, got TimestampOffset, ok bool, err error) {
		m.ok(err)
		i := slices.IndexFunc(all, func(e *entry) bool { return e.timestampMs >= ms })
		if ok != (i >= 0) || ok && got != (TimestampOffset{all[i].timestampMs, all[i].offset}) {
			m.t.Fatalf("first with %d: %+v, %v, want index %d", ms, got, ok, i)
		}
	}
	ms := testStart.UnixMilli() + rapid.Int64Range(-60, 60).Draw(rt, "ms")
	got, ok, err := m.OffsetForTimestamp(ms)
	lookup(ms, got, ok, err)
	got, ok, err = m.OffsetOfMaxTimestamp()
	if newest >= 0 || ok {
		lookup(newest, got, ok, err)
	}
}

// TestCleaningAgainstModel: whatever was appended, rolled, cleaned, restarted and
// cut off in between, a reader from any offset sees the last value of every key.
func TestCleaningAgainstModel(t *testing.T) {
	setChecks(t, scale(1000, 100, 25))
	rapid.Check(t, func(rt *rapid.T) {
		m := newCompacted(rt)
		m.world.open()
		rt.Repeat(m.actions())
		m.reopen(true, true)
		m.checkProducers()
		m.check(0)
	})
}
