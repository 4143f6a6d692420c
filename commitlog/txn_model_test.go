package commitlog

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// txnBatch is a batch of the model: what was appended, no more.
type txnBatch struct {
	base, last    int64
	producerID    int64
	transactional bool
	control       bool
	commit        bool
	keys, values  []string
	offsets       []int64 // of the records; nil where none is missing
}

func (b *txnBatch) offsetOf(i int) int64 {
	if b.offsets != nil {
		return b.offsets[i]
	}
	return b.base + int64(i)
}

// txnModel drives a log with transactions beside the list of all batches, from which
// it finds what a reader of committed data may see by looking at all of it.
type txnModel struct {
	*world
	rng       *rand.Rand
	compacted bool
	cleaner   *Cleaner
	batches   []txnBatch
	hw        int64
	sequences map[int64]int32
	epoch     int32
	mem       *vfs.Mem
	cleaned   bool
}

func newTxnModel(t *testing.T, seed uint64, compacted bool) *txnModel {
	m := &txnModel{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 3)), compacted: compacted, sequences: map[int64]int32{}}
	m.mem = vfs.NewMem()
	if err := m.mem.MkdirAll("/logs"); err != nil {
		t.Fatal(err)
	}
	if err := m.mem.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	m.fs = m.mem
	m.o.SegmentBytes, m.o.RetentionMs = 700, -1
	m.o.Compacted = compacted
	m.o.Compaction.DeleteRetentionMs = 500
	m.cleaner = NewCleaner(CleanerOptions{MapBytes: 24 * 16, MapLoad: 0.9, BufferBytes: 256})
	m.open()
	return m
}

func (m *txnModel) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *txnModel) step() {
	switch n := m.rng.IntN(100); {
	case n < 40:
		m.inTxn(10 + m.rng.Int64N(4))
	case n < 48:
		m.plain(-1)
	case n < 53:
		m.plain(20 + m.rng.Int64N(2))
	case n < 66:
		m.end(10 + m.rng.Int64N(4))
	case n < 78:
		m.advance()
	case n < 82:
		m.must(m.Roll())
	case n < 86:
		m.truncate()
	case n < 88:
		m.must(m.Flush())
	case n < 90:
		m.restart()
	case n < 92:
		m.kill()
	case n < 94:
		m.cutPower()
	case n < 96:
		m.drop()
	default:
		m.clean()
	}
}

// advance moves the high watermark to the end of some batch.
func (m *txnModel) advance() {
	for _, b := range m.batches {
		if b.last >= m.hw && m.rng.IntN(3) > 0 {
			m.hw = b.last + 1
		}
	}
}

// put appends a batch and notes it.
func (m *txnModel) put(b txnBatch, write func(record.Batch) (AppendInfo, error)) {
	m.t.Helper()
	w := record.NewBuilder(record.None, 0)
	if b.producerID >= 0 {
		w.Producer(b.producerID, 0, m.sequences[b.producerID])
		m.sequences[b.producerID] += int32(len(b.keys))
	}
	w.Transactional(b.transactional)
	for i, key := range b.keys {
		w.Append(m.clock.Now().UnixMilli(), []byte(key), []byte(b.values[i]), nil)
	}
	info, err := write(w.Build())
	m.must(err)
	b.base, b.last = info.BaseOffset, info.LastOffset
	m.batches = append(m.batches, b)
}

func (m *txnModel) records(b txnBatch) txnBatch {
	for range 1 + m.rng.IntN(3) {
		b.keys = append(b.keys, fmt.Sprint("k", m.rng.IntN(6)))
		b.values = append(b.values, fmt.Sprint("v", m.rng.IntN(1e6)))
	}
	return b
}

func (m *txnModel) plain(producerID int64) {
	m.put(m.records(txnBatch{producerID: producerID}), func(b record.Batch) (AppendInfo, error) {
		return m.AppendAsLeader(b, m.epoch, Client)
	})
}

