package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/engines/append/buffered"
	"tidemark/engines/read/pread"
	"tidemark/internal/clock"
	"tidemark/internal/golden"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// logDir makes a log directory with one partition of every kind of content.
func logDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	o := commitlog.DefaultOptions()
	o.Append, o.Read = buffered.Spec(), pread.Spec()
	o.SegmentBytes, o.IndexIntervalBytes, o.TimestampAfterMaxMs = 700, 100, -1
	partition := filepath.Join(dir, "orders-0")
	start := time.UnixMilli(1_700_000_000_000)
	l, err := commitlog.Open(vfs.OS{}, partition, o, commitlog.OpenState{}, clock.NewManual(start))
	if err != nil {
		t.Fatal(err)
	}
	appendOne := func(b record.Batch, leaderEpoch int32, origin commitlog.AppendOrigin) {
		if _, err := l.AppendAsLeader(b, leaderEpoch, origin); err != nil {
			t.Fatal(err)
		}
	}
	for i, codec := range []record.Codec{record.None, record.LZ4, record.Snappy, record.None, record.None, record.None} {
		w := record.NewBuilder(codec, record.DefaultLevel)
		w.Producer(12, 1, int32(3*i))
		for j := range 3 {
			w.Append(start.UnixMilli()+int64(10*i+j), []byte("k"), fmt.Appendf(nil, "value %d", j),
				[]record.Header{{Key: []byte("trace"), Value: []byte("on")}})
		}
		appendOne(w.Build(), int32(i/3), commitlog.Client)
	}
	appendOne(record.EndTxnMarker{TimestampMs: start.UnixMilli(), ProducerID: 12, ProducerEpoch: 1, CoordinatorEpoch: 4, Commit: true}.Batch(), 1, commitlog.Coordinator)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fs := vfs.OS{}
	orders := checkpoint.TopicPartition{Topic: "orders"}
	for _, err := range []error{
		checkpoint.WriteOffsets(fs, filepath.Join(dir, checkpoint.HighWatermarkFile), map[checkpoint.TopicPartition]int64{orders: 19}),
		checkpoint.WriteMeta(fs, filepath.Join(dir, checkpoint.MetaPropertiesFile), checkpoint.Meta{BrokerID: 1, ClusterID: "rAbcDEfgQ8-xyz0123456w"}),
		checkpoint.WritePartitionMetadata(fs, filepath.Join(partition, checkpoint.PartitionMetadataFile), checkpoint.PartitionMetadata{TopicID: [16]byte{1, 2, 3}}),
		checkpoint.WriteCleanShutdown(fs, dir, 17),
		os.WriteFile(filepath.Join(partition, "README"), []byte("not ours"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDump(t *testing.T) {
	for name, o := range map[string]Options{"text": {Records: true}, "json": {JSON: true, Deep: true}} {
		dir := logDir(t)
		var out bytes.Buffer
		problems, err := Dump(&out, dir, o)
		if err != nil || problems != 0 {
			t.Fatalf("%d problems, %v, want a sound log:\n%s", problems, err, out.String())
		}
		got := strings.ReplaceAll(out.String(), dir, "LOGS")
		golden.Check(t, filepath.Join("testdata", "dump."+name), got)
		if o.JSON {
			for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
		}
	}
}

func TestDumpFindsDamage(t *testing.T) {
	harm := func(pattern string, change func(data []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			matches, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(matches) == 0 {
				t.Fatalf("no file %s: %v", pattern, err)
			}
			data, err := os.ReadFile(matches[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(matches[0], change(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	for name, do := range map[string]func(t *testing.T, dir string){
		"record":          harm("*/*0.log", flip(-3)),
		"base offset":     harm("*/*0.log", flip(7)),
		"length":          harm("*/*0.log", flip(11)),
		"torn segment":    harm("*/*0.log", cut),
		"offset index":    harm("*/*0.index", flip(3)),
		"position":        harm("*/*0.index", flip(7)),
		"torn index":      harm("*/*0.index", cut),
		"timestamp":       harm("*/*0.timeindex", flip(7)),
		"torn time index": harm("*/*0.timeindex", cut),
		"snapshot":        harm("*/*.snapshot", flip(-1)),
		"epochs":          harm("*/leader-epoch-checkpoint", cut),
		"checkpoint":      harm("replication-offset-checkpoint", flip(0)),
		"meta":            harm("meta.properties", flip(8)),
		"topic id":        harm("*/partition.metadata", cut),
		"segment is gone": func(t *testing.T, dir string) { remove(t, dir, "*/*0.log") },
		"transaction index": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "orders-0", "00000000000000000000.txnindex"), make([]byte, 35))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := logDir(t)
			do(t, dir)
			var out bytes.Buffer
			problems, err := Dump(&out, dir, Options{})
			if err != nil || problems == 0 || strings.Count(out.String(), "PROBLEM") != problems {
				t.Errorf("%d problems, %v, want some, each printed:\n%s", problems, err, out.String())
			}
		})
	}
}

func remove(t *testing.T, dir, pattern string) {
	matches, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDumpOfReservedSpaceIsNoProblem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00000000000000000000.log")
	write(t, path, make([]byte, 1<<20))
	var out bytes.Buffer
	if problems, err := Dump(&out, path, Options{}); problems != 0 || err != nil || !strings.Contains(out.String(), "reserved") {
		t.Errorf("%d problems, %v:\n%s", problems, err, out.String())
	}
}

func TestDumpOfOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README")
	write(t, path, []byte("text"))
	if _, err := Dump(&bytes.Buffer{}, path, Options{}); err == nil {
		t.Error("a file of another kind was dumped")
	}
	if _, err := Dump(&bytes.Buffer{}, filepath.Dir(path), Options{}); err == nil {
		t.Error("a directory without a file of a log was dumped without an error")
	}
	if _, err := Dump(&bytes.Buffer{}, path+"x", Options{}); err == nil {
		t.Error("a missing file was dumped")
	}
	if _, err := Dump(broken{}, logDir(t), Options{}); err == nil {
		t.Error("a writer that fails went unnoticed")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestDumpOfACompactedLog: what compaction leaves is sound, and its delete horizons
// are shown.
func TestDumpOfACompactedLog(t *testing.T) {
	dir := t.TempDir()
	o := commitlog.DefaultOptions()
	o.Append, o.Read = buffered.Spec(), pread.Spec()
	o.SegmentBytes, o.IndexIntervalBytes, o.TimestampAfterMaxMs = 700, 100, -1
	start := time.UnixMilli(1_700_000_000_000)
	l, err := commitlog.Open(vfs.OS{}, filepath.Join(dir, "orders-0"), o, commitlog.OpenState{}, clock.NewManual(start))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		w := record.NewBuilder(record.Zstd, record.DefaultLevel)
		w.Producer(int64(i%3), 0, int32(i/3*2))
		w.Append(start.UnixMilli()+int64(i), []byte("k"), []byte("v"), nil)
		w.Append(start.UnixMilli(), []byte("gone"), nil, nil)
		if _, err := l.AppendAsLeader(w.Build(), 0, commitlog.Client); err != nil {
			t.Fatal(err)
		}
	}
	c := commitlog.NewCleaner(commitlog.CleanerOptions{MapBytes: 4096, MapLoad: 0.5, BufferBytes: 4096})
	r, err := c.Clean(l, l.LogEndOffset())
	if err != nil || r.BytesKept == 0 || r.BytesKept >= r.BytesRead {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	problems, err := Dump(&out, dir, Options{Deep: true})
	if err != nil || problems != 0 {
		t.Fatalf("%d problems, %v:\n%s", problems, err, out.String())
	}
	for _, want := range []string{"deleteHorizonMs: 1700086400000", "count: 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
