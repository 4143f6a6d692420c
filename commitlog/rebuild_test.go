package commitlog

import (
	"errors"
	"testing"

	"tidemark/internal/vfs"
)

// TestRebuildingCutShort cuts the power at every call of a lookup that makes the
// indexes of a closed segment anew: the first part of a time index looks like a
// whole one, and must not be taken for it.
func TestRebuildingCutShort(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/logs"), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	faulty := vfs.NewFaulty(mem)
	w := newWorld(t)
	w.fs, w.o.IndexIntervalBytes = faulty, 1
	w.open()
	for i := range 9 {
		w.mustAppend(batch(10, int64(100*i)), 0)
	}
	w.close()
	for _, name := range w.names() {
		if _, suffix, _ := ParseFileName(name); suffix == IndexSuffix || suffix == TimeIndexSuffix {
			if err := w.fs.Remove(w.dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.open()
	calls := uint64(0)
	faulty.OnCall(func(op vfs.Op, path string) error {
		calls++
		for seed := range uint64(20) {
			c := newWorld(t)
			c.fs, c.o = mem.CrashClone(seed*calls), w.o
			c.state = OpenState{RecoveryPoint: 90}
			c.open()
			for i := range int64(9) {
				if got, ok, err := c.OffsetForTimestamp(100 * i); err != nil || !ok || got.Offset != 10*i {
					t.Fatalf("cut at call %d (%s %s): the first with timestamp %d is %+v, %v, %v", calls, op, path, 100*i, got, ok, err)
				}
			}
		}
		return nil
	})
	for i := range int64(9) {
		if _, _, err := w.OffsetForTimestamp(100 * i); err != nil {
			t.Fatal(err)
		}
	}
	faulty.OnCall(nil)
	if calls < 20 {
		t.Fatalf("%d calls: nothing was made anew", calls)
	}
}
