package commitlog

import (
	"bytes"
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/commitlog/epoch"
	"tidemark/commitlog/producer"
	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// twin is the log as a slice: what a Log must do, in the most obvious way.
type twin struct {
	batches    []record.Batch
	start, end int64
}

func (m *twin) append(b record.Batch) {
	m.batches, m.end = append(m.batches, bytes.Clone(b)), b.NextOffset()
}

// from lists the batches that reach offset.
func (m *twin) from(offset int64) []record.Batch {
	for i, b := range m.batches {
		if b.LastOffset() >= offset {
			return m.batches[i:]
		}
	}
	return nil
}

func (m *twin) truncate(offset int64) {
	switch {
	case offset >= m.end:
		return
	case offset <= m.start:
		*m = twin{start: offset, end: offset}
		return
	}
	m.end = offset
	for i, b := range m.batches {
		if b.LastOffset() >= offset {
			m.end, m.batches = min(offset, b.BaseOffset()), m.batches[:i]
			break
		}
	}
	if m.end <= m.start {
		*m = twin{start: m.start, end: m.start}
	}
}

// epochs are the leader epochs of the batches that are there.
func (m *twin) epochs() string {
	var c epoch.Cache
	for _, b := range m.batches {
		c.Assign(b.LeaderEpoch(), b.BaseOffset())
	}
	c.TruncateStart(m.start)
	c.TruncateEnd(m.end)
	return string(epoch.Encode(c.Entries()))
}

// epochs are those of the log, but for one that has no record yet: a restart may
// forget it.
func (p *pair) epochs() string {
	var c epoch.Cache
	c.Load(p.Epochs())
	c.TruncateEnd(p.LogEndOffset())
	return string(epoch.Encode(c.Entries()))
}

// first is the first record at or after the log start offset with a timestamp
// for which ok holds.
func (m *twin) first(ok func(timestampMs int64) bool) (TimestampOffset, bool) {
	for _, b := range m.from(m.start) {
		r, err := b.Records(record.Limits{})
		if err != nil {
			panic(err)
		}
		var rec record.Record
		for r.Next(&rec) {
			at := TimestampOffset{b.BaseTimestamp() + rec.TimestampDelta, b.BaseOffset() + int64(rec.OffsetDelta)}
			if at.Offset >= m.start && ok(at.TimestampMs) {
				r.Close()
				return at, true
			}
		}
		r.Close()
	}
	return TimestampOffset{}, false
}

func (m *twin) maxTimestamp() int64 {
	largest := int64(-1)
	m.first(func(ms int64) bool { largest = max(largest, ms); return false })
	return largest
}

// pair drives a log and its twin through the same operations.
type pair struct {
	*world
	twin
	epoch     int32
	sequences map[int64]int32
	reads     []engines.ReadSpec
}

func (p *pair) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append":       p.appendSome,
		"append more":  p.appendSome,
		"produce":      p.produce,
		"follow":       p.follow,
		"roll":         func(rt *rapid.T) { p.ok(rt, p.Roll()) },
		"flush":        func(rt *rapid.T) { p.ok(rt, p.Flush()) },
		"new leader":   func(*rapid.T) { p.epoch++ },
		"truncate":     p.cut,
		"start over":   p.startOver,
		"delete":       p.deleteRecords,
		"retain":       p.retain,
		"close":        func(*rapid.T) { p.close(); p.open() },
		"kill":         func(*rapid.T) { p.crash(); p.open() },
		"lose indexes": p.loseFiles,
		"switch read":  p.switchRead,
		"read":         p.readSome,
		"read more":    p.readSome,
		"timestamps":   p.timestamps,
		"":             p.compare,
	}
}

