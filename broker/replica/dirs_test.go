package replica

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// within fails every call on paths below dir that changes something, as on a
// directory that lost its write permission.
func within(dir string, err error) func(vfs.Op, string) error {
	return func(op vfs.Op, path string) error {
		switch op {
		case vfs.OpRead, vfs.OpSize, vfs.OpStat, vfs.OpClose, vfs.OpReadDir, vfs.OpFree:
			return nil
		}
		if strings.HasPrefix(path, dir+"/") || path == dir {
			return err
		}
		return nil
	}
}

// waiting parks an operation that a partition's service or its end completes.
type waiting struct {
	p     *Partition
	ended chan error
}

func (w *waiting) TryComplete() bool {
	err := w.p.Check(AnyEpoch)
	if err != nil {
		w.ended <- err
	}
	return err != nil
}
func (w *waiting) Expire() { w.ended <- nil }
func (w *waiting) Cancel() {}

// TestOneDirectoryOfTwo: a directory that may no longer be written to goes offline,
// its partitions with it, and whoever waits for one of them is told; the other one
// serves and takes new partitions. With the last one the broker is told to end, in
// one sentence, and its end is no error of its own.
func TestOneDirectoryOfTwo(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a", "/b")
	var failures []error
	h.o.Failed = func(err error) { failures = append(failures, err) }
	h.set("t", func(c *TopicConfig) { c.Log.SegmentBytes = 200 }) // Rolls make files.
	h.open()
	h.lead("t", 1, 4)
	waiters := purgatory.New(h.clock)
	defer waiters.Close()
	var parked []*waiting
	produce := func() (online, offline int) {
		for i := range int32(4) {
			p := h.Partition("t", i)
			for range 5 {
				if _, _, err := p.Append(testBatch("value"), 1, commitlog.Client); err == nil {
					online++
				} else if offline++; !errors.Is(err, ErrStorage) {
					t.Errorf("append: %v, want ErrStorage", err)
				}
			}
		}
		return online, offline
	}
	if online, offline := produce(); online != 20 || offline != 0 {
		t.Fatalf("%d and %d appends before anything failed", online, offline)
	}
	for i := range int32(4) {
		if p := h.Partition("t", i); p.Dir() == "/a" {
			w := &waiting{p: p, ended: make(chan error, 1)}
			parked = append(parked, w)
			waiters.Park(w, time.Hour, &p.Changed)
		}
	}
	fs.OnCall(within("/a", syscall.EACCES))
	if online, offline := produce(); online < 10 || offline == 0 {
		t.Errorf("%d appends went on and %d were refused with one of two directories gone", online, offline)
	}
	for _, w := range parked {
		if err := <-w.ended; !errors.Is(err, ErrStorage) {
			t.Errorf("whoever waited for a partition of the directory was told %v, want ErrStorage", err)
		}
	}
	h.lead("new", 2, 2)
	for i := range int32(2) {
		if got := h.Partition("new", i).Dir(); got != "/b" {
			t.Errorf("a new partition was put into %s", got)
		}
		h.append("new", i, "x")
	}
	if len(failures) != 0 {
		t.Fatalf("the broker was told to end although a directory is left: %v", failures)
	}
	fs.OnCall(func(op vfs.Op, path string) error {
		return errors.Join(within("/a", syscall.EACCES)(op, path), within("/b", syscall.EIO)(op, path))
	})
	if online, _ := produce(); online == 20 {
		t.Error("appends went on without any directory")
	}
	if h.OfflineDirs() != 2 {
		t.Errorf("%d directories are said to be offline, want 2", h.OfflineDirs())
	}
	if len(failures) != 1 || !errors.Is(failures[0], syscall.EIO) || !strings.Contains(failures[0].Error(), "no log directory is left, the last was /b") {
		t.Errorf("the broker was told %v, want the one sentence", failures)
	}
	if err := h.Close(7); err != nil && strings.Contains(err.Error(), "close ") {
		t.Errorf("the end repeats what was told when the directories went: %v", err)
	}
}

// TestCreateInBrokenDirectory: a directory that cannot be written to is noticed
// when it is to hold a new partition, and the next one holds it.
func TestCreateInBrokenDirectory(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a", "/b")
	h.open()
	fs.OnCall(within("/a", syscall.EROFS))
	h.lead("t", 1, 3)
	for i := range int32(3) {
		if got := h.Partition("t", i).Dir(); got != "/b" {
			t.Errorf("partition %d lies in %s", i, got)
		}
	}
	if d := h.Dirs(); !d[0].Offline || d[1].Offline {
		t.Errorf("directories %+v, want the first alone offline", d)
	}
	_ = h.Close(1) // The lock of the broken directory may say so again.
}

