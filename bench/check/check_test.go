package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/bench/ledger"
)

// entry is a record in a log.
type entry struct {
	offset int64
	value  []byte
}

// world is what was produced, twice: in the ledger, and in plain maps.
type world struct {
	l     *ledger.Ledger
	sent  map[ledger.Stream]uint64
	acked map[ledger.Stream]map[uint64]int64
	gone  map[ledger.Stream]map[uint64]bool // definitely failed
	log   []entry
}

func newWorld() *world {
	return &world{l: ledger.New(9), sent: map[ledger.Stream]uint64{}, acked: map[ledger.Stream]map[uint64]int64{}, gone: map[ledger.Stream]map[uint64]bool{}}
}

const topic, partition = 3, 1

// send stamps a record, and puts it into the log when stored says so.
func (w *world) send(producer uint16, stored bool) (s ledger.Stream, seq uint64, offset int64) {
	s = ledger.Stream{Topic: topic, Producer: producer, Partition: partition}
	value := make([]byte, ledger.HeaderBytes+4)
	seq = w.l.Account(s).Stamp(value, 0)
	w.sent[s]++
	if stored {
		offset = int64(len(w.log))
		w.log = append(w.log, entry{offset, value})
	}
	return s, seq, offset
}

func (w *world) ack(s ledger.Stream, seq uint64, offset int64) {
	w.l.Account(s).Acked(seq, 1, offset, 0)
	if w.acked[s] == nil {
		w.acked[s] = map[uint64]int64{}
	}
	w.acked[s][seq] = offset
}

func (w *world) fail(s ledger.Stream, seq uint64) {
	w.l.Account(s).Failed(seq, 1)
	if w.gone[s] == nil {
		w.gone[s] = map[uint64]bool{}
	}
	w.gone[s][seq] = true
}

func (w *world) check() Report {
	c := New(w.l, topic, partition)
	for _, e := range w.log {
		c.Read(e.offset, e.value)
	}
	return c.Report()
}

// naive counts anomalies by their definitions, with memory of every record.
func (w *world) naive() Counts {
	var n Counts
	type id struct {
		s   ledger.Stream
		seq uint64
	}
	reads := map[id][]int64{}
	highest := map[ledger.Stream]uint64{}
	last := int64(-1)
	for _, e := range w.log {
		n.Read++
		if e.offset <= last {
			n.Inconsistent++
		}
		last = e.offset
		r, err := ledger.Parse(e.value)
		if err != nil {
			n.Corrupt++
			continue
		}
		k := id{r.Stream, r.Seq}
		if r.Run != w.l.Run || r.Topic != topic || r.Partition != partition || r.Seq >= w.sent[r.Stream] || w.gone[r.Stream][r.Seq] {
			n.Phantom++
			continue
		}
		if len(reads[k]) > 0 {
			n.Duplicate++
		} else if r.Seq < highest[r.Stream] {
			n.Reordered++
		}
		if _, ok := w.acked[r.Stream][r.Seq]; !ok && len(reads[k]) == 0 {
			n.Unanswered++
		}
		reads[k] = append(reads[k], e.offset)
		highest[r.Stream] = max(highest[r.Stream], r.Seq)
	}
	for s, acked := range w.acked {
		for seq, offset := range acked {
			switch at := reads[id{s, seq}]; {
			case len(at) == 0:
				n.Lost++
			case !slices.Contains(at, offset):
				n.Inconsistent++
			}
		}
	}
	return n
}