func (p *pair) ok(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

func (p *pair) appendSome(rt *rapid.T) {
	codec := rapid.SampledFrom([]record.Codec{record.None, record.None, record.LZ4}).Draw(rt, "codec")
	count := rapid.IntRange(1, 12).Draw(rt, "count")
	ms := rapid.Int64Range(0, 200).Draw(rt, "timestamp")
	b := batchOf(codec, count, ms)
	_, err := p.AppendAsLeader(b, p.epoch, Client)
	p.ok(rt, err)
	p.append(b)
}

func (p *pair) produce(rt *rapid.T) {
	id := rapid.Int64Range(0, 3).Draw(rt, "producer")
	b := idempotent(id, 0, p.sequences[id], 2)
	info, err := p.AppendAsLeader(b, p.epoch, Client)
	p.ok(rt, err)
	if info.Duplicate {
		rt.Fatalf("sequence %d of producer %d taken for a duplicate of %d", p.sequences[id], id, info.BaseOffset)
	}
	p.append(b)
	p.sequences[id] += 2
	if again, err := p.AppendAsLeader(idempotent(id, 0, p.sequences[id]-2, 2), p.epoch, Client); err != nil || !again.Duplicate || again.BaseOffset != b.BaseOffset() {
		rt.Fatalf("retry of %d: %+v, %v, want a duplicate", b.BaseOffset(), again, err)
	}
}

func (p *pair) follow(rt *rapid.T) {
	var data []byte
	next := p.twin.end
	for range rapid.IntRange(1, 5).Draw(rt, "batches") {
		b := batch(rapid.IntRange(1, 9).Draw(rt, "count"), 50)
		b.SetBaseOffset(next)
		b.SetLeaderEpoch(p.epoch)
		data = append(data, b...)
		p.append(b)
		next = b.NextOffset()
	}
	_, err := p.AppendAsFollower(data)
	p.ok(rt, err)
}

// offset draws one near the log.
func (p *pair) offset(rt *rapid.T) int64 {
	return rapid.Int64Range(max(0, p.twin.start-3), p.twin.end+3).Draw(rt, "offset")
}

func (p *pair) cut(rt *rapid.T) {
	offset := p.offset(rt)
	p.ok(rt, p.TruncateTo(offset))
	p.truncate(offset)
	p.forgetSequences()
}

// forgetSequences makes the producers go on from what the log still knows.
func (p *pair) forgetSequences() {
	p.sequences = map[int64]int32{}
	for _, e := range p.Producers() {
		p.sequences[e.ProducerID] = e.LastSequence + 1
	}
}

func (p *pair) startOver(rt *rapid.T) {
	if rapid.IntRange(0, 4).Draw(rt, "really") > 0 {
		return
	}
	offset := p.offset(rt)
	p.ok(rt, p.TruncateFullyAndStartAt(offset))
	p.twin = twin{start: offset, end: offset}
	p.forgetSequences()
}

func (p *pair) deleteRecords(rt *rapid.T) {
	offset := rapid.Int64Range(p.twin.start, p.twin.end).Draw(rt, "offset")
	p.ok(rt, p.AdvanceLogStart(offset))
	p.twin.start = offset
}

func (p *pair) retain(rt *rapid.T) {
	before := p.Size()
	o := p.o
	o.RetentionBytes = rapid.Int64Range(0, 8000).Draw(rt, "retention")
	hw := p.offset(rt)
	p.ok(rt, p.Reconfigure(o))
	_, err := p.ApplyRetention(p.clock.Now(), hw)
	p.ok(rt, err)
	if got := p.LogStartOffset(); got < p.twin.start || got > p.twin.start && (got > hw || p.Size() < o.RetentionBytes) {
		rt.Fatalf("log start %d after %d, high watermark %d, %d bytes left of %d, %d retained",
			got, p.twin.start, hw, p.Size(), before, o.RetentionBytes)
	}
	p.twin.start = p.LogStartOffset()
	p.clock.Advance(time.Hour)
}

func (p *pair) loseFiles(rt *rapid.T) {
	p.close()
	for _, name := range p.names() {
		if offset, suffix, ok := ParseFileName(name); ok && suffix == LogSuffix || name == "." {
			_ = offset
			continue
		}
		switch rapid.IntRange(0, 3).Draw(rt, "harm") {
		case 0:
			p.ok(rt, p.fs.Remove(p.dir+"/"+name))
		case 1:
			p.overwrite(name, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "content"))
		}
	}
	p.open()
	if rapid.Bool().Draw(rt, "unclean too") {
		p.crash()
		p.open()
	}
	p.forgetSequences()
}

func (p *pair) switchRead(rt *rapid.T) {
	p.o.Read = rapid.SampledFrom(p.reads).Draw(rt, "engine")
	p.ok(rt, p.Reconfigure(p.o))
}