// TestRefusedDirectory: a directory that is locked, another's, or of a later format
// is refused with what to do about it, and untouched.
func TestRefusedDirectory(t *testing.T) {
	const meta = "/a/" + checkpoint.MetaPropertiesFile
	for name, c := range map[string]struct {
		harm func(h *host)
		want []string
	}{
		"locked": {func(h *host) {
			lock, err := h.fs.Lock("/a/" + checkpoint.LockFile)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Close() }) // The test is over.
		}, []string{"locked"}},
		"another broker":  {func(h *host) { h.o.BrokerID = 2 }, []string{"belongs to broker 1", "this is broker 2", "log.dirs=DIR", "broker.id=1"}},
		"another cluster": {func(h *host) { h.o.ClusterID = "other" }, []string{"belongs to cluster c", "log.dirs=DIR", "zookeeper.connect"}},
		"newer": {func(h *host) { write(t, h.fs, meta, "version=1\nnode.id=1\ncluster.id=c\n") },
			[]string{"version 1", "knows version 0", "the version that wrote it", "log.dirs=DIR"}},
		"newer partition": {func(h *host) {
			write(t, h.fs, "/a/t-0/"+checkpoint.PartitionMetadataFile, "version: 7\ntopic_id: AQAAAAAAAAAAAAAAAAAAAA")
		}, []string{"version 7", "the version that wrote it"}},
		"unreadable": {func(h *host) { write(t, h.fs, meta, "\x00\x01\x02") }, []string{"cannot read", "restore the file", "log.dirs=DIR"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, vfs.NewMem(), "/a")
			h.open()
			h.lead("t", 1, 1)
			h.append("t", 0, "x")
			h.close()
			c.harm(h)
			err := New(h.o).Open(context.Background())
			if err == nil {
				t.Fatal("the directory was opened")
			}
			for _, want := range append(c.want, "/a") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if name != "newer partition" { // There the directory itself was fine, and opened.
				if _, err := h.fs.Stat("/a/" + checkpoint.CleanShutdownFile); err != nil {
					t.Errorf("the refusal took the clean-shutdown marker away: %v", err)
				}
			}
		})
	}
}

func write(t *testing.T, fs vfs.FS, name, text string) {
	t.Helper()
	if err := vfs.WriteFileAtomic(fs, name, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// flushPolicies are those under which a record counts once it is synced.
var flushPolicies = map[string]FlushPolicy{"batch": FlushBatch, "group": FlushGroup}

// TestFailedSyncIsFinal: after a sync that failed, one that succeeds proves nothing:
// what waited is never acknowledged, the high watermark stays, nothing is taken.
func TestFailedSyncIsFinal(t *testing.T) {
	for name, policy := range flushPolicies {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewFaulty(vfs.NewMem())
			h := newHost(t, fs, "/a")
			h.set("t", func(c *TopicConfig) { c.Flush = policy })
			h.open()
			h.lead("t", 1, 1)
			p := h.Partition("t", 0)
			syncs := make(chan struct{}, 100)
			fs.OnCall(func(op vfs.Op, path string) error {
				if op == vfs.OpSync && filepath.Ext(path) == ".log" {
					syncs <- struct{}{}
				}
				return nil
			})
			fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "*.log", Nth: 1, Err: syscall.EIO})
			for range 3 {
				_, _, _ = p.Append(testBatch("x"), 1, commitlog.Client) // The later ones may come before or behind the failure.
			}
			<-syncs
			w := &waiting{p: p, ended: make(chan error, 1)}
			waiters := purgatory.New(h.clock)
			defer waiters.Close()
			waiters.Park(w, time.Hour, &p.Changed)
			if err := <-w.ended; !errors.Is(err, ErrStorage) {
				t.Fatalf("whoever waited was told %v, want ErrStorage", err)
			}
			for range 3 {
				p.flushSoon(p.LogEndOffset()) // The disk would take it now.
				if err := p.log.Flush(); !errors.Is(err, commitlog.ErrFailed) {
					t.Errorf("flush after the failure: %v, want ErrFailed", err)
				}
			}
			if _, _, err := p.Append(testBatch("x"), 1, commitlog.Client); !errors.Is(err, ErrStorage) {
				t.Errorf("append after a failed sync: %v, want ErrStorage", err)
			}
			_ = h.Close(1) // The log has failed; what was asked for has run.
			if counted(p, 0, 1) || counted(p, 0, AckAll) || p.HighWatermark() != 0 {
				t.Errorf("acknowledged %v, %v, high watermark %d after a failed sync", counted(p, 0, 1), counted(p, 0, AckAll), p.HighWatermark())
			}
		})
	}
}

// TestFailedWriteTakesDirectoryOffline: after one write that failed nothing more is
// taken, whatever the disk would say.
func TestFailedWriteTakesDirectoryOffline(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	h.lead("t", 1, 2)
	h.append("t", 0, "x")
	fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "*.log", Nth: 1, Short: 20, Err: syscall.EIO})
	for i := range int32(2) {
		if _, _, err := h.Partition("t", i).Append(testBatch("y"), 1, commitlog.Client); !errors.Is(err, ErrStorage) {
			t.Errorf("append %d: %v, want ErrStorage", i, err)
		}
	}
	if p := h.Partition("t", 0); !h.Dirs()[0].Offline || p.HighWatermark() != 1 || p.LogEndOffset() != 1 {
		t.Errorf("offline %v, high watermark %d, log end offset %d; want true, 1, 1", h.Dirs()[0].Offline, p.HighWatermark(), p.LogEndOffset())
	}
	_ = h.Close(1) // The log has failed.
}

