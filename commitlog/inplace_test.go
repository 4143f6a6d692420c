package commitlog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog/producer"
	"tidemark/engines/append/buffered"
	"tidemark/engines/append/mapped"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// incoming is the rest of a batch; before is called while the memory is lent.
type incoming struct {
	rest   []byte
	err    error
	before func(memory []byte)
}

func (r *incoming) ReceiveRest(memory []byte) error {
	if r.before != nil {
		r.before(memory)
	}
	copy(memory, r.rest)
	return r.err
}

// newMapped is a log on real files under the mapped engine that has begun.
func newMapped(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := newWorld(t)
	w.fs, w.dir = vfs.OS{}, t.TempDir()+"/t-0"
	w.o.Append, w.o.SegmentBytes = mapped.Spec(), 1<<20
	if change != nil {
		change(&w.o)
	}
	w.open()
	t.Cleanup(func() { _ = w.Close() }) // Failed where the test meant it to.
	w.mustAppend(batch(1, testStart.UnixMilli()), 0)
	return w
}

// inPlace hands a copy of b over, headBytes of it as its beginning.
func (w *world) inPlace(b record.Batch, headBytes int, r incoming) (AppendInfo, bool, error) {
	b = bytes.Clone(b)
	if r.rest == nil {
		r.rest = b[headBytes:]
	}
	return w.AppendInPlace(b[:headBytes], int64(len(b)), &r, 0)
}

// mustInPlace expects b to be received in place.
func (w *world) mustInPlace(b record.Batch) AppendInfo {
	w.t.Helper()
	info, taken, err := w.inPlace(b, record.HeaderSize, incoming{})
	if !taken || err != nil {
		w.t.Fatalf("in place: taken %v, error %v, want it taken", taken, err)
	}
	return info
}

// files are the log's files and their content.
func (w *world) files() map[string][]byte {
	w.t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if out[e.Name()], err = os.ReadFile(w.dir + "/" + e.Name()); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

// TestInPlaceLeavesTheSameFiles appends one sequence of batches in the ordinary
// way and in place where that is taken, and compares everything that is left:
// answers, log, indexes, snapshots.
func TestInPlaceLeavesTheSameFiles(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"records":         nil,
		"header":          func(o *Options) { o.Validation = record.HeaderOnly },
		"small segments":  func(o *Options) { o.SegmentBytes = 4000 },
		"log append time": func(o *Options) { o.LogAppendTime = true },
		"segments by age": func(o *Options) { o.SegmentMs = 50 },
	} {
		t.Run(name, func(t *testing.T) {
			ordinary, inPlace := newMapped(t, change), newMapped(t, change)
			rng := rand.New(rand.NewPCG(9, 9))
			sequence, took := int32(0), 0
			for i := range 300 {
				ms := testStart.UnixMilli() + rng.Int64N(100)
				count := 1 + rng.IntN(20)
				b := batch(count, ms)
				switch rng.IntN(4) {
				case 0:
					b = idempotent(7, 0, sequence, count)
					sequence += int32(count)
				case 1:
					b.SetMaxTimestamp(ms + 1000) // A lie, which mode records corrects.
				}
				want := ordinary.mustAppend(bytes.Clone(b), 3)
				got, taken, err := inPlace.AppendInPlace(b[:record.HeaderSize+i%5], int64(len(b)), &incoming{rest: bytes.Clone(b[record.HeaderSize+i%5:])}, 3)
				if !taken {
					got = inPlace.mustAppend(b, 3)
				} else {
					took++
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Fatalf("batch %d, in place %v: %v (-ordinary +in place):\n%s", i, taken, err, diff)
				}
			}
			ordinary.close()
			inPlace.close()
			if diff := cmp.Diff(ordinary.files(), inPlace.files()); diff != "" {
				t.Errorf("files differ (-ordinary +in place):\n%s", diff)
			}
			if took < 100 {
				t.Errorf("only %d of 300 batches were received in place", took)
			}
		})
	}
}

