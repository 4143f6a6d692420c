package commitlog

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engines"
	"tidemark/engines/append/mapped"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
)

func (w *world) segments() int { return len(w.view.segments) }

func TestRollBySize(t *testing.T) {
	w := newWorld(t).open()
	for range 20 {
		w.mustAppend(batch(10, 1), 0)
	}
	for _, s := range w.view.segments[:w.segments()-1] {
		if size := s.size.Load(); size > w.o.SegmentBytes || size+w.Size()/20 <= w.o.SegmentBytes {
			t.Errorf("segment %d has %d bytes, want the most batches that fit into %d", s.base, size, w.o.SegmentBytes)
		}
	}
}

func TestRollByAge(t *testing.T) {
	w := newWorld(t)
	w.o.SegmentMs = 1000
	w.open()
	w.mustAppend(batch(1, 5000), 0)
	w.mustAppend(batch(1, 6000), 0)
	if w.segments() != 1 {
		t.Fatal("rolled by timestamps that lie no more than segment.ms apart")
	}
	w.mustAppend(batch(1, 6001), 0)
	if w.segments() != 2 {
		t.Error("not rolled by timestamps that lie more than segment.ms apart")
	}
	w.mustAppend(batch(1, -1), 0)
	w.clock.Advance(1001 * time.Millisecond)
	w.mustAppend(batch(1, -1), 0)
	if w.segments() != 3 {
		t.Error("not rolled by the clock, where the batch has no timestamp")
	}
	w.close()
	w.open()
	w.mustAppend(batch(1, 10_000), 0)
	w.mustAppend(batch(1, 10_001), 0)
	if w.segments() != 3 {
		t.Error("a restart made the segment old")
	}
}

func TestJitterBringsTheRollForward(t *testing.T) {
	o := testOptions()
	o.SegmentMs, o.SegmentJitterMs = 1000, 400
	seen := map[int64]bool{}
	for range 200 {
		limit := newSegmentAge(&o, 0).limitMs
		if limit <= 600 || limit > 1000 {
			t.Fatalf("segment age %d, want 601 to 1000", limit)
		}
		seen[limit] = true
	}
	if len(seen) < 20 {
		t.Errorf("%d different ages of 200", len(seen))
	}
}

func TestRollByFullIndex(t *testing.T) {
	w := newWorld(t)
	w.o.SegmentBytes, w.o.IndexIntervalBytes, w.o.IndexMaxBytes = 1<<20, 0, 5*8
	w.open()
	for i := range 30 {
		w.mustAppend(batch(1, int64(i)), 0)
	}
	if w.segments() < 5 {
		t.Errorf("%d segments, want one per few batches", w.segments())
	}
	w.close()
	for _, name := range w.names() {
		if strings.HasSuffix(name, "index") && len(w.content(name)) > 5*8+12 {
			t.Errorf("%s has %d bytes, segment.index.bytes is 40", name, len(w.content(name)))
		}
	}
}

func TestRollByOffsetOverflow(t *testing.T) {
	w := newWorld(t).open()
	for _, base := range []int64{0, 1<<31 - 5, 1 << 31} {
		b := batch(3, 1)
		b.SetBaseOffset(base)
		if _, err := w.AppendAsFollower(b); err != nil {
			t.Fatal(err)
		}
	}
	if w.segments() != 2 || w.view.segments[1].base != 1<<31 {
		t.Errorf("%d segments, want a second at 2^31: its offset is too far from 0 for 31 bits", w.segments())
	}
}

func TestRetentionByTime(t *testing.T) {
	w := newWorld(t)
	w.o.RetentionMs = 1000
	w.open()
	now := testStart.UnixMilli()
	for i := range int64(4) {
		w.mustAppend(batch(3, now+1000*i), 0)
		if err := w.Roll(); err != nil {
			t.Fatal(err)
		}
	}
	retain := func(at int64, hw int64, want int64) {
		t.Helper()
		if _, err := w.ApplyRetention(time.UnixMilli(at), hw); err != nil {
			t.Fatal(err)
		}
		if got := w.LogStartOffset(); got != want {
			t.Errorf("log start offset %d at %d, want %d", got, at-now, want)
		}
	}
	retain(now+1002, 12, 0)
	retain(now+1003, 12, 3)
	retain(now+9999, 6, 6) // Nothing that reaches the high watermark goes.
	retain(now+9999, 12, 12)
	if w.segments() != 1 || w.LogEndOffset() != 12 {
		t.Errorf("%d segments, end %d, want the active one and 12", w.segments(), w.LogEndOffset())
	}

	// Four hundred days ahead, the active segment is spared once.
	w.mustAppend(batch(3, now), 0)
	far := now + 400*24*3600*1000
	retain(far, 15, 12)
	retain(far, 15, 15)
	// One record from the future does not keep or take anything else.
	w.mustAppend(batch(1, far*2), 0)
	retain(now, 16, 15)
}