func (m *txnModel) inTxn(producerID int64) {
	open := m.openSince(producerID) >= 0
	m.put(m.records(txnBatch{producerID: producerID, transactional: true}), func(b record.Batch) (AppendInfo, error) {
		g, needed := m.StartVerification(producerID, 0, b.BaseSequence())
		if needed == open {
			m.t.Fatalf("verification of producer %d, in a transaction: %v, is needed: %v", producerID, open, needed)
		}
		if needed {
			if _, err := m.AppendAsLeader(bytes.Clone(b), m.epoch, Client); err == nil {
				m.t.Fatalf("producer %d began a transaction that was not verified", producerID)
			}
		}
		return m.AppendTransactional(b, m.epoch, g)
	})
}

func (m *txnModel) end(producerID int64) {
	if m.openSince(producerID) < 0 && m.rng.IntN(5) > 0 {
		return
	}
	commit := m.rng.IntN(2) == 0
	info, err := m.AppendMarker(record.EndTxnMarker{ProducerID: producerID, Commit: commit, TimestampMs: m.clock.Now().UnixMilli()}, m.epoch, false)
	m.must(err)
	m.batches = append(m.batches, txnBatch{base: info.BaseOffset, last: info.LastOffset, producerID: producerID, transactional: true, control: true, commit: commit})
}

// openSince is where the producer's open transaction begins, −1 without.
func (m *txnModel) openSince(producerID int64) int64 {
	first := int64(-1)
	for _, b := range m.batches {
		switch {
		case b.producerID != producerID:
		case b.control:
			first = -1
		case b.transactional && first < 0:
			first = b.base
		}
	}
	return first
}

// stable is the last stable offset by looking at every transaction.
func (m *txnModel) stable() int64 {
	first := int64(math.MaxInt64)
	open := map[int64]int64{}
	for _, b := range m.batches {
		since, ok := open[b.producerID]
		switch {
		case b.control && ok:
			if b.base >= m.hw {
				first = min(first, since)
			}
			delete(open, b.producerID)
		case !b.control && b.transactional && !ok:
			open[b.producerID] = b.base
		}
	}
	for _, since := range open {
		first = min(first, since)
	}
	return min(m.hw, max(first, m.LogStartOffset()))
}

// committed are the records that a reader from offset on sees, as "offset key value".
func (m *txnModel) committed(from, to int64) []string {
	aborted := map[int]bool{}
	open := map[int64][]int{}
	for i, b := range m.batches {
		switch {
		case b.control:
			for _, j := range open[b.producerID] {
				aborted[j] = !b.commit
			}
			delete(open, b.producerID)
		case b.transactional:
			open[b.producerID] = append(open[b.producerID], i)
		}
	}
	var out []string
	for i, b := range m.batches {
		for j := range b.keys {
			if offset := b.offsetOf(j); offset >= from && offset < to && !aborted[i] {
				out = append(out, fmt.Sprintf("%d %s %s", offset, b.keys[j], b.values[j]))
			}
		}
	}
	return out
}

// consume reads as a client of isolation level read_committed does.
func (m *txnModel) consume(from, to int64) []string {
	m.t.Helper()
	var out []string
	for from < to {
		info, err := m.ReadCommitted(from, 1+m.rng.Int64N(900), to, true)
		m.must(err)
		data := drain(m.t, info.Chunk)
		if len(data) == 0 {
			return out // The last batches were compacted away.
		}
		if !slices.IsSortedFunc(info.Aborted, func(a, b AbortedTxn) int { return int(a.FirstOffset - b.FirstOffset) }) {
			m.t.Fatalf("aborted transactions out of order: %+v", info.Aborted)
		}
		aborted := map[int64]bool{}
		pending := info.Aborted
		for len(data) > 0 {
			b, rest, err := record.Parse(data)
			m.must(err)
			for len(pending) > 0 && pending[0].FirstOffset <= b.LastOffset() {
				aborted[pending[0].ProducerID] = true
				pending = pending[1:]
			}
			kind, _, marker := endMarker(b)
			switch {
			case b.IsControl() && marker && kind == record.Abort:
				delete(aborted, b.ProducerID())
			case !b.IsControl() && !(b.IsTransactional() && aborted[b.ProducerID()]):
				out = append(out, m.decode(b, from)...)
			}
			from, data = b.NextOffset(), rest
		}
	}
	return out
}