func (p *pair) readSome(rt *rapid.T) {
	offset, bound := p.offset(rt), p.offset(rt)
	maxBytes := rapid.Int64Range(0, 3000).Draw(rt, "max")
	minOne := rapid.Bool().Draw(rt, "minOne")
	info, err := p.Read(offset, maxBytes, bound, minOne)
	if offset < p.twin.start || offset > p.twin.end {
		if err != ErrOffsetOutOfRange {
			rt.Fatalf("read %d of %d to %d: %v, want ErrOffsetOutOfRange", offset, p.twin.start, p.twin.end, err)
		}
		return
	}
	p.ok(rt, err)
	got := drain(p.t, info.Chunk)
	var want []byte
	for _, b := range p.from(offset) {
		tooMuch := int64(len(want)+b.Size()) > maxBytes && !(minOne && len(want) == 0)
		segmentEnd := len(want) == len(got) && p.atSegmentBase(b.BaseOffset())
		if b.LastOffset() >= bound || tooMuch || segmentEnd && len(want) > 0 {
			break
		}
		want = append(want, b...)
	}
	if !bytes.Equal(got, want) {
		rt.Fatalf("read %d, %d bytes, below %d, minOne %v: %d bytes, want %d", offset, maxBytes, bound, minOne, len(got), len(want))
	}
}

func (p *pair) atSegmentBase(offset int64) bool {
	for _, s := range p.view.segments {
		if s.base == offset {
			return true
		}
	}
	return false
}

func (p *pair) timestamps(rt *rapid.T) {
	ms := rapid.Int64Range(-1, 230).Draw(rt, "timestamp")
	got, ok, err := p.OffsetForTimestamp(ms)
	p.ok(rt, err)
	want, wantOK := p.first(func(recordMs int64) bool { return recordMs >= ms })
	if got != want || ok != wantOK {
		rt.Fatalf("first with %d: %+v, %v, want %+v, %v", ms, got, ok, want, wantOK)
	}
	got, ok, err = p.OffsetOfMaxTimestamp()
	p.ok(rt, err)
	largest := p.maxTimestamp()
	want, wantOK = p.first(func(recordMs int64) bool { return recordMs == largest })
	if got != want || ok != wantOK {
		rt.Fatalf("largest: %+v, %v, want %+v, %v", got, ok, want, wantOK)
	}
}

func (p *pair) compare(rt *rapid.T) {
	if start, end := p.LogStartOffset(), p.LogEndOffset(); start != p.twin.start || end != p.twin.end {
		rt.Fatalf("log from %d to %d, want %d to %d", start, end, p.twin.start, p.twin.end)
	}
	if r := p.Report(); r.Corruption != nil || r.DroppedSynced || r.TruncatedBytes > 0 {
		rt.Fatalf("report %+v of a log that was not damaged", r)
	}
	if diff := cmp.Diff(p.twin.epochs(), p.epochs()); diff != "" {
		rt.Fatalf("leader epochs (-want +got):\n%s", diff)
	}
	got := p.readAll(p.twin.start)
	if diff := cmp.Diff(p.from(p.twin.start), got); len(got)+len(p.from(p.twin.start)) > 0 && diff != "" {
		rt.Fatalf("batches (-want +got):\n%s", diff)
	}
	p.checkProducers(rt)
}

// checkProducers holds the remembered producers that are in the log against it.
func (p *pair) checkProducers(rt *rapid.T) {
	last := map[int64]int32{}
	for _, b := range p.from(p.twin.start) {
		if b.ProducerID() >= 0 {
			last[b.ProducerID()] = b.LastSequence()
		}
	}
	known := map[int64]producer.Entry{}
	for _, e := range p.Producers() {
		known[e.ProducerID] = e
	}
	for id, sequence := range last {
		if e, ok := known[id]; !ok || e.LastSequence != sequence {
			rt.Fatalf("producer %d: %+v, want last sequence %d", id, e, sequence)
		}
	}
}

func (p *pair) run(rt *rapid.T) {
	p.t = rt
	p.sequences = map[int64]int32{}
	p.open()
	rt.Repeat(p.actions())
	p.close()
}

func TestLogAgainstTwinInMemory(t *testing.T) {
	setChecks(t, scale(1000, 60, 10))
	rapid.Check(t, func(rt *rapid.T) {
		p := &pair{world: newWorld(t)}
		p.reads = []engines.ReadSpec{p.o.Read}
		p.run(rt)
	})
}

// setChecks sets how often rapid.Check runs in a test.
func setChecks(t *testing.T, n int) {
	checks := flag.Lookup("rapid.checks")
	former := checks.Value.String()
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(former) }) // It was a valid value.
}

func TestLogAgainstTwinOnEveryPair(t *testing.T) {
	setChecks(t, scale(20, 2, 1))
	all := catalog.Builtin()
	for _, a := range all.Appends() {
		for _, r := range all.Reads() {
			t.Run(a.Name+" and "+r.Name, func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					p := &pair{world: newWorld(t), reads: all.Reads()}
					p.fs, p.dir = vfs.OS{}, t.TempDir()
					p.o.Append, p.o.Read = a, r
					p.run(rt)
				})
			})
		}
	}
}
