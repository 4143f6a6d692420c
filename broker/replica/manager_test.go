package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

var testNow = time.UnixMilli(1_700_000_000_000)

// host is a manager that can be stopped and started again on the same files.
type host struct {
	t     *testing.T
	fs    vfs.FS
	dirs  []string
	clock *clock.Manual
	o     Options
	*Manager

	mu      sync.Mutex
	configs map[string]TopicConfig
}

func newHost(t *testing.T, fs vfs.FS, dirs ...string) *host {
	h := &host{t: t, fs: fs, dirs: dirs, clock: clock.NewManual(testNow), configs: map[string]TopicConfig{}}
	h.o = hostOptions(fs, dirs...)
	h.o.Config, h.o.Clock = h.config, h.clock
	return h
}

// hostOptions are those of a test, but for Config and Clock.
func hostOptions(fs vfs.FS, dirs ...string) Options {
	return Options{
		BrokerID: 1, ClusterID: "c", FS: fs, Dirs: dirs, Engines: catalog.Builtin(), Logger: slog.New(slog.DiscardHandler),
		RetentionCheckInterval: time.Minute, RecoveryCheckpointInterval: time.Minute, LogStartCheckpointInterval: time.Minute,
		HighWatermarkCheckpointInterval: time.Second, ProducerExpiryCheckInterval: time.Minute,
	}
}

func (h *host) config(topic string) TopicConfig {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.configs[topic]; ok {
		return c
	}
	c := NewTopicConfig()
	c.AppendEngine, c.ReadEngine = "buffered", "pread"
	return c
}

// set changes a topic's configuration.
func (h *host) set(topic string, change func(*TopicConfig)) {
	c := h.config(topic)
	change(&c)
	h.mu.Lock()
	h.configs[topic] = c
	h.mu.Unlock()
}

