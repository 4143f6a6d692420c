package replica

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

var errDisk = errors.New("disk on fire")

// TestFailedSyncTakesDirectoryOffline: a failed sync is final for the directory
// and its partitions; other directories go on, and the stop is no clean one.
func TestFailedSyncTakesDirectoryOffline(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a", "/b")
	h.set("t", func(c *TopicConfig) { c.Log.FlushMessages = 1 })
	h.open()
	h.lead("t", 1, 4)
	bad := h.Partition("t", 0)
	fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "*.log", Nth: 1, Err: errDisk})
	if _, _, err := bad.Append(testBatch("x"), 1, commitlog.Client); !errors.Is(err, ErrStorage) || !errors.Is(err, errDisk) {
		t.Fatalf("append whose sync fails: %v, want ErrStorage with its cause", err)
	}
	fs.Clear()
	for i := range int32(4) {
		p := h.Partition("t", i)
		_, _, err := p.Append(testBatch("x"), 1, commitlog.Client)
		if offline := p.Dir() == bad.Dir(); errors.Is(err, ErrStorage) != offline {
			t.Errorf("append to partition %d in %s: %v; %s is offline", i, p.Dir(), err, bad.Dir())
		}
		_, _, err = p.Read(ReadRequest{MaxBytes: 10, LeaderEpoch: AnyEpoch})
		if offline := p.Dir() == bad.Dir(); errors.Is(err, ErrStorage) != offline {
			t.Errorf("read of partition %d in %s: %v; %s is offline", i, p.Dir(), err, bad.Dir())
		}
	}
	for _, d := range h.Dirs() {
		if d.Offline != (d.Path == bad.Dir()) {
			t.Errorf("directory %s: offline is %v", d.Path, d.Offline)
		}
	}
	h.lead("new", 2, 2)
	for i := range int32(2) {
		if got := h.Partition("new", i).Dir(); got == bad.Dir() {
			t.Errorf("a new partition was put into the directory that is offline")
		}
	}
	_ = h.Close(1) // the broken log may say so again
	for _, d := range h.dirs {
		_, err := fs.Stat(filepath.Join(d, checkpoint.CleanShutdownFile))
		if clean := err == nil; clean == (d == bad.Dir()) {
			t.Errorf("directory %s: clean-shutdown marker is there: %v", d, clean)
		}
	}
}

// TestFullDiskIsNotFinal: what does not fit is refused, and once there is room
// appends go on.
func TestFullDiskIsNotFinal(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
	fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "*", Short: 10, Err: syscall.ENOSPC})
	h.dirsOf()[0].checkpointAll()
	chunk, _, err := h.Partition("t", 0).Read(ReadRequest{MaxBytes: 1000, LeaderEpoch: AnyEpoch})
	if err != nil || chunk == nil {
		t.Fatalf("read on a full disk, after a checkpoint that did not fit: %v, want the record", err)
	}
	chunk.Release()
	if _, _, err := h.Partition("t", 0).Append(testBatch("y"), 1, commitlog.Client); !errors.Is(err, ErrStorage) {
		t.Fatalf("append to a full disk: %v, want ErrStorage", err)
	}
	fs.Clear()
	h.append("t", 0, "z")
	if got := h.Partition("t", 0).HighWatermark(); got != 2 {
		t.Errorf("high watermark %d, want 2: the refused record must not count", got)
	}
}

// TestSyncWithoutRoomIsRepeated: what a roll left to be written found no room, and no
// append comes after. Whoever waits for the sync is answered once there is room.
func TestSyncWithoutRoomIsRepeated(t *testing.T) {
	for name, policy := range flushPolicies {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewFaulty(vfs.NewMem())
			h := newHost(t, fs, "/a")
			h.set("t", func(c *TopicConfig) { c.Flush, c.Log.SegmentBytes = policy, 200 })
			h.open()
			defer h.close()
			h.lead("t", 1, 1)
			p := h.Partition("t", 0)
			h.append("t", 0, "x")
			acknowledged(p, 0)
			var refused atomic.Int32
			fs.OnCall(func(op vfs.Op, path string) error {
				if op == vfs.OpCreate && strings.Contains(path, ".snapshot") {
					refused.Add(1)
					return syscall.ENOSPC
				}
				return nil
			})
			last := int64(0)
			for refused.Load() == 0 {
				last++
				h.append("t", 0, strings.Repeat("y", 60))
			}
			last++
			h.append("t", 0, "z")
			for !p.flush.again.Load() {
				runtime.Gosched()
			}
			if counted(p, last, 1) {
				t.Fatal("acknowledged without a sync")
			}
			fs.OnCall(nil)
			h.clock.Advance(retrySyncInterval)
			acknowledged(p, last)
		})
	}
}

