package commitlog

import (
	"bytes"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"tidemark/internal/vfs"
)

func TestErrorsOfTheDisk(t *testing.T) {
	fault := errors.New("scripted")
	for _, c := range []struct {
		name   string
		fault  vfs.Fault
		do     func(w *world) error
		failed bool
	}{
		{"full disk on append", vfs.Fault{Op: vfs.OpWrite, Path: "*.log", Nth: 1, Short: 20, Err: syscall.ENOSPC}, nil, false},
		{"error on append", vfs.Fault{Op: vfs.OpWrite, Path: "*.log", Nth: 1, Short: 20, Err: syscall.EIO}, nil, true},
		{"full disk on roll", vfs.Fault{Op: vfs.OpCreate, Path: "*.timeindex", Nth: 1, Err: syscall.ENOSPC}, (*world).roll, false},
		{"error on roll", vfs.Fault{Op: vfs.OpCreate, Path: "*.log", Nth: 1, Err: syscall.EIO}, (*world).roll, true},
		{"sync fails once", vfs.Fault{Op: vfs.OpSync, Path: "*.log", Nth: 1, Err: syscall.EIO}, (*world).flush, true},
		{"sync of the directory fails once", vfs.Fault{Op: vfs.OpSyncDir, Nth: 1, Err: syscall.EIO}, (*world).rollAndFlush, true},
		{"index write fails", vfs.Fault{Op: vfs.OpWrite, Path: "*.index", Nth: 1, Err: syscall.EIO}, (*world).rollAndFlush, true},
		{"full disk for an index when sealing", vfs.Fault{Op: vfs.OpWrite, Path: "*.index", Nth: 1, Err: syscall.ENOSPC}, (*world).rollAndFlush, false},
		{"full disk for a snapshot when sealing", vfs.Fault{Op: vfs.OpWrite, Path: "*.snapshot.tmp", Nth: 1, Err: syscall.ENOSPC}, (*world).rollAndFlush, false},
		{"snapshot fails", vfs.Fault{Op: vfs.OpCreate, Path: "*.snapshot.tmp", Nth: 1, Err: fault}, (*world).rollAndFlush, true},
		{"epoch checkpoint fails", vfs.Fault{Op: vfs.OpRename, Path: "leader-epoch-checkpoint.tmp", Nth: 1, Err: syscall.ENOSPC},
			func(w *world) error { return w.AssignEpoch(80, w.LogEndOffset()) }, false},
		{"truncation fails", vfs.Fault{Op: vfs.OpTruncate, Path: "*.log", Nth: 1, Err: fault}, func(w *world) error { return w.TruncateTo(4) }, true},
		{"rename fails in truncation", vfs.Fault{Op: vfs.OpRename, Path: "*.log", Nth: 1, Err: fault}, func(w *world) error { return w.TruncateTo(4) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			faulty := vfs.NewFaulty(w.fs)
			w.fs = faulty
			w.open()
			var all [][]byte
			for i := range 20 {
				b := idempotent(5, 0, int32(3*i), 3)
				w.mustAppend(b, 0)
				all = append(all, bytes.Clone(b))
			}
			faulty.Inject(c.fault)
			do := c.do
			if do == nil {
				do = func(w *world) error {
					_, err := w.AppendAsLeader(idempotent(5, 0, 60, 3), 0, Client)
					return err
				}
			}
			if err := do(w); !errors.Is(err, c.fault.Err) || errors.Is(err, ErrFailed) != c.failed {
				t.Fatalf("error %v, want %v, ErrFailed %v", err, c.fault.Err, c.failed)
			}
			_, err := w.AppendAsLeader(idempotent(5, 0, 60, 3), 0, Client)
			if errors.Is(err, ErrFailed) != c.failed || (err != nil) != c.failed {
				t.Fatalf("append afterwards: %v, want it refused: %v", err, c.failed)
			}
			if (w.Err() != nil) != c.failed {
				t.Errorf("Err() is %v", w.Err())
			}
			if c.failed {
				if err := w.Flush(); !errors.Is(err, ErrFailed) {
					t.Errorf("flush afterwards: %v: a retry that succeeds would prove nothing", err)
				}
			} else {
				all = append(all, nil)
			}
			if err := w.Close(); (err != nil) != c.failed {
				t.Errorf("close: %v", err)
			}
			faulty.Clear()
			w.state.RecoveryPoint = 0
			w.open()
			for i, b := range w.readAll(0) {
				if i >= len(all) || all[i] != nil && !bytes.Equal(b, all[i]) {
					t.Fatalf("batch %d after a restart is not what was appended", i)
				}
			}
		})
	}
}

func (w *world) roll() error  { return w.Roll() }
func (w *world) flush() error { return w.Flush() }

func (w *world) rollAndFlush() error {
	if err := w.Roll(); err != nil {
		return err
	}
	return w.Flush()
}

func TestOpenFailsWhereTheDiskDoes(t *testing.T) {
	// Every call of an Open after a crash fails once; none may pass for success
	// with records missing, and the next Open must find everything.
	for nth := 1; ; nth++ {
		w, all := filled(t, 25)
		w.crash()
		faulty := vfs.NewFaulty(w.fs)
		w.fs = faulty
		calls := 0
		faulty.OnCall(func(vfs.Op, string) error {
			if calls++; calls == nth {
				return syscall.EIO
			}
			return nil
		})
		err := w.tryOpen()
		faulty.Clear()
		if calls < nth {
			if nth < 50 {
				t.Fatalf("Open made %d calls, want more to fail", nth)
			}
			return
		}
		if err == nil && len(w.readAll(0)) != len(all) {
			t.Fatalf("call %d failed, Open did not, and batches are missing", nth)
		}
		if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("call %d: %v, want the disk's error", nth, err)
		}
		w.crashIfOpen()
		w.checkPrefix(all, len(all))
	}
}

func (w *world) crashIfOpen() {
	if w.Log != nil {
		w.crash()
	}
}