func (m *txnModel) decode(b record.Batch, from int64) (out []string) {
	r, err := b.Records(record.Limits{})
	m.must(err)
	defer r.Close()
	var rec record.Record
	for r.Next(&rec) {
		if offset := b.BaseOffset() + int64(rec.OffsetDelta); offset >= from {
			out = append(out, fmt.Sprintf("%d %s %s", offset, rec.Key, rec.Value))
		}
	}
	return out
}

// check compares what the log says with the model.
func (m *txnModel) check() {
	m.t.Helper()
	lso := m.LastStableOffset(m.hw)
	if want := m.stable(); lso != want {
		m.t.Fatalf("last stable offset %d below high watermark %d, want %d", lso, m.hw, want)
	}
	for _, e := range m.Producers() {
		if want := m.openSince(e.ProducerID); e.CurrentTxnFirstOffset != want {
			m.t.Fatalf("producer %d has an open transaction since %d, want %d", e.ProducerID, e.CurrentTxnFirstOffset, want)
		}
	}
	start := m.LogStartOffset()
	from := start
	if lso > start && m.rng.IntN(2) == 0 {
		from += m.rng.Int64N(lso - start)
	}
	got, want := m.consume(from, lso), m.committed(from, lso)
	if !m.cleaned && !slices.Equal(got, want) {
		m.t.Fatalf("from %d to %d a reader of committed data gets\n%q, want\n%q", from, lso, got, want)
	}
	if m.cleaned {
		m.checkCompacted(got, want)
	}
}

// checkCompacted: nothing that is not committed, in order, and the last of every key.
func (m *txnModel) checkCompacted(got, want []string) {
	m.t.Helper()
	last := map[string]string{}
	for _, r := range want {
		var offset int64
		var key, value string
		_, _ = fmt.Sscan(r, &offset, &key, &value)
		last[key] = r
	}
	rest := want
	for _, r := range got {
		i := slices.Index(rest, r)
		if i < 0 {
			m.t.Fatalf("a reader of committed data gets %q, which is not committed or out of order; all:\n%q", r, want)
		}
		rest = rest[i+1:]
	}
	for key, r := range last {
		if !slices.Contains(got, r) {
			m.t.Fatalf("a reader of committed data misses %q, the last of key %s; it gets\n%q", r, key, got)
		}
	}
}

func (m *txnModel) truncate() {
	var ends []int64
	for _, b := range m.batches {
		if b.base >= max(m.hw, m.LogStartOffset()+1) {
			ends = append(ends, b.base)
		}
	}
	if len(ends) == 0 {
		return
	}
	m.must(m.TruncateTo(ends[m.rng.IntN(len(ends))]))
	m.epoch++
	m.endedAt()
}

// endedAt forgets what the log has lost at its end.
func (m *txnModel) endedAt() {
	end := m.LogEndOffset()
	m.batches = slices.DeleteFunc(m.batches, func(b txnBatch) bool { return b.last >= end })
	m.hw = min(m.hw, end)
	clear(m.sequences)
	for _, p := range m.Producers() {
		m.sequences[p.ProducerID] = p.LastSequence + 1
	}
}

func (m *txnModel) checkpoints() {
	m.state.HighWatermark, m.state.FirstDirty = m.hw, m.FirstDirty()
}

func (m *txnModel) restart() {
	firstDirty := m.FirstDirty()
	m.close()
	m.state.HighWatermark, m.state.FirstDirty = m.hw, firstDirty
	if m.rng.IntN(3) == 0 {
		m.forget()
	}
	m.open()
}