// What cannot be received in place, or would be refused by its header, is left to
// the ordinary way untouched.
func TestInPlaceLeavesToOthers(t *testing.T) {
	good := batch(5, testStart.UnixMilli())
	changed := func(change func(record.Batch)) record.Batch {
		b := record.Batch(bytes.Clone(good))
		change(b)
		return b
	}
	never := incoming{before: func([]byte) { t.Error("the rest was received") }}
	for name, c := range map[string]struct {
		options func(*Options)
		batch   record.Batch
		head    int
		before  func(*world)
	}{
		"engine that cannot": {options: func(o *Options) { o.Append = buffered.Spec() }, batch: good},
		"switched off":       {options: func(o *Options) { o.NoInPlace = true }, batch: good},
		"recompressing":      {options: func(o *Options) { o.Compression = record.LZ4 }, batch: good},
		"to be decompressed": {batch: batchOf(record.LZ4, 5, testStart.UnixMilli())},
		"no whole header":    {batch: good, head: record.HeaderSize - 1},
		"nothing left":       {batch: good, head: len(good)},
		"offset of its own":  {batch: changed(func(b record.Batch) { b.SetBaseOffset(1) })},
		"old format":         {batch: changed(func(b record.Batch) { b[16] = 1 })},
		"wrong length":       {batch: changed(func(b record.Batch) { b[11]++ })},
		"control":            {batch: changed(func(b record.Batch) { b[22] |= 1 << 5 })},
		"transactional":      {batch: changed(func(b record.Batch) { b[22] |= 1 << 4 })},
		"does not fit":       {options: func(o *Options) { o.SegmentBytes = 1024 }, batch: batch(80, testStart.UnixMilli())},
		"segment is full":    {options: func(o *Options) { o.SegmentBytes = int64(len(good)) }, batch: good},
		"out of order":       {batch: idempotent(7, 0, 5, 1), before: func(w *world) { w.mustAppend(idempotent(7, 0, 0, 1), 0) }},
		"duplicate":          {batch: idempotent(7, 0, 0, 1), before: func(w *world) { w.mustAppend(idempotent(7, 0, 0, 1), 0) }},
		"another appends":    {batch: good, before: func(w *world) { w.mu.Lock() }},
		"closed":             {batch: good, before: func(w *world) { w.close() }},
		"failed":             {batch: good, before: func(w *world) { _ = w.fail(errors.New("planted")) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newMapped(t, c.options)
			if c.before != nil {
				c.before(w)
			}
			end := w.LogEndOffset()
			head := c.head
			if head == 0 {
				head = record.HeaderSize
			}
			_, taken, err := w.inPlace(c.batch, head, never)
			if taken || err != nil {
				t.Errorf("taken %v, error %v, want it left", taken, err)
			}
			if got := w.LogEndOffset(); got != end {
				t.Errorf("the log ends at %d, want %d as before", got, end)
			}
			if name == "another appends" {
				w.mu.Unlock()
			}
		})
	}
}

// Offset 0 is the one that a batch has before the log gives it one: a batch half
// received there could pass for appended after a crash.
func TestInPlaceNeverBeginsALog(t *testing.T) {
	w := newWorld(t)
	w.fs, w.dir, w.o.Append = vfs.OS{}, t.TempDir()+"/t-0", mapped.Spec()
	w.open()
	defer w.close()
	if _, taken, err := w.inPlace(batch(1, 0), record.HeaderSize, incoming{}); taken || err != nil {
		t.Errorf("taken %v, error %v, want it left to the ordinary way", taken, err)
	}
}

// A batch that validation refuses, or whose rest fails, leaves no trace: not for
// readers, not for a recovery, not in the producer's sequence.
func TestInPlaceRefusalsLeaveNoTrace(t *testing.T) {
	b := idempotent(7, 0, 0, 30)
	broken := bytes.Clone(b[record.HeaderSize:])
	broken[len(broken)-1] ^= 1
	early := record.NewBuilder(record.None, record.DefaultLevel)
	early.Append(1, nil, bytes.Repeat([]byte("v"), 300), nil)
	for name, c := range map[string]struct {
		batch record.Batch
		rest  incoming
		taken bool
		want  error
	}{
		"checksum":         {b, incoming{rest: broken}, true, record.ErrCorrupt},
		"timestamp":        {early.Build(), incoming{}, true, record.ErrInvalidTimestamp},
		"rest fails":       {b, incoming{err: errors.New("gone")}, false, nil},
		"rest fails early": {b, incoming{rest: b[record.HeaderSize:][:10], err: errors.New("gone")}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newMapped(t, func(o *Options) { o.TimestampBeforeMaxMs = 1000 })
			before := w.readAll(0)
			info, taken, err := w.inPlace(c.batch, record.HeaderSize, c.rest)
			if taken != c.taken || !errors.Is(err, c.want) {
				t.Fatalf("got %+v, taken %v, %v, want taken %v, %v", info, taken, err, c.taken, c.want)
			}
			if diff := cmp.Diff(before, w.readAll(0)); diff != "" {
				t.Errorf("the log changed:\n%s", diff)
			}
			active := w.files()[FileName(0, LogSuffix)]
			if rest := bytes.TrimLeft(active[w.view.position:], "\x00"); len(rest) > 0 {
				t.Errorf("%d bytes behind the end are not zeros", len(rest))
			}
			if got := w.Producers(); len(got) != 0 {
				t.Errorf("producers are remembered: %v", got)
			}
			w.mustInPlace(b)
		})
	}
}

