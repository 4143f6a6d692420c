package commitlog

import (
	"fmt"
	"io"
	"math"
	"time"

	"pgregory.net/rapid"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/read/pread"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

const dir = "/logs/topic-0"

// testStart is when the clock of a test starts.
var testStart = time.UnixMilli(1_700_000_000_000)

// testOptions are small: three batches of ten records make a segment.
func testOptions() Options {
	o := DefaultOptions()
	o.Append, o.Read = buffered.Spec(), pread.Spec()
	o.SegmentBytes, o.IndexIntervalBytes = 1024, 100
	o.RetentionMs = -1
	o.TimestampAfterMaxMs = -1
	return o
}

// world is a file system, a clock and the checkpoints between which a test opens
// and closes one log.
type world struct {
	t     rapid.TB
	fs    vfs.FS
	dir   string
	clock *clock.Manual
	o     Options
	state OpenState
	*Log
}

func newWorld(t rapid.TB) *world {
	return &world{t: t, fs: vfs.NewMem(), dir: dir, clock: clock.NewManual(testStart), o: testOptions()}
}

// open opens the log; rolled segments are sealed when a flush asks, so that every
// run of a test is the same.
func (w *world) open() *world {
	w.t.Helper()
	if err := w.tryOpen(); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func (w *world) tryOpen() error {
	l := &Log{spawn: func(func()) {}}
	if err := l.init(w.fs, w.dir, w.o, w.state, w.clock); err != nil {
		return err
	}
	w.Log = l
	return nil
}

// close closes the log in order and keeps its checkpoints.
func (w *world) close() {
	w.t.Helper()
	if err := w.Close(); err != nil {
		w.t.Fatalf("close: %v", err)
	}
	w.state = OpenState{CleanShutdown: true, RecoveryPoint: w.RecoveryPoint(), LogStartOffset: w.LogStartOffset()}
}

// crash drops the log as a killed process does: what reached the file system
// stays.
func (w *world) crash() {
	w.state = OpenState{RecoveryPoint: w.RecoveryPoint(), LogStartOffset: w.LogStartOffset()}
	w.Log = nil
}

// mustAppend appends as leader of the given epoch.
func (w *world) mustAppend(b record.Batch, leaderEpoch int32) AppendInfo {
	w.t.Helper()
	info, err := w.AppendAsLeader(b, leaderEpoch, Client)
	if err != nil {
		w.t.Fatalf("append: %v", err)
	}
	return info
}

// batch makes a batch of count records whose timestamps ascend from timestampMs
// by one.
func batch(count int, timestampMs int64) record.Batch {
	return batchOf(record.None, count, timestampMs)
}

func batchOf(codec record.Codec, count int, timestampMs int64) record.Batch {
	w := record.NewBuilder(codec, record.DefaultLevel)
	for i := range count {
		w.Append(timestampMs+int64(i), []byte("key"), fmt.Appendf(nil, "value %d", i), nil)
	}
	return w.Build()
}

// idempotent makes a batch of a producer.
func idempotent(producerID int64, epoch int16, sequence int32, count int) record.Batch {
	w := record.NewBuilder(record.None, record.DefaultLevel)
	w.Producer(producerID, epoch, sequence)
	for range count {
		w.Append(testStart.UnixMilli(), nil, []byte("v"), nil)
	}
	return w.Build()
}

// readAll reads the log from offset to its end, a fetch at a time.
func (w *world) readAll(offset int64) []record.Batch {
	w.t.Helper()
	var all []record.Batch
	for offset < w.LogEndOffset() {
		data, info := w.read(offset, 400)
		if len(data) == 0 {
			w.t.Fatalf("nothing at offset %d of %d to %d: %+v", offset, w.LogStartOffset(), w.LogEndOffset(), info)
		}
		for len(data) > 0 {
			b, rest, err := record.Parse(data)
			if err != nil {
				w.t.Fatalf("read at %d: %v", offset, err)
			}
			if err := b.CheckCRC(); err != nil {
				w.t.Fatalf("read at %d: %v", offset, err)
			}
			all, data, offset = append(all, b), rest, b.NextOffset()
		}
	}
	return all
}

// read returns the bytes of one Read up to the log end offset.
func (w *world) read(offset, maxBytes int64) ([]byte, ReadInfo) {
	w.t.Helper()
	info, err := w.Read(offset, maxBytes, math.MaxInt64, true)
	if err != nil {
		w.t.Fatalf("read %d: %v", offset, err)
	}
	return drain(w.t, info.Chunk), info
}

func drain(t rapid.TB, c engines.Chunk) []byte {
	t.Helper()
	if c == nil {
		return nil
	}
	defer c.Release()
	var buf writer
	if _, err := c.WriteTo(&buf); err != nil {
		t.Fatalf("send chunk: %v", err)
	}
	return buf
}

// writer is an io.Writer and nothing else.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

var _ io.Writer = (*writer)(nil)

// names lists the files of the log.
func (w *world) names() []string {
	w.t.Helper()
	entries, err := w.fs.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w *world) content(name string) []byte {
	w.t.Helper()
	data, err := vfs.ReadFile(w.fs, w.dir+"/"+name)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// overwrite replaces a file.
func (w *world) overwrite(name string, data []byte) {
	w.t.Helper()
	if err := vfs.WriteFileAtomic(w.fs, w.dir+"/"+name, data); err != nil {
		w.t.Fatal(err)
	}
}