// forget loses or damages some of the side files of a closed log.
func (m *txnModel) forget() {
	for _, name := range m.names() {
		switch _, suffix, ok := ParseFileName(name); {
		case !ok:
		case m.rng.IntN(2) == 0 && suffix == SnapshotSuffix && !m.cleaned:
			m.must(m.fs.Remove(m.dir + "/" + name))
		case suffix == TxnIndexSuffix && len(m.content(name)) > 0:
			data := m.content(name)
			switch m.rng.IntN(3) {
			case 0:
				m.overwrite(name, data[:len(data)-1])
			case 1:
				data[1] = 9 // A version that nobody knows.
				m.overwrite(name, data)
			}
		}
	}
	if m.rng.IntN(2) == 0 {
		return
	}
	for _, name := range m.names() {
		if _, suffix, ok := ParseFileName(name); ok && (suffix == IndexSuffix || suffix == TxnIndexSuffix) {
			m.must(m.fs.Remove(m.dir + "/" + name))
		}
	}
}

// kill loses what was in memory only.
func (m *txnModel) kill() {
	m.checkpoints()
	state := m.state
	m.crash()
	m.state.HighWatermark, m.state.FirstDirty = state.HighWatermark, state.FirstDirty
	m.open()
	m.endedAt()
}

func (m *txnModel) cutPower() {
	if m.compacted {
		m.must(m.Flush()) // A hole in a compacted log may be what compaction has left.
	}
	m.checkpoints()
	state := m.state
	m.crash()
	m.state.HighWatermark, m.state.FirstDirty = state.HighWatermark, state.FirstDirty
	m.mem = m.mem.CrashClone(m.rng.Uint64N(100))
	m.fs = m.mem
	m.open()
	m.endedAt()
}

// drop removes records at the start of the log.
func (m *txnModel) drop() {
	lso := m.LastStableOffset(m.hw)
	if m.cleaned || lso == 0 {
		return
	}
	m.must(m.AdvanceLogStart(m.rng.Int64N(lso + 1)))
	m.must(m.Flush())
	_, err := m.ApplyRetention(m.clock.Now(), m.hw)
	m.must(err)
}

func (m *txnModel) clean() {
	if !m.compacted {
		return
	}
	m.clock.Advance(time.Duration(m.rng.IntN(600)) * time.Millisecond)
	_, err := m.cleaner.Clean(m.Log, m.LastStableOffset(m.hw))
	m.must(err)
	m.cleaned = true
}

// found is a model of what the log itself holds, batch by batch.
func (m *txnModel) found(w *world) *txnModel {
	m.t.Helper()
	f := &txnModel{world: w, rng: rand.New(rand.NewPCG(uint64(w.LogEndOffset()), 5)), hw: w.state.HighWatermark}
	for _, b := range w.readAll(w.LogStartOffset()) {
		kind, _, marker := endMarker(b)
		x := txnBatch{base: b.BaseOffset(), last: b.LastOffset(), producerID: b.ProducerID(), transactional: b.IsTransactional(),
			control: b.IsControl(), commit: marker && kind == record.Commit}
		if !x.control {
			for _, r := range f.decode(b, 0) {
				var offset int64
				var key, value string
				_, _ = fmt.Sscan(r, &offset, &key, &value)
				x.keys, x.values, x.offsets = append(x.keys, key), append(x.values, value), append(x.offsets, offset)
			}
		}
		f.batches = append(f.batches, x)
	}
	return f
}