func (h *host) open() {
	h.t.Helper()
	h.Manager = New(h.o)
	if err := h.Open(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) close() {
	h.t.Helper()
	if err := h.Close(7); err != nil {
		h.t.Fatal(err)
	}
}

// lead makes this broker the leader of a topic's partitions.
func (h *host) lead(topic string, id byte, partitions int32) {
	h.t.Helper()
	var states []State
	for i := range partitions {
		states = append(states, State{Topic: topic, TopicID: [16]byte{id}, Index: i, Leader: 1, Replicas: []int32{1}, ISR: Members(1)})
	}
	if err := h.Apply(states).Err(); err != nil {
		h.t.Fatal(err)
	}
}

func testBatch(values ...string) record.Batch {
	b := record.NewBuilder(record.None, record.DefaultLevel)
	for _, v := range values {
		b.Append(testNow.UnixMilli(), []byte("k"), []byte(v), nil)
	}
	return b.Build()
}

func (h *host) append(topic string, index int32, values ...string) {
	h.t.Helper()
	if _, _, err := h.Partition(topic, index).Append(testBatch(values...), 1, commitlog.Client); err != nil {
		h.t.Fatal(err)
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a", "/b")
	h.open()
	h.lead("t", 1, 4)
	dirs := map[string]int{}
	for i := range int32(4) {
		h.append("t", i, "x", "y", "z")
		dirs[h.Partition("t", i).Dir()]++
	}
	if diff := cmp.Diff(map[string]int{"/a": 2, "/b": 2}, dirs); diff != "" {
		t.Errorf("partitions per directory differ (-want +got):\n%s", diff)
	}
	if _, err := h.Partition("t", 2).DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	where := h.Partition("t", 3).Dir()
	h.close()
	for _, d := range h.dirs {
		if _, err := h.fs.Stat(filepath.Join(d, checkpoint.CleanShutdownFile)); err != nil {
			t.Errorf("no clean-shutdown marker: %v", err)
		}
	}

	h.open()
	defer h.close()
	if h.Topic("t") != nil {
		t.Error("a topic is served before the controller said so")
	}
	if _, err := h.fs.Stat("/a/" + checkpoint.CleanShutdownFile); err == nil {
		t.Error("the clean-shutdown marker is still there while the directory is open")
	}
	h.lead("t", 1, 4)
	for i := range int32(4) {
		p := h.Partition("t", i)
		if p.LogEndOffset() != 3 || p.HighWatermark() != 3 {
			t.Errorf("partition %d ends at %d, high watermark %d; want 3", i, p.LogEndOffset(), p.HighWatermark())
		}
	}
	if got := h.Partition("t", 2).LogStartOffset(); got != 2 {
		t.Errorf("log start offset %d, want 2", got)
	}
	if got := h.Partition("t", 3).Dir(); got != where {
		t.Errorf("partition 3 moved from %s to %s", where, got)
	}
	meta, found, err := checkpoint.ReadPartitionMetadata(h.fs, filepath.Join(where, "t-3", checkpoint.PartitionMetadataFile))
	if err != nil || !found || meta.TopicID != [16]byte{1} {
		t.Errorf("partition.metadata: %v, %v, %v; want topic id 1", meta, found, err)
	}
}

// TestRestartWithoutClose: what the schedule wrote is what an unclean start has.
func TestRestartWithoutClose(t *testing.T) {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	h.lead("t", 1, 1)
	h.append("t", 0, "x", "y")
	h.Partition("t", 0).log.Flush()
	h.clock.Advance(2 * time.Minute)
	hw, err := checkpoint.ReadOffsets(fs, "/a/"+checkpoint.HighWatermarkFile)
	if err != nil || hw[ID{Topic: "t"}] != 2 {
		t.Errorf("high watermarks %v, %v; want t-0 at 2", hw, err)
	}
	crashed := newHost(t, fs.CrashClone(1), "/a")
	h.close()
	crashed.open()
	defer crashed.close()
	crashed.lead("t", 1, 1)
	if got := crashed.Partition("t", 0).LogEndOffset(); got != 2 {
		t.Errorf("log end offset %d after a crash behind a flush, want 2", got)
	}
}

func TestDirectoryOfAnother(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	if err := New(h.o).Open(context.Background()); err == nil {
		t.Error("a second manager opened a directory that is in use")
	}
	h.close()
	h.o.BrokerID = 2
	if err := New(h.o).Open(context.Background()); err == nil {
		t.Error("broker 2 opened the directory of broker 1")
	}
	h.o.BrokerID, h.o.ClusterID = 1, "other"
	if err := New(h.o).Open(context.Background()); err == nil {
		t.Error("a broker of another cluster opened the directory")
	}
	h.o.ClusterID = "c"
	h.open() // the refusals released the lock
	h.close()
}

// TestNewTopicOfOldName: a log whose topic was deleted while the broker was down
// is not the new topic's.
func TestNewTopicOfOldName(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
	h.close()
	h.open()
	defer h.close()
	h.lead("t", 2, 1)
	if got := h.Partition("t", 0).LogEndOffset(); got != 0 {
		t.Errorf("the new topic begins with %d records of the old one", got)
	}
	h.append("t", 0, "x")
	old := h.Topic("t")
	h.lead("t", 3, 1)
	if h.Partition("t", 0).LogEndOffset() != 0 || h.TopicByID([16]byte{2}) != nil || h.Topic("t") == old {
		t.Error("a topic created again while the broker runs kept something of the old one")
	}
}

func TestStop(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	h.lead("t", 1, 2)
	h.append("t", 0, "x")
	p := h.Partition("t", 0)
	if err := h.Stop([]ID{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 9}}, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Append(testBatch("x"), 1, commitlog.Client); !errors.Is(err, ErrUnknownPartition) {
		t.Errorf("append to a deleted partition: %v, want ErrUnknownPartition", err)
	}
	if _, _, err := p.Read(ReadRequest{MaxBytes: 100, LeaderEpoch: AnyEpoch}); !errors.Is(err, ErrUnknownPartition) {
		t.Errorf("read of a deleted partition: %v, want ErrUnknownPartition", err)
	}
	if h.Partition("t", 0) != nil || h.Partition("t", 1) == nil {
		t.Error("the wrong partition is gone")
	}
	if err := h.Stop([]ID{{Topic: "t", Partition: 1}}, true); err != nil {
		t.Fatal(err)
	}
	if h.Topic("t") != nil || h.TopicByID([16]byte{1}) != nil {
		t.Error("a topic without partitions is still there")
	}
	h.close()
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	if got := h.Partition("t", 0).LogEndOffset(); got != 0 {
		t.Errorf("a deleted log came back with %d records", got)
	}
}

func TestApplySkipsOldStates(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	apply := func(leader, epoch, partitionEpoch int32) int32 {
		s := State{Topic: "t", TopicID: [16]byte{1}, Leader: leader, LeaderEpoch: epoch, PartitionEpoch: partitionEpoch, Replicas: []int32{1, 2}, ISR: Members(1)}
		if err := h.Apply([]State{s}).Err(); err != nil {
			t.Fatal(err)
		}
		got, _ := h.Partition("t", 0).Leader()
		return got
	}
	for _, step := range []struct{ leader, epoch, partitionEpoch, want int32 }{
		{1, 5, 3, 1},
		{2, 4, 9, 1}, // older leader epoch
		{2, 5, 2, 1}, // same leader epoch, older partition epoch
		{2, 5, 3, 1}, // the same state
		{2, 5, 4, 2},
		{1, 6, 0, 1},
	} {
		if got := apply(step.leader, step.epoch, step.partitionEpoch); got != step.want {
			t.Errorf("after %+v broker %d leads", step, got)
		}
	}
	if err := h.Apply([]State{{Topic: "elsewhere", Replicas: []int32{2, 3}}}).Err(); err != nil || h.Topic("elsewhere") != nil {
		t.Errorf("a partition of other brokers was opened here (%v)", err)
	}
	if err := h.Apply([]State{{Topic: "../x", Replicas: []int32{1}}, {Topic: "good", Replicas: []int32{1}}}).Err(); err == nil || h.Partition("good", 0) == nil {
		t.Errorf("a bad topic name must be refused (%v) and the next state applied", err)
	}
}

func TestRetentionRuns(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.set("t", func(c *TopicConfig) {
		c.Log.SegmentBytes, c.Log.RetentionBytes, c.Log.FileDeleteDelay = 200, 400, 0
	})
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	for i := range 20 {
		h.append("t", 0, fmt.Sprintf("value %d", i))
	}
	h.clock.Advance(time.Minute)
	p := h.Partition("t", 0)
	if p.LogStartOffset() == 0 || p.Size() > 700 {
		t.Errorf("log starts at %d with %d bytes after retention, want it cut to about 400", p.LogStartOffset(), p.Size())
	}
}

func TestReconfigure(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	h.set("t", func(c *TopicConfig) { c.Log.MaxMessageBytes = 80 })
	if err := h.Reconfigure("t"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Partition("t", 0).Append(testBatch("a value that is long enough"), 1, commitlog.Client); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("append after max.message.bytes shrank: %v, want ErrTooLarge", err)
	}
	h.set("t", func(c *TopicConfig) { c.AppendEngine = "abacus" })
	if err := h.ReconfigureAll(); err == nil {
		t.Error("an engine that does not exist was accepted")
	}
	if err := h.Reconfigure("nowhere"); err != nil {
		t.Errorf("a topic that is not here: %v, want nil", err)
	}
	if err := h.CheckConfig(h.config("t")); err == nil {
		t.Error("CheckConfig accepted an engine that does not exist")
	}
}

// TestEnginesPerTopic: topics of one broker use different engines.
func TestEnginesPerTopic(t *testing.T) {
	h := newHost(t, vfs.OS{}, t.TempDir())
	pairs := 0
	for _, a := range h.o.Engines.Appends() {
		for _, r := range h.o.Engines.Reads() {
			h.set(a.Name+"-"+r.Name, func(c *TopicConfig) { c.AppendEngine, c.ReadEngine = a.Name, r.Name })
			pairs++
		}
	}
	h.open()
	id := byte(0)
	for name := range h.configs {
		id++
		h.lead(name, id, 1)
		h.append(name, 0, "x", "y")
		chunk, o, err := h.Partition(name, 0).Read(ReadRequest{MaxBytes: 1000, LeaderEpoch: AnyEpoch})
		if err != nil || chunk == nil || o.HighWatermark != 2 {
			t.Fatalf("%s: chunk %v, offsets %+v, error %v", name, chunk, o, err)
		}
		if want := int64(len(testBatch("x", "y"))); chunk.Len() != want {
			t.Errorf("%s: %d bytes, want %d", name, chunk.Len(), want)
		}
		chunk.Release()
	}
	if len(h.Topics()) != pairs {
		t.Errorf("%d topics, want %d", len(h.Topics()), pairs)
	}
	h.close()
}

// TestScanLeavesStrangersAlone: directories that are no partitions are not
// touched (fault S05).
func TestScanLeavesStrangersAlone(t *testing.T) {
	fs := vfs.NewMem()
	for _, name := range []string{"lost+found", "t-x", "t-01", "..-0", "a b-0", "t-99999999999", "-0", "t"} {
		if err := fs.MkdirAll("/a/" + name); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, fs, "/a")
	h.open()
	if len(h.found) != 0 {
		t.Errorf("%d logs were found among strangers", len(h.found))
	}
	h.close()
	entries, err := fs.ReadDir("/a")
	if err != nil {
		t.Fatal(err)
	}
	dirs := 0
	for _, e := range entries {
		if e.IsDir() {
			dirs++
		}
	}
	if dirs != 8 {
		t.Errorf("%d directories are left, want all 8", dirs)
	}
}

// TestConfigKnownAfterStart: a log that was opened before its topic's
// configuration was known gets it once the partition is applied, the append engine
// included.
func TestConfigKnownAfterStart(t *testing.T) {
	h := newHost(t, vfs.OS{}, t.TempDir())
	mapped := func(c *TopicConfig) { c.AppendEngine, c.Log.MaxMessageBytes = "mapped", 80 }
	h.set("t", mapped)
	h.open()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
	h.close()

	known := h.configs["t"]
	for _, engine := range []string{"mapped", "buffered"} {
		delete(h.configs, "t")
		h.open()
		h.configs["t"] = known
		h.set("t", func(c *TopicConfig) { c.AppendEngine = engine })
		h.lead("t", 1, 1)
		p := h.Partition("t", 0)
		if _, _, err := p.Append(testBatch("a value that is long enough"), 1, commitlog.Client); !errors.Is(err, record.ErrTooLarge) {
			t.Errorf("%s: append over max.message.bytes: %v, want ErrTooLarge", engine, err)
		}
		h.append("t", 0, "y")
		h.close()
	}
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	if got := h.Partition("t", 0).LogEndOffset(); got != 3 {
		t.Errorf("log end offset %d, want 3", got)
	}
}

// TestCheckpointsFollowLogs: what a checkpoint says of a log outlives neither its
// deletion, so that a later log of its name is not trusted for it, nor is it lost
// while the log waits to be claimed.
func TestCheckpointsFollowLogs(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	h.lead("kept", 1, 1)
	h.lead("gone", 2, 1)
	h.append("kept", 0, "x", "y")
	h.append("gone", 0, "x")
	h.close()
	read := func(name string) map[ID]int64 {
		offsets, err := checkpoint.ReadOffsets(h.fs, "/a/"+name)
		if err != nil {
			t.Fatal(err)
		}
		return offsets
	}
	kept, gone := ID{Topic: "kept"}, ID{Topic: "gone"}
	h.open()
	defer h.close()
	h.clock.Advance(2 * time.Minute)
	for _, name := range []string{checkpoint.RecoveryPointFile, checkpoint.HighWatermarkFile} {
		if diff := cmp.Diff(map[ID]int64{kept: 2, gone: 1}, read(name)); diff != "" {
			t.Errorf("%s before anything is claimed (-want +got):\n%s", name, diff)
		}
	}
	h.lead("kept", 1, 1)
	if err := h.Stop([]ID{gone}, true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{checkpoint.RecoveryPointFile, checkpoint.HighWatermarkFile} {
		if diff := cmp.Diff(map[ID]int64{kept: 2}, read(name)); diff != "" {
			t.Errorf("%s after a log was deleted unclaimed (-want +got):\n%s", name, diff)
		}
	}
	if err := h.Stop([]ID{kept}, true); err != nil {
		t.Fatal(err)
	}
	if got := read(checkpoint.RecoveryPointFile); len(got) != 0 {
		t.Errorf("recovery points %v after every log was deleted, want none", got)
	}
}
