package replica

import (
	"path/filepath"
	"testing"
	"time"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// cleaningHost has two threads that look for dirty logs every second.
func cleaningHost(t *testing.T, fs vfs.FS, dirs ...string) *host {
	h := newHost(t, fs, dirs...)
	h.o.RetentionCheckInterval = 0
	h.o.Cleaner = CleanerOptions{Threads: 2, DedupeBytes: 1 << 16, Load: 0.9, BufferBytes: 1 << 14, BytesPerSecond: 1e12, Backoff: time.Second}
	return h
}

// compact makes a topic a compacted one with small segments.
func (h *host) compact(topic string, change func(*commitlog.Compaction)) {
	h.set(topic, func(c *TopicConfig) {
		c.Log.Compacted, c.Log.SegmentBytes = true, 300
		change(&c.Log.Compaction)
	})
}

func (h *host) fill(topic string, batches int) {
	h.t.Helper()
	for range batches {
		h.append(topic, 0, "a value of some length, to fill a segment", "another one")
	}
	if err := h.Partition(topic, 0).log.Flush(); err != nil {
		h.t.Fatal(err)
	}
}

// TestCompactionByTheClock: what is dirty enough is cleaned, the rest is not, and a
// restart knows what was.
func TestCompactionByTheClock(t *testing.T) {
	fs := vfs.NewMem()
	h := cleaningHost(t, fs, "/a", "/b")
	h.compact("dirty", func(*commitlog.Compaction) {})
	h.compact("patient", func(c *commitlog.Compaction) { c.MinDirtyRatio = 1 })
	h.compact("lagging", func(c *commitlog.Compaction) { c.MinLagMs = 3600_000 })
	h.open()
	for i, topic := range []string{"dirty", "patient", "lagging", "plain"} {
		h.lead(topic, byte(i+1), 1)
		h.fill(topic, 20)
	}
	before := map[string]int64{}
	for _, topic := range h.Topics() {
		before[topic.Name] = topic.Partition(0).Size()
	}
	h.clock.Advance(time.Second)
	for topic, was := range before {
		p := h.Partition(topic, 0)
		if cleaned := p.Size() < was/2; cleaned != (topic == "dirty") {
			t.Errorf("%s: %d bytes, %d before", topic, p.Size(), was)
		}
		if p.LogEndOffset() != 40 || p.LogStartOffset() != 0 {
			t.Errorf("%s: from %d to %d", topic, p.LogStartOffset(), p.LogEndOffset())
		}
	}
	s := h.CleanerStats()
	if s.MaxDirtyRatio != 1 || s.SinceLastRun != 0 || s.MaxFill <= 0 || s.Recopied <= 0 || s.Recopied >= 1 || len(s.Dirs) != 2 || s.Dirs[0].Uncleanable != 0 {
		t.Errorf("%+v", s)
	}
	dirty := h.Partition("dirty", 0).log.FirstDirty()
	path := filepath.Join(h.Partition("dirty", 0).Dir(), checkpoint.CleanerFile)
	offsets, err := checkpoint.ReadOffsets(fs, path)
	if err != nil || len(offsets) != 1 || offsets[ID{Topic: "dirty"}] != dirty || dirty == 0 {
		t.Fatalf("checkpoint %v, %v; cleaned is up to %d", offsets, err, dirty)
	}
	h.close()
	h.open()
	for i, topic := range []string{"dirty", "patient", "lagging", "plain"} {
		h.lead(topic, byte(i+1), 1)
	}
	if got := h.Partition("dirty", 0).log.FirstDirty(); got != dirty {
		t.Errorf("after a restart %d is the first dirty offset, want %d", got, dirty)
	}
	if err := h.Stop([]ID{{Topic: "dirty"}}, true); err != nil {
		t.Fatal(err)
	}
	if offsets, err := checkpoint.ReadOffsets(fs, path); err != nil || len(offsets) != 0 {
		t.Errorf("the checkpoint of a deleted topic stays: %v, %v", offsets, err)
	}
	h.close()
}

// TestUncleanablePartition: a log that cannot be read is left alone and shown, and
// others go on.
func TestUncleanablePartition(t *testing.T) {
	fs := vfs.NewMem()
	h := cleaningHost(t, fs, "/a")
	h.compact("bad", func(*commitlog.Compaction) {})
	h.compact("good", func(*commitlog.Compaction) {})
	h.open()
	h.lead("bad", 1, 1)
	h.fill("bad", 20)
	f, err := fs.Open(filepath.Join("/a/bad-0", commitlog.FileName(0, commitlog.LogSuffix)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff, 0xff}, record.HeaderSize+20); err != nil {
		t.Fatal(err)
	}
	size := h.Partition("bad", 0).Size()
	h.clock.Advance(time.Second)
	h.lead("good", 2, 1)
	h.fill("good", 20)
	h.clock.Advance(time.Second)
	if got := h.Partition("bad", 0).Size(); got != size {
		t.Errorf("the damaged log went from %d to %d bytes", size, got)
	}
	if h.Partition("good", 0).log.FirstDirty() == 0 {
		t.Error("the other log was not cleaned")
	}
	if d := h.CleanerStats().Dirs[0]; d.Dir != "/a" || d.Uncleanable != 1 || d.UncleanableBytes == 0 {
		t.Errorf("%+v", d)
	}
	h.append("bad", 0, "it still takes records")
	if err := h.Stop([]ID{{Topic: "bad"}}, true); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Second)
	if d := h.CleanerStats().Dirs[0]; d.Uncleanable != 0 {
		t.Errorf("a deleted partition still counts: %+v", d)
	}
	h.close()
}

// TestThrottle: bytes take their time, one after another, and nobody waits for a
// log that is closed.
func TestThrottle(t *testing.T) {
	c := clock.NewManual(testNow)
	x := throttle{clock: c, bytesPerSecond: 1000}
	for i, want := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond} {
		if got := x.take(500 * (i + 1)); got != want {
			t.Errorf("turn %d comes after %v, want %v", i, got, want)
		}
	}
	c.Advance(10 * time.Second)
	if got := x.take(1); got != 0 {
		t.Errorf("after a rest the first turn comes after %v", got)
	}
	for name, free := range map[string]func(closed, stopping chan struct{}){
		"due":      func(_, _ chan struct{}) { c.Advance(time.Hour) },
		"closed":   func(closed, _ chan struct{}) { close(closed) },
		"stopping": func(_, stopping chan struct{}) { close(stopping) },
	} {
		closed, stopping := make(chan struct{}), make(chan struct{})
		x := throttle{clock: waking{c, func() { free(closed, stopping) }}, bytesPerSecond: 1e-9}
		x.take(1)
		if ok := x.wait(1, closed, stopping); ok != (name == "due") {
			t.Errorf("%s: wait returned %v", name, ok)
		}
	}
}

// waking is a clock on which something happens as soon as anybody waits.
type waking struct {
	*clock.Manual
	happen func()
}

func (w waking) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := w.Manual.AfterFunc(d, f)
	w.happen()
	return t
}