// TestAgainstANaiveTwin produces through up to three producers and then damages
// the log at random: both must count the same.
func TestAgainstANaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(0, 60).Draw(t, "records") {
			p := uint16(rapid.IntRange(0, 2).Draw(t, "producer"))
			switch rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0:
				w.send(p, rapid.Bool().Draw(t, "stored")) // no answer
			case 1:
				s, seq, _ := w.send(p, rapid.IntRange(0, 5).Draw(t, "phantom") == 0)
				w.fail(s, seq)
			default:
				w.ack(w.send(p, true))
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "damages") {
			if len(w.log) == 0 {
				break
			}
			i, k := rapid.IntRange(0, len(w.log)-1).Draw(t, "i"), rapid.IntRange(0, len(w.log)-1).Draw(t, "k")
			switch rapid.IntRange(0, 6).Draw(t, "damage") {
			case 0: // lost
				w.log = slices.Delete(w.log, i, i+1)
			case 1: // again, at the end
				w.log = append(w.log, entry{w.log[len(w.log)-1].offset + 1, w.log[i].value})
			case 2: // swapped, offsets in order
				w.log[i].value, w.log[k].value = w.log[k].value, w.log[i].value
			case 3: // a bit
				w.log[i].value = slices.Clone(w.log[i].value)
				w.log[i].value[rapid.IntRange(0, len(w.log[i].value)-1).Draw(t, "byte")] ^= 4
			case 4: // out of nowhere
				value := make([]byte, ledger.HeaderBytes)
				ledger.Record{Run: w.l.Run - uint32(rapid.IntRange(0, 1).Draw(t, "run")), Stream: ledger.Stream{Topic: topic, Partition: partition,
					Producer: uint16(rapid.IntRange(0, 4).Draw(t, "by"))}, Seq: uint64(rapid.IntRange(0, 90).Draw(t, "seq"))}.Put(value)
				w.log[i].value = value
			case 5: // the end is gone
				w.log = w.log[:i]
			case 6: // an offset goes back
				w.log[i].offset = w.log[k].offset
			}
		}
		if d := cmp.Diff(w.naive(), w.check().Counts); d != "" {
			t.Fatalf("counts (-naive +check):\n%s", d)
		}
	})
}

// healthy is 100 acknowledged records of one producer.
func healthy() *world {
	w := newWorld()
	for range 100 {
		w.ack(w.send(0, true))
	}
	return w
}

// TestPlantedAnomalies damages a sound log in one way at a time: each must be
// named for what it is, and nothing else.
func TestPlantedAnomalies(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(w *world)
		want  Counts
		says  string
	}{
		{"nothing", func(*world) {}, Counts{Read: 100}, "100 read; 0 lost"},
		{"one acknowledged record dropped", func(w *world) { w.log = slices.Delete(w.log, 41, 42) }, Counts{Read: 99, Lost: 1}, "lost: topic 3 partition 1 producer 0, 1 from sequence 41"},
		{"the tail cut off", func(w *world) { w.log = w.log[:90] }, Counts{Read: 90, Lost: 10}, "10 from sequence 90"},
		{"everything gone", func(w *world) { w.log = nil }, Counts{Lost: 100}, "100 from sequence 0"},
		{"one twice", func(w *world) { w.log = append(w.log, entry{100, w.log[7].value}) }, Counts{Read: 101, Duplicate: 1}, "again at offset 100, after sequence 99"},
		{"two swapped", func(w *world) { w.log[5].value, w.log[6].value = w.log[6].value, w.log[5].value },
			Counts{Read: 100, Reordered: 1, Inconsistent: 2}, "reordered"},
		{"a body changed", func(w *world) { w.log[9].value[ledger.HeaderBytes] ^= 1 }, Counts{Read: 100, Lost: 1, Corrupt: 1}, "at offset 9: checksum"},
		{"a stranger's value", func(w *world) { w.log = append(w.log, entry{100, []byte("hello")}) }, Counts{Read: 101, Corrupt: 1}, "shorter than"},
		{"never sent", func(w *world) { w.log = append(w.log, entry{100, forged(w.l.Run, 0, 100)}) }, Counts{Read: 101, Phantom: 1}, "100 records were sent"},
		{"of another run", func(w *world) { w.log = append(w.log, entry{100, forged(w.l.Run+1, 0, 3)}) }, Counts{Read: 101, Phantom: 1}, "no such producer"},
		{"of an unknown producer", func(w *world) { w.log = append(w.log, entry{100, forged(w.l.Run, 5, 3)}) }, Counts{Read: 101, Phantom: 1}, "no such producer"},
		{"refused and there", func(w *world) { s, seq, _ := w.send(0, true); w.fail(s, seq) }, Counts{Read: 101, Phantom: 1}, "had refused it"},
		{"another offset than the answer's", func(w *world) { s, seq, o := w.send(0, true); w.ack(s, seq, o+5) }, Counts{Read: 101, Inconsistent: 1}, "at offset 100, acknowledged at 105"},
		{"offsets that go back", func(w *world) { w.log = append(w.log, w.log[99]) }, Counts{Read: 101, Duplicate: 1, Inconsistent: 1}, "offset 99 after offset 99"},
		{"unanswered and there", func(w *world) { w.send(0, true) }, Counts{Read: 101, Unanswered: 1}, "1 without an answer"},
		{"unanswered and not there", func(w *world) { w.send(0, false) }, Counts{Read: 100}, "0 lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := healthy()
			c.plant(w)
			r := w.check()
			if d := cmp.Diff(c.want, r.Counts); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
			if !strings.Contains(r.String(), c.says) {
				t.Errorf("the report does not say %q:\n%s", c.says, r)
			}
		})
	}
}

