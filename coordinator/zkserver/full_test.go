package zkserver

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// filling is a server whose disk can be full.
type filling struct {
	*Server
	clock   *clock.Manual
	full    atomic.Bool
	refused atomic.Int64
	taken   atomic.Int64
}

func newFilling(t *testing.T, fs vfs.FS, every int) *filling {
	f := &filling{clock: clock.NewManual(time.Unix(1000, 0))}
	faulty := vfs.NewFaulty(fs)
	faulty.OnCall(func(op vfs.Op, p string) error {
		if op != vfs.OpWrite && op != vfs.OpCreate {
			return nil
		}
		if f.full.Load() {
			f.refused.Add(1)
			return syscall.ENOSPC
		}
		f.taken.Add(1)
		return nil
	})
	f.Server = startEmbedded(t, Options{FS: faulty, Dir: "/zk", Clock: f.clock, TickTime: time.Second, SnapshotEvery: every})
	return f
}

// TestFullDiskIsWaitedFor: what has no room in the transaction log is answered when
// there is some, and never before; nobody's session ends meanwhile; and a restart finds
// what was answered. So with a log that is there, and with one that has to be made.
func TestFullDiskIsWaitedFor(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		t.Run(fmt.Sprintf("a new log %v", fresh), func(t *testing.T) {
			fs := vfs.NewMem()
			every := 1_000_000
			if fresh {
				every = 1
			}
			s := newFilling(t, fs, every)
			writer, other := newRawClient(t, s.Addr().String()), newRawClient(t, s.Addr().String())
			writer.connect(4000)
			other.connect(4000)
			if code, _ := writer.do(opCreate, create("/before", 0)); code != 0 {
				t.Fatal(code)
			}
			s.full.Store(true)
			answered := make(chan tree.Code, 1)
			written := writer.send(opCreate, create("/x", 0))
			go func() {
				code, _, err := writer.receive(written)
				if err != nil {
					t.Error(err)
				}
				answered <- code
			}()
			for refused := int64(0); refused < 10; refused = s.refused.Load() {
				s.clock.Advance(time.Second)
				time.Sleep(time.Millisecond)
			}
			select {
			case code := <-answered:
				t.Fatalf("answered %v on a full disk", code)
			default:
			}
			if left, _ := openClone(t, fs.CrashClone(0), 1); left.failed != nil {
				t.Errorf("what a crash leaves meanwhile: %v", left.failed)
			}
			taken := s.taken.Load()
			s.full.Store(false)
			// Not until the answer is there: from now on sessions end.
			for s.taken.Load() == taken {
				s.clock.Advance(time.Second)
				time.Sleep(time.Millisecond)
			}
			if code := <-answered; code != 0 {
				t.Errorf("answered %v once there was room", code)
			}
			s.clock.Advance(time.Second)
			if code, _ := other.do(opPing, nil); code != 0 {
				t.Errorf("the other client's session: %v", code)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			after := newFilling(t, fs, every)
			reader := newRawClient(t, after.Addr().String())
			reader.connect(4000)
			for _, path := range []string{"/before", "/x"} {
				if code, _ := reader.do(opExists, pathAndWatch(path)); code != 0 {
					t.Errorf("%s after a restart: %v", path, code)
				}
			}
		})
	}
}

// TestNoRoomForASnapshot: the log goes on, and a later snapshot starts a new one.
func TestNoRoomForASnapshot(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.NewMem())
	s, tr := open(t, faulty)
	if err := s.append([]tree.Txn{tr.OpenSession(tree.Session{ID: 7, TimeoutMs: 4000}, 1)}); err != nil {
		t.Fatal(err)
	}
	faulty.OnCall(func(op vfs.Op, p string) error {
		if op == vfs.OpWrite && strings.Contains(p, "snapshot.") {
			return syscall.ENOSPC
		}
		return nil
	})
	if err := s.snapshot(tr); err != nil || s.file == nil || s.sinceSnapshot != 0 {
		t.Fatalf("snapshot on a full disk: %v, log %v, %d transactions since; want the log to go on", err, s.file, s.sinceSnapshot)
	}
	txn, _, _ := tr.CloseSession(7, 2)
	if err := s.append([]tree.Txn{txn}); err != nil {
		t.Fatal(err)
	}
	faulty.Clear()
	if err := s.snapshot(tr); err != nil || s.file != nil {
		t.Fatalf("snapshot with room again: %v, log %v", err, s.file)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, again := open(t, faulty); image(again) != image(tr) {
		t.Error("the tree differs after a restart")
	}
}

// TestRoomIsKept: a log has room ahead of its end, on a disk that says so, and none
// behind it once it is closed.
func TestRoomIsKept(t *testing.T) {
	dir := t.TempDir()
	s, tr, err := openStore(vfs.OS{}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.append([]tree.Txn{tr.OpenSession(tree.Session{ID: 7, TimeoutMs: 4000}, 1)}); err != nil {
		t.Fatal(err)
	}
	blocks := func() int64 {
		t.Helper()
		var stat syscall.Stat_t
		if err := syscall.Stat(dir+"/"+logName(1), &stat); err != nil {
			t.Fatal(err)
		}
		if stat.Size != s.position {
			t.Errorf("the log is %d bytes long, want %d", stat.Size, s.position)
		}
		return stat.Blocks * 512
	}
	if s.reserved == 0 {
		t.Skip("the file system reserves nothing")
	}
	if got := blocks(); got < reserve/2 {
		t.Errorf("%d bytes reserved, want %d and more", got, reserve/2)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if got := blocks(); got > 64<<10 {
		t.Errorf("%d bytes on the disk after the close", got)
	}
}
