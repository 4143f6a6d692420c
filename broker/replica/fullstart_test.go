package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

// TestStartOnAFullDisk: a broker starts on a disk that is full to the last byte, after
// a clean stop and after any other, serves what is there, and once there is room takes
// appends again. No engine is blamed for the disk.
func TestStartOnAFullDisk(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%v", clean), func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tidemark", disk, "tmpfs", 0, "size=8m"); err != nil {
				t.Skipf("mount tmpfs: %v", err)
			}
			defer func() {
				if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			}()
			h := newHost(t, vfs.OS{}, filepath.Join(disk, "logs"))
			var topics []string
			for _, e := range h.o.Engines.Appends() {
				if e.Available != nil && e.Available(disk) != nil {
					t.Logf("%s does not run on a tmpfs here", e.Name)
					continue
				}
				topics = append(topics, e.Name)
				h.set(e.Name, func(c *TopicConfig) { c.AppendEngine = e.Name })
			}
			h.open()
			for _, topic := range topics {
				h.lead(topic, 1, 1)
				for range 5 {
					h.append(topic, 0, "x")
				}
			}
			h.close()
			if !clean {
				for _, name := range []string{checkpoint.CleanShutdownFile, checkpoint.RecoveryPointFile} {
					if err := os.Remove(filepath.Join(disk, "logs", name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			ballast := fill(t, disk)
			known := h.configs
			h.configs = map[string]TopicConfig{} // As before the controller has told.
			h.Manager = New(h.o)
			if err := h.Open(context.Background()); err != nil {
				t.Fatalf("start on a full disk: %v", err)
			}
			defer h.close()
			h.configs = known
			for _, topic := range topics {
				h.lead(topic, 1, 1)
				p := h.Partition(topic, 0)
				if got := p.LogEndOffset(); got != 5 {
					t.Errorf("%s: log end offset %d, want 5", topic, got)
				}
				chunk, _, err := p.Read(ReadRequest{MaxBytes: 1000, LeaderEpoch: AnyEpoch})
				if err != nil || chunk == nil {
					t.Fatalf("%s: read on a full disk: %v, want the records", topic, err)
				}
				chunk.Release()
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			for _, topic := range topics {
				if _, _, err := h.Partition(topic, 0).Append(testBatch("y"), 1, commitlog.Client); err != nil {
					t.Errorf("%s: append with room again: %v", topic, err)
				}
			}
		})
	}
}

// fill takes the last byte of a disk.
func fill(t *testing.T, disk string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !vfs.IsFull(err) {
		t.Fatal(err)
	}
	return ballast
}
