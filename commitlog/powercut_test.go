package commitlog

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// TestPowerCutAtEveryCall cuts the power before every call that a session of
// appends, flushes, rolls, truncations and a close makes, and recovers what a
// disk might hold then: every synced batch must be there, and what is there must
// be a prefix.
func TestPowerCutAtEveryCall(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/logs"), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	faulty := vfs.NewFaulty(mem)
	w := newWorld(t)
	w.fs = faulty
	var all [][]byte
	synced, calls := 0, 0
	faulty.OnCall(func(op vfs.Op, path string) error {
		if calls++; op == vfs.OpRead || op == vfs.OpSize || op == vfs.OpStat {
			return nil
		}
		for seed := range uint64(3) {
			c := newWorld(t)
			c.fs = mem.CrashClone(seed + 3*uint64(calls)*min(seed, 1))
			c.state.RecoveryPoint = int64(3 * synced)
			c.checkPrefix(all, synced)
		}
		return nil
	})
	w.open()
	for i := range 30 {
		b := idempotent(5, 0, int32(3*i), 3)
		stored := record.Batch(bytes.Clone(b))
		stored.SetBaseOffset(int64(3 * i))
		stored.SetLeaderEpoch(int32(i / 10))
		all = append(all, stored)
		w.mustAppend(b, int32(i/10))
		if i%7 == 6 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			synced = len(all)
		}
	}
	w.close()
	synced = len(all)
	if calls < 100 {
		t.Fatalf("%d calls seen, want more", calls)
	}
}

// TestPowerCutInATruncation cuts the power before every call of a truncation over
// several segments and of the appends after it: what is found is a prefix of the
// log before or of the log after, and never less than what both share.
func TestPowerCutInATruncation(t *testing.T) {
	for _, keep := range []int{0, 1, 10, 14, 25} {
		mem := vfs.NewMem()
		if err := errors.Join(mem.MkdirAll("/logs"), mem.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		faulty := vfs.NewFaulty(mem)
		w := newWorld(t)
		w.fs = faulty
		w.open()
		stored := func(i int, leaderEpoch int32) []byte {
			b := record.Batch(bytes.Clone(idempotent(5, 0, int32(3*i), 3)))
			b.SetBaseOffset(int64(3 * i))
			b.SetLeaderEpoch(leaderEpoch)
			return b
		}
		var before, after [][]byte
		for i := range 30 {
			before = append(before, stored(i, 0))
			w.mustAppend(idempotent(5, 0, int32(3*i), 3), 0)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		after = slices.Clone(before[:keep])
		recoveryPoint := w.RecoveryPoint()
		calls := uint64(0)
		faulty.OnCall(func(op vfs.Op, path string) error {
			calls++
			for seed := range uint64(3) {
				c := newWorld(t)
				c.fs = mem.CrashClone(seed + 3*calls*min(seed, 1))
				c.state.RecoveryPoint = recoveryPoint
				c.open()
				got := c.readAll(0)
				for i, b := range got {
					if i > 0 && b.LeaderEpoch() < got[i-1].LeaderEpoch() {
						t.Fatalf("keeping %d, call %d (%s %s): batch %d of the former log after one of the new", keep, calls, op, path, i)
					}
					if !(i < len(before) && bytes.Equal(b, before[i])) && !(i < len(after) && bytes.Equal(b, after[i])) {
						t.Fatalf("keeping %d, call %d (%s %s): batch %d was never there", keep, calls, op, path, i)
					}
				}
				if len(got) < keep {
					t.Fatalf("keeping %d, call %d (%s %s): %d batches left", keep, calls, op, path, len(got))
				}
			}
			return nil
		})
		if err := w.TruncateTo(int64(3 * keep)); err != nil {
			t.Fatal(err)
		}
		recoveryPoint = w.RecoveryPoint()
		for i := keep; i < keep+12; i++ {
			after = append(after, stored(i, 1))
			w.mustAppend(idempotent(5, 0, int32(3*i), 3), 1)
		}
		faulty.Clear()
	}
}
