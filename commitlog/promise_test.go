package commitlog

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/vfs"
)

// TestFailedSyncsPromiseNothing fails each sync of a session: what it should have
// written is lost, whatever a later sync of the file says. What Flush or the
// recovery point promised must be there after a power cut all the same.
func TestFailedSyncsPromiseNothing(t *testing.T) {
	failures := 0
	for nth := 1; nth == 1 || failures == nth-1; nth++ {
		s := newSession(newWorld(t), uint64(nth))
		mem := s.emptyMem()
		faulty := vfs.NewFaulty(mem)
		s.fs = faulty
		s.open()
		syncs, lost := 0, ""
		faulty.OnCall(func(op vfs.Op, path string) error {
			if op != vfs.OpSync || !strings.HasSuffix(path, LogSuffix) {
				return nil
			}
			if syncs++; syncs == nth {
				lost = path
				failures++
			}
			if path == lost {
				return syscall.EIO
			}
			return nil
		})
		flushed := int64(0)
		for range 20 {
			b := idempotent(5, 0, s.nextSequence(), 3)
			if _, err := s.AppendAsLeader(b, 0, Client); err != nil {
				break
			}
			end := s.LogEndOffset()
			if err := s.Flush(); err == nil {
				flushed = end
			}
		}
		promised := max(flushed, s.RecoveryPoint())
		if err := s.Err(); lost != "" && !errors.Is(err, syscall.EIO) {
			t.Errorf("sync %d failed and the log goes on: %v", nth, err)
		}
		w := newWorld(t)
		w.fs = mem.CrashClone(0)
		w.open()
		if got := w.LogEndOffset(); got < promised {
			t.Errorf("sync %d failed, %d was promised and a power cut leaves %d", nth, promised, got)
		}
	}
	if failures < 10 {
		t.Errorf("%d syncs failed, want more", failures)
	}
}