// While a batch is received and validated nobody sees it: not a reader of the
// log, and not a recovery of the files as they then are.
func TestInPlaceIsUnseenUntilPublished(t *testing.T) {
	w := newMapped(t, nil)
	end, size := w.LogEndOffset(), w.Size()
	b := batch(50, testStart.UnixMilli())
	looked := false
	look := func(memory []byte) {
		looked = true
		copy(memory, b[record.HeaderSize:]) // The whole batch is there, as after a kill.
		if got := w.LogEndOffset(); got != end {
			t.Errorf("the log ends at %d while the batch is received, want %d", got, end)
		}
		if got := w.Size(); got != size {
			t.Errorf("the log has %d bytes, want %d", got, size)
		}
		crashed := newWorld(t)
		crashed.fs, crashed.dir, crashed.o = vfs.OS{}, t.TempDir()+"/copy-0", w.o
		if err := os.CopyFS(crashed.dir, os.DirFS(w.dir)); err != nil {
			t.Fatal(err)
		}
		crashed.open()
		if got := crashed.LogEndOffset(); got != end {
			t.Errorf("recovery finds an end of %d, want %d: the batch was not appended", got, end)
		}
		crashed.close()
	}
	if _, taken, err := w.inPlace(b, record.HeaderSize, incoming{before: look}); !taken || err != nil {
		t.Fatalf("taken %v, %v", taken, err)
	}
	if !looked || w.LogEndOffset() != end+50 {
		t.Errorf("looked %v, the log ends at %d, want %d", looked, w.LogEndOffset(), end+50)
	}
}

// A page that the memory loses is a failed disk, as it is for an ordinary append,
// not the end of the process.
func TestInPlaceMeetsALostPage(t *testing.T) {
	w := newMapped(t, nil)
	b := batch(2000, testStart.UnixMilli())
	cut := incoming{before: func([]byte) {
		if err := os.Truncate(w.dir+"/"+FileName(0, LogSuffix), w.Size()); err != nil {
			t.Fatal(err)
		}
	}}
	_, taken, err := w.inPlace(b, record.HeaderSize, cut)
	var fault *vfs.FaultError
	if !taken || !errors.Is(err, ErrFailed) || !errors.As(err, &fault) {
		t.Errorf("taken %v, error %v, want a fault that fails the log", taken, err)
	}
	if w.Err() == nil {
		t.Error("the log goes on")
	}
}

// The tail of a retry's own batch is not appended twice, whichever way each of the
// two came.
func TestInPlaceKnowsItsDuplicates(t *testing.T) {
	w := newMapped(t, nil)
	first := w.mustInPlace(idempotent(7, 0, 0, 3))
	again, err := w.AppendAsLeader(idempotent(7, 0, 0, 3), 0, Client)
	if err != nil || !again.Duplicate || again.BaseOffset != first.BaseOffset {
		t.Errorf("the retry got %+v, %v, want the duplicate of %d", again, err, first.BaseOffset)
	}
	if _, err := w.AppendAsLeader(idempotent(7, 0, 9, 1), 0, Client); !errors.Is(err, producer.ErrOutOfOrderSequence) {
		t.Errorf("a gap after it: %v, want out of order", err)
	}
}

func TestInPlaceAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newMapped(t, func(o *Options) { o.SegmentBytes = 64 << 20 })
	b := batch(10, testStart.UnixMilli())
	r := &incoming{rest: b[record.HeaderSize:]}
	got := testing.AllocsPerRun(200, func() {
		if _, taken, err := w.AppendInPlace(b[:record.HeaderSize], int64(len(b)), r, 0); !taken || err != nil {
			t.Fatal(taken, err)
		}
	})
	if got > 0 {
		t.Errorf("%v allocations per batch received in place, want none", got)
	}
}