// TestCreateOnFullDisk: a partition that found no room is refused as a matter of
// storage, leaves nothing behind and comes with the next try.
func TestCreateOnFullDisk(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	defer h.close()
	fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: checkpoint.PartitionMetadataFile + "*", Err: syscall.ENOSPC})
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, Replicas: []int32{1}, ISR: Members(1)}
	if err := h.Apply([]State{state}).Err(); !errors.Is(err, ErrStorage) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("create on a full disk: %v, want ErrStorage with its cause", err)
	}
	fs.Clear()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
}

// TestFailedCheckpointTakesDirectoryOffline.
func TestFailedCheckpoint(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	h.lead("t", 1, 1)
	fs.Inject(vfs.Fault{Op: vfs.OpSync, Err: errDisk})
	h.dirsOf()[0].checkpointHighWatermarks()
	fs.Clear()
	if !h.Dirs()[0].Offline {
		t.Error("the directory is online although its checkpoint could not be written")
	}
	_ = h.Close(1) // as above
}

func (h *host) dirsOf() []*logDir { return h.Manager.dirs }

// TestOpenFailureReleases: a log that cannot be opened fails the start, and
// everything is given back.
func TestOpenFailureReleases(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	h.lead("t", 1, 3)
	h.append("t", 1, "x")
	h.close()
	fs.Inject(vfs.Fault{Op: vfs.OpOpen, Path: "*.log", Nth: 1, Err: errDisk})
	if err := New(h.o).Open(t.Context()); !errors.Is(err, errDisk) {
		t.Fatalf("open: %v, want the disk's error", err)
	}
	fs.Clear()
	h.open()
	h.lead("t", 1, 3)
	if got := h.Partition("t", 1).LogEndOffset(); got != 1 {
		t.Errorf("log end offset %d after a failed start, want 1", got)
	}
	h.close()
}

// TestConcurrentUse appends, reads, reconfigures, moves leadership, deletes and
// closes at the same time; it is for the race detector, and for invariants.
func TestConcurrentUse(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a", "/b")
	h.open()
	h.lead("t", 1, 2)
	h.lead("short", 2, 1)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var last int64
			for range 200 {
				p := h.Partition("t", int32(w%2))
				if _, moved, err := p.Append(testBatch("x"), 1, commitlog.Client); err == nil && moved {
					p.Changed.Wake()
				}
				hw := p.HighWatermark()
				if hw < last || hw > p.LogEndOffset() {
					t.Errorf("high watermark went from %d to %d with the log end at %d", last, hw, p.LogEndOffset())
				}
				last = hw
				if chunk, _, err := p.Read(ReadRequest{Offset: hw / 2, MaxBytes: 200, LeaderEpoch: AnyEpoch}); err == nil && chunk != nil {
					chunk.Release()
				}
			}
		})
	}
	wg.Go(func() {
		for i := range int32(50) {
			s := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1 + i%2, LeaderEpoch: i, Replicas: []int32{1, 2}, ISR: Members(1)}
			if err := h.Apply([]State{s}).Err(); err != nil {
				t.Error(err)
			}
			if err := h.Reconfigure("t"); err != nil {
				t.Error(err)
			}
			h.clock.Advance(testInterval)
		}
	})
	wg.Go(func() {
		for i := range 50 {
			id := byte(10 + i)
			if err := h.Apply([]State{{Topic: "short", TopicID: [16]byte{id}, Leader: 1, Replicas: []int32{1}, ISR: Members(1)}}).Err(); err != nil {
				t.Error(err)
			}
			if err := h.Stop([]ID{{Topic: "short"}}, true); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	h.close()
}

const testInterval = 61_000_000_000
