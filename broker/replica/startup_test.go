package replica

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// unclean describes log directories as a broker leaves them that was killed.
type unclean struct {
	partitions, segments int
	// synced is how many segments of each lie before the recovery point.
	synced int
	// batches are in each segment, of ten records.
	batches int
}

const recordsPerBatch = 10

// write fills dir; the last segment of every other partition ends in half a batch.
func (u unclean) write(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	values := make([]string, recordsPerBatch)
	for i := range values {
		values[i] = strings.Repeat("v", 100)
	}
	b := testBatch(values...)
	snapshot, epochs := sideFiles(t)
	points := map[ID]int64{}
	for p := range u.partitions {
		id := ID{Topic: "t", Partition: int32(p)}
		folder := logPath(dir, id)
		if err := fs.MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
		put(t, fs, filepath.Join(folder, checkpoint.PartitionMetadataFile), []byte("version: 0\ntopic_id: AQAAAAAAAAAAAAAAAAAAAA"))
		put(t, fs, filepath.Join(folder, "leader-epoch-checkpoint"), epochs)
		offset := int64(0)
		for s := range u.segments {
			base := offset
			var data []byte
			for range u.batches {
				b.SetBaseOffset(offset)
				data = append(data, b...)
				offset += recordsPerBatch
			}
			if s == u.segments-1 && p%2 == 1 {
				data = data[:len(data)-len(b)/2]
			}
			put(t, fs, filepath.Join(folder, commitlog.FileName(base, commitlog.LogSuffix)), data)
			put(t, fs, filepath.Join(folder, commitlog.FileName(base, commitlog.IndexSuffix)), nil) // Of one without, all is made anew.
			if s > 0 {
				put(t, fs, filepath.Join(folder, commitlog.FileName(base, commitlog.SnapshotSuffix)), snapshot)
			}
		}
		points[id] = int64(u.synced * u.batches * recordsPerBatch)
	}
	if err := checkpoint.WriteOffsets(fs, filepath.Join(dir, checkpoint.RecoveryPointFile), points); err != nil {
		t.Fatal(err)
	}
}

// sideFiles are a producer snapshot and leader epochs as a log of one epoch has them.
func sideFiles(t *testing.T) (snapshot, epochs []byte) {
	t.Helper()
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
	h.close()
	snapshot, err := vfs.ReadFile(fs, "/a/t-0/"+commitlog.FileName(1, commitlog.SnapshotSuffix))
	if err != nil {
		t.Fatal(err)
	}
	epochs, err = vfs.ReadFile(fs, "/a/t-0/leader-epoch-checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	return snapshot, epochs
}

func put(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// touched notes which segment files were opened or read.
type touched struct {
	mu    sync.Mutex
	files map[string]bool
}

func (x *touched) see(op vfs.Op, path string) error {
	if (op == vfs.OpOpen || op == vfs.OpRead) && strings.HasSuffix(path, commitlog.LogSuffix) {
		x.mu.Lock()
		x.files[path] = true
		x.mu.Unlock()
	}
	return nil
}

// start opens what u left and holds the files that were read against it.
func (u unclean) start(t *testing.T, fs vfs.FS, dir string, threads int) (log string) {
	t.Helper()
	faulty := vfs.NewFaulty(fs)
	seen := &touched{files: map[string]bool{}}
	faulty.OnCall(seen.see)
	h := newHost(t, faulty, dir)
	var text bytes.Buffer
	h.o.Logger, h.o.RecoveryThreads = slog.New(slog.NewTextHandler(&text, nil)), threads
	h.o.Clock = clock.Real{}
	h.Manager = New(h.o)
	if err := h.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := u.partitions * (u.segments - u.synced)
	if got := h.Recovery(); got.Opened != u.partitions || got.Logs != u.partitions || got.ScannedSegments != want || got.ScannedBytes == 0 {
		t.Errorf("recovery %+v, want %d logs and %d segments scanned", got, u.partitions, want)
	}
	perSegment := int64(u.batches * recordsPerBatch)
	for name := range seen.files {
		base, _, ok := commitlog.ParseFileName(filepath.Base(name))
		if !ok || base < int64(u.synced)*perSegment {
			t.Errorf("%s was read, although it lies before the recovery point", name)
		}
	}
	if got := len(seen.files); got != want {
		t.Errorf("%d segment files were read, want the %d past the recovery points", got, want)
	}
	h.lead("t", 1, int32(u.partitions))
	for p := range int32(u.partitions) {
		end := int64(u.segments) * perSegment
		if p%2 == 1 {
			end -= recordsPerBatch // Its torn batch.
		}
		if got := h.Partition("t", p).LogEndOffset(); got != end {
			t.Fatalf("partition %d ends at %d, want %d", p, got, end)
		}
	}
	h.append("t", 0, "x")
	h.close()
	return text.String()
}

// TestStartReadsPastRecoveryPoints: after an unclean stop no segment file before a
// recovery point is even opened, and people see how far the start is.
func TestStartReadsPastRecoveryPoints(t *testing.T) {
	u := unclean{partitions: 40, segments: 20, synced: 18, batches: 3}
	for _, threads := range []int{0, 1, 7} {
		t.Run(fmt.Sprintf("%d threads", threads), func(t *testing.T) {
			fs := vfs.NewMem()
			u.write(t, fs, "/a")
			log := u.start(t, fs, "/a", threads)
			if !regexp.MustCompile(`msg="logs are open" count=40 scanned_segments=80 scanned_bytes=\d+ took=`).MatchString(log) {
				t.Errorf("nothing was said of what the start did:\n%s", log)
			}
		})
	}
}

// TestProgress: the log line of a start that takes its time names what is done, what
// there is and how long it will take; once a second.
func TestProgress(t *testing.T) {
	var text bytes.Buffer
	c := clock.NewManual(testNow)
	o := &Options{Clock: c, Logger: slog.New(slog.NewTextHandler(&text, nil))}
	var r recovery
	r.begin(c.Now(), 100)
	for range 100 {
		c.Advance(250_000_000)
		r.step(o, openResult{err: os.ErrClosed})
	}
	lines := strings.Count(text.String(), "\n")
	if lines != 25 || !strings.Contains(text.String(), `msg="opening logs" done=40 of=100 scanned_segments=0 scanned_bytes=0 left=15s`) {
		t.Errorf("%d lines:\n%s\nwant one a second, and after 10 s of 25 that 15 s are left", lines, text.String())
	}
}

// TestStartOfTwoThousandPartitions is TestStartReadsPastRecoveryPoints in full size
// and on the machine's file system.
func TestStartOfTwoThousandPartitions(t *testing.T) {
	if os.Getenv("TIDEMARK_FULL") == "" {
		t.Skip("40,000 segment files: make test-full runs it")
	}
	u := unclean{partitions: 2000, segments: 20, synced: 18, batches: 40}
	dir := t.TempDir()
	u.write(t, vfs.OS{}, dir)
	log := u.start(t, vfs.OS{}, dir, 0)
	for line := range strings.Lines(log) {
		if strings.Contains(line, "opening logs") || strings.Contains(line, "logs are open") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