// TestPowerCutsWithTransactions cuts the power before every change that an operation
// makes on the disk: what is recovered tells a reader of committed data no more and no
// less than its batches do.
func TestPowerCutsWithTransactions(t *testing.T) {
	for seed := range uint64(scale(200, 24, 6)) {
		compacted := seed%2 == 1
		m := newTxnModel(t, 10_000+seed, compacted)
		faulty := vfs.NewFaulty(m.mem)
		m.fs, m.Log.fs = faulty, faulty
		m.restart() // With every file opened through faulty.
		saved, cuts := m.state, uint64(0)
		faulty.OnCall(func(op vfs.Op, path string) error {
			if !changes(op) {
				return nil
			}
			cuts++
			w := newWorld(t)
			w.fs, w.o, w.state = m.mem.CrashClone(cuts%7), m.o, saved
			w.state.CleanShutdown = false
			w.clock.Advance(m.clock.Now().Sub(testStart))
			w.open()
			w.state.HighWatermark = min(w.state.HighWatermark, w.LogEndOffset())
			f := m.found(w)
			for range 3 {
				f.check()
				f.advance()
			}
			f.hw = f.LogEndOffset()
			f.check()
			return nil
		})
		for range 50 {
			switch m.rng.IntN(8) {
			case 0, 1, 2:
				m.inTxn(10 + m.rng.Int64N(3))
			case 3:
				m.end(10 + m.rng.Int64N(3))
			case 4:
				m.advance()
				saved.HighWatermark = m.hw // What was cleaned tells less of what was below it.
				m.clean()
			case 5:
				m.must(m.Roll())
				m.must(m.Flush())
			case 6:
				if !m.compacted {
					m.truncate()
				}
			default:
				m.plain(-1)
			}
			if m.compacted {
				m.must(m.Flush()) // As in cutPower.
			}
			saved = OpenState{RecoveryPoint: m.RecoveryPoint(), HighWatermark: m.hw, FirstDirty: m.FirstDirty()}
		}
		faulty.OnCall(nil)
		m.close()
		if cuts < 50 {
			t.Fatalf("seed %d: %d cuts, want more", seed, cuts)
		}
	}
}

// TestTransactionsAgainstModel: whatever was written, ended, truncated, cleaned and
// cut off in between, the last stable offset and what a reader of committed data sees
// are those that a look at every batch ever written gives.
func TestTransactionsAgainstModel(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		for seed := range uint64(scale(5000, 600, 100)) {
			t.Run(fmt.Sprintf("compacted=%v/%d", compacted, seed), func(t *testing.T) {
				m := newTxnModel(t, seed, compacted)
				for range 70 {
					m.step()
					m.check()
				}
				m.hw = m.LogEndOffset()
				m.check()
			})
		}
	}
}

// TestCleanedMarkersTakeTheirEntries: once compaction has dropped the marker of an
// aborted transaction, nobody is told of the transaction any more; a consumer would
// skip what the producer has committed since.
func TestCleanedMarkersTakeTheirEntries(t *testing.T) {
	m := newTxnModel(t, 1, true)
	write := func(b txnBatch) {
		m.put(b, func(b record.Batch) (AppendInfo, error) { return m.AppendTransactional(b, 0, Unverified) })
	}
	end := func(commit bool) {
		info := m.endTxn(10, commit)
		m.batches = append(m.batches, txnBatch{base: info.BaseOffset, last: info.LastOffset, producerID: 10, transactional: true, control: true, commit: commit})
	}
	write(txnBatch{producerID: 10, transactional: true, keys: []string{"a"}, values: []string{"aborted"}})
	end(false)
	write(txnBatch{producerID: 10, transactional: true, keys: []string{"b"}, values: []string{"committed"}})
	end(true)
	told := []int{}
	for i := range 4 {
		m.plain(-1)
		m.must(m.Roll())
		m.hw = m.LogEndOffset()
		_, err := m.cleaner.Clean(m.Log, m.hw)
		m.must(err)
		m.cleaned = true
		aborted, err := m.AbortedTxns(0, m.hw)
		m.must(err)
		told = append(told, len(aborted))
		markers := 0
		for _, b := range m.readAll(0) {
			if kind, _, ok := endMarker(b); ok && kind == record.Abort {
				markers++
			}
		}
		if len(aborted) > markers || i == 3 && markers > 0 {
			t.Errorf("round %d: %d aborted transactions, %d abort markers", i, len(aborted), markers)
		}
		m.check()
		m.clock.Advance(time.Second)
	}
	if !slices.Equal(told, []int{1, 0, 0, 0}) {
		t.Errorf("aborted transactions after each round: %v, want one until no round sees its data", told)
	}
	m.close()
}