func TestRetentionWithoutTimestampsGoesByTheFile(t *testing.T) {
	w := newWorld(t)
	w.fs, w.dir, w.o.RetentionMs = vfs.OS{}, t.TempDir()+"/t-0", 1000
	w.open()
	w.mustAppend(batch(1, -1), 0)
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int64{0: 0, time.Hour: 1} {
		if _, err := w.ApplyRetention(time.Now().Add(after), 1); err != nil {
			t.Fatal(err)
		}
		if got := w.LogStartOffset(); after > 0 && got != want {
			t.Errorf("log start offset %d after %v, want %d", got, after, want)
		}
	}
	w.close()
}

func TestDeletedFilesStayForTheDelayAndForTheirReaders(t *testing.T) {
	w := newWorld(t).open()
	for range 9 {
		w.mustAppend(batch(10, 1), 0)
	}
	info, err := w.Read(0, 100, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	want := w.content("00000000000000000000.log")[:info.Bytes]
	if err := w.AdvanceLogStart(90); err != nil {
		t.Fatal(err)
	}
	deleted, err := w.ApplyRetention(w.clock.Now(), 90)
	if err != nil || deleted == 0 {
		t.Fatalf("%d segments deleted, %v, want those before 90", deleted, err)
	}
	has := func(part string) bool {
		return slices.ContainsFunc(w.names(), func(n string) bool { return strings.Contains(n, part) })
	}
	if !has(".log.deleted") || has("000.log\n") {
		t.Errorf("files after the deletion: %v", w.names())
	}
	w.clock.Advance(w.o.FileDeleteDelay - 1)
	if !has(".deleted") {
		t.Error("files were removed before file.delete.delay.ms")
	}
	done := make(chan struct{})
	go func() { // Removal waits for the chunk.
		defer close(done)
		w.clock.Advance(1)
	}()
	if got := drain(t, info.Chunk); !bytes.Equal(got, want) {
		t.Error("a chunk of a deleted segment lost its bytes")
	}
	<-done
	if has(".deleted") {
		t.Errorf("files after the delay: %v", w.names())
	}
	w.close()
}

func TestEnginesChangeWhileOpen(t *testing.T) {
	w := newWorld(t)
	w.fs, w.dir = vfs.OS{}, t.TempDir()+"/t-0"
	w.open()
	var held []engines.Chunk
	for i := range 12 {
		w.mustAppend(batch(10, 1), 0)
		reads := catalog.Builtin().Reads()
		w.o.Read = reads[i%len(reads)]
		if i == 5 {
			w.o.Append = mapped.Spec()
		}
		if err := w.Reconfigure(w.o); err != nil {
			t.Fatal(err)
		}
		info, err := w.Read(0, 400, math.MaxInt64, true)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, info.Chunk)
	}
	want := drain(t, held[0])
	for _, c := range held[1:] {
		if got := drain(t, c); !bytes.Equal(got, want) {
			t.Error("two engines return different bytes")
		}
	}
	if n := len(w.readAll(0)); n != 12 {
		t.Errorf("%d batches, want 12", n)
	}
	w.close()
	// A sealed segment does not tell who wrote it.
	other := newWorld(t).open()
	for range 12 {
		other.mustAppend(batch(10, 1), 0)
	}
	other.close()
	for _, name := range other.names() {
		if !bytes.Equal(w.content(name), other.content(name)) {
			t.Errorf("%s differs between engines", name)
		}
	}
}