// TestSlowSyncHoldsNobodyUp: while one partition's sync hangs, appends to it return,
// reads and queries of it answer, and partitions beside it on the same device are
// synced and acknowledged; what waits for the sync is not.
func TestSlowSyncHoldsNobodyUp(t *testing.T) {
	for name, policy := range flushPolicies {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewFaulty(vfs.NewMem())
			h := newHost(t, fs, "/a")
			h.set("t", func(c *TopicConfig) { c.Flush = policy })
			h.open()
			h.lead("t", 1, 3)
			slow := h.Partition("t", 0)
			begun, proceed := make(chan struct{}, 100), make(chan struct{})
			var hung atomic.Int32
			fs.OnCall(func(op vfs.Op, path string) error {
				if op == vfs.OpSync && strings.Contains(path, "t-0/") {
					hung.Add(1)
					begun <- struct{}{}
					<-proceed
				}
				return nil
			})
			for range 3 {
				h.append("t", 0, "x")
			}
			<-begun
			for round := range int64(10) {
				for i := int32(1); i < 3; i++ {
					h.append("t", i, "y")
					acknowledged(h.Partition("t", i), round)
				}
				h.append("t", 0, "z")
				if slow.LogEndOffset() != round+4 || slow.Offsets().HighWatermark != 0 || slow.Size() == 0 {
					t.Fatalf("log end offset %d and high watermark %d while the sync hangs, want %d and 0", slow.LogEndOffset(), slow.HighWatermark(), round+4)
				}
				if chunk, _, err := slow.Read(ReadRequest{MaxBytes: 100, LeaderEpoch: AnyEpoch, Isolation: ReadAll}); err != nil || chunk == nil {
					t.Fatalf("read while the sync hangs: %v, %v", chunk, err)
				} else {
					chunk.Release()
				}
			}
			h.clock.Advance(5 * time.Second) // The schedule's checkpoints run meanwhile.
			if counted(slow, 0, 1) || hung.Load() != 1 {
				t.Errorf("acknowledged %v during %d hanging syncs, want none acknowledged and one sync", counted(slow, 0, 1), hung.Load())
			}
			close(proceed)
			acknowledged(slow, 12)
			h.close()
		})
	}
}

// acknowledged waits until the batch that ends at last counts.
func acknowledged(p *Partition, last int64) {
	done := make(chan struct{})
	waiters := purgatory.New(clock.NewManual(testNow))
	defer waiters.Close()
	waiters.Park(&counts{p, last, done}, time.Hour, &p.Changed)
	<-done
}

// counted reports whether a producer is told of a batch of the present leader.
func counted(p *Partition, last int64, acks int16) bool {
	_, epoch := p.Leader()
	done, err := p.Acknowledged(&commitlog.AppendInfo{LastOffset: last, LeaderEpoch: epoch}, acks)
	return done && err == nil
}

// counts is an operation that completes once a batch counts.
type counts struct {
	p    *Partition
	last int64
	done chan struct{}
}

func (c *counts) TryComplete() bool {
	if !counted(c.p, c.last, 1) || !counted(c.p, c.last, AckAll) {
		return false
	}
	close(c.done)
	return true
}
func (c *counts) Expire() {}
func (c *counts) Cancel() {}

// TestTailCountsOnceSynced: what a topic had appended before it asked for syncs
// counts once it is synced, and not before; neither does a restart make it count.
func TestTailCountsOnceSynced(t *testing.T) {
	for name, policy := range flushPolicies {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewFaulty(vfs.NewMem())
			h := newHost(t, fs, "/a")
			h.open()
			h.lead("t", 1, 1)
			h.append("t", 0, "x", "y")
			p := h.Partition("t", 0)
			if !counted(p, 1, 1) || p.HighWatermark() != 2 {
				t.Fatal("under os what is appended counts")
			}
			begun, proceed := make(chan struct{}, 100), make(chan struct{})
			fs.OnCall(func(op vfs.Op, path string) error {
				if op == vfs.OpSync && strings.HasSuffix(path, ".log") {
					begun <- struct{}{}
					<-proceed
				}
				return nil
			})
			h.set("t", func(c *TopicConfig) { c.Flush = policy })
			if err := h.Reconfigure("t"); err != nil {
				t.Fatal(err)
			}
			<-begun
			h.append("t", 0, "z")
			if counted(p, 2, 1) {
				t.Error("the tail counts before it is synced")
			}
			if p.HighWatermark() != 2 {
				t.Errorf("high watermark %d, want 2: it neither goes back nor on", p.HighWatermark())
			}
			close(proceed)
			acknowledged(p, 2)
			h.close()

			fs.Clear()
			h.open()
			h.lead("t", 1, 1)
			if p := h.Partition("t", 0); p.HighWatermark() != 3 || p.log.RecoveryPoint() != 3 {
				t.Errorf("after a restart the high watermark is %d and the recovery point %d, want 3", p.HighWatermark(), p.log.RecoveryPoint())
			}
			h.close()
		})
	}
}