func forged(run uint32, producer uint16, seq uint64) []byte {
	value := make([]byte, ledger.HeaderBytes)
	ledger.Record{Run: run, Stream: ledger.Stream{Topic: topic, Producer: producer, Partition: partition}, Seq: seq}.Put(value)
	return value
}

// TestRetriedRecord: a copy that was appended before its answer was lost, and the
// retry that was answered, are a duplicate; the answer told the truth.
func TestRetriedRecord(t *testing.T) {
	w := newWorld()
	s, seq, _ := w.send(0, true)
	w.log = append(w.log, entry{1, w.log[0].value})
	w.ack(s, seq, 1)
	if d := cmp.Diff(Counts{Read: 2, Duplicate: 1}, w.check().Counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}

func TestLostSpans(t *testing.T) {
	w := healthy()
	w.log = append(slices.Clone(w.log[:20]), w.log[30:95]...)
	r := w.check()
	want := []LostSpan{{w.l.Views()[0].Stream, 20, 10}, {w.l.Views()[0].Stream, 95, 5}}
	if d := cmp.Diff(want, r.LostSpans); d != "" {
		t.Errorf("lost (-want +got):\n%s", d)
	}
	if r.Lost != 15 {
		t.Errorf("%d lost, want 15", r.Lost)
	}
}

// TestExamplesAreBounded: a log that is wrong throughout is counted in full and
// spelled out in part.
func TestExamplesAreBounded(t *testing.T) {
	w := healthy()
	for i := range w.log {
		w.log[i].value = nil
	}
	if r := w.check(); r.Corrupt != 100 || len(r.Examples) != maxExamples {
		t.Errorf("%d corrupt with %d examples, want 100 with %d", r.Corrupt, len(r.Examples), maxExamples)
	}
}

// TestReadAllocates nothing for a record of a healthy log.
func TestReadAllocates(t *testing.T) {
	w := healthy()
	c := New(w.l, topic, partition)
	i := 0
	if n := testing.AllocsPerRun(90, func() { c.Read(w.log[i].offset, w.log[i].value); i++ }); n != 0 {
		t.Errorf("%v allocations for a record, want 0", n)
	}
}

// BenchmarkRead is what a record of 100 bytes costs the reader.
func BenchmarkRead(b *testing.B) {
	l := ledger.New(1)
	a := l.Account(ledger.Stream{Topic: topic, Partition: partition})
	const n = 10_000
	values := make([][]byte, n)
	for i := range values {
		values[i] = make([]byte, 100)
		a.Acked(a.Stamp(values[i], 0), 1, int64(i), 0)
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		c := New(l, topic, partition)
		for k, v := range values {
			c.Read(int64(k), v)
		}
		if r := c.Report(); r.Lost+r.Wrong() > 0 {
			b.Fatal(r)
		}
	}
}