func TestFlushPolicies(t *testing.T) {
	w := newWorld(t)
	w.o.FlushMessages = 25
	w.open()
	for i, want := range []int64{0, 0, 30, 30, 30, 60} {
		w.mustAppend(batch(10, 1), 0)
		if got := w.RecoveryPoint(); got != want && got < want {
			t.Errorf("after batch %d: recovery point %d, want %d", i, got, want)
		}
	}
	w.close()
	w = newWorld(t)
	w.o.FlushMs = 500
	w.open()
	w.mustAppend(batch(10, 1), 0)
	w.clock.Advance(499 * time.Millisecond)
	if w.RecoveryPoint() != 0 {
		t.Error("flushed before flush.ms")
	}
	w.mustAppend(batch(10, 1), 0)
	w.clock.Advance(time.Millisecond)
	if w.RecoveryPoint() != 20 {
		t.Errorf("recovery point %d after flush.ms, want 20", w.RecoveryPoint())
	}
	w.mustAppend(batch(1, 1), 0)
	w.close() // With the timer armed.
	w.clock.Advance(time.Hour)
}

func TestClosedLog(t *testing.T) {
	w := newWorld(t).open()
	w.mustAppend(batch(1, 1), 0)
	w.close()
	if err := w.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	_, appendErr := w.AppendAsLeader(batch(1, 1), 0, Client)
	_, followErr := w.AppendAsFollower(batch(1, 1))
	_, readErr := w.Read(0, 1, 1, true)
	_, _, timeErr := w.OffsetForTimestamp(0)
	_, retainErr := w.ApplyRetention(testStart, 1)
	for name, err := range map[string]error{
		"append": appendErr, "follow": followErr, "read": readErr, "timestamp": timeErr, "roll": w.Roll(), "flush": w.Flush(),
		"truncate": w.TruncateTo(0), "start over": w.TruncateFullyAndStartAt(9), "delete records": w.AdvanceLogStart(1),
		"epoch": w.AssignEpoch(1, 1), "reconfigure": w.Reconfigure(w.o),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s on a closed log: %v, want ErrClosed", name, err)
		}
	}
	if retainErr != nil && !errors.Is(retainErr, ErrClosed) {
		t.Errorf("retention on a closed log: %v", retainErr)
	}
	if err := w.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.fs.Stat(w.dir); err == nil {
		t.Error("the directory is still there")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(o *Options){
		"no append engine": func(o *Options) { o.Append = engines.AppendSpec{} },
		"no read engine":   func(o *Options) { o.Read = engines.ReadSpec{} },
		"segment size":     func(o *Options) { o.SegmentBytes = 1 << 31 },
		"segment age":      func(o *Options) { o.SegmentMs = 0 },
		"index size":       func(o *Options) { o.IndexMaxBytes = 3 },
		"flush":            func(o *Options) { o.FlushMessages = 0 },
	} {
		w := newWorld(t)
		spoil(&w.o)
		if err := w.tryOpen(); err == nil {
			t.Errorf("%s: open takes it", name)
		}
		good := newWorld(t).open()
		if err := good.Reconfigure(w.o); err == nil {
			t.Errorf("%s: reconfigure takes it", name)
		}
	}
}

// TestBigFilesGoInSteps: a removed segment's file shrinks before it is unlinked, and
// no lock of the log is held meanwhile.
func TestBigFilesGoInSteps(t *testing.T) {
	w := newWorld(t)
	faulty := vfs.NewFaulty(w.fs)
	w.fs, w.o.SegmentBytes, w.o.RetentionBytes, w.o.FileDeleteDelay = faulty, 3*shrinkBytes, 1, 0
	w.open()
	w.mustAppend(batch(1, 5), 0)
	big := w.view.active()
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	w.mustAppend(batch(1, 5), 0)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	big.size.Store(2*shrinkBytes + 1) // As if; the file is as sparse as one can be.
	if err := big.file.Truncate(2*shrinkBytes + 1); err != nil {
		t.Fatal(err)
	}
	var truncated, removed int
	faulty.OnCall(func(op vfs.Op, path string) error {
		if !strings.HasSuffix(strings.TrimSuffix(path, deletedSuffix), LogSuffix) {
			return nil
		}
		switch op {
		case vfs.OpTruncate:
			truncated++
			w.mustAppend(batch(1, 5), 0)
			if err := w.Flush(); err != nil {
				t.Error(err)
			}
		case vfs.OpRemove:
			removed++
		}
		return nil
	})
	if deleted, err := w.ApplyRetention(w.clock.Now(), w.LogEndOffset()); err != nil || deleted != 1 {
		t.Fatalf("%d deleted, %v", deleted, err)
	}
	w.clock.Advance(time.Millisecond)
	if truncated != 2 || removed != 1 {
		t.Errorf("truncated %d times and removed %d times, want 2 and 1", truncated, removed)
	}
}
