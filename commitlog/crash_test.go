package commitlog

import (
	"flag"
	"testing"

	"tidemark/internal/vfs"
)

// traces is for a long search: go test ./commitlog -run PowerCuts -crash.traces 50.
var traces = flag.Uint64("crash.traces", 1, "how many random traces to cut the power in")

// changes says whether a call can change what is on the disk, or what is durable:
// a cut before any other call is the same as before the next that does.
func changes(op vfs.Op) bool {
	switch op {
	case vfs.OpRead, vfs.OpReadDir, vfs.OpSize, vfs.OpStat, vfs.OpFree, vfs.OpClose, vfs.OpOpen:
		return false
	}
	return true
}

// TestPowerCutsInATrace cuts the power before every call that random operations
// make on the file system, once with everything unsynced lost and once
// with a random part of it kept: any subset of the changes of names, sectors and
// lengths of all files. What is recovered must be a prefix with all that was
// promised, stay what it is, and carry 50 more operations.
func TestPowerCutsInATrace(t *testing.T) {
	operations := scale(400, 200, 40)
	for seed := range *traces {
		s := newSession(newWorld(t), seed)
		mem := s.emptyMem()
		faulty := vfs.NewFaulty(mem)
		s.fs = faulty
		s.open()
		cuts := uint64(0)
		faulty.OnCall(func(op vfs.Op, path string) error {
			if !changes(op) {
				return nil
			}
			cuts++
			for i, cut := range []uint64{0, 1000*seed + cuts} {
				left := s.recovered(mem.CrashClone(cut), cuts)
				if i == int(cuts%2) { // Each call has it once.
					left.goOn(50)
				}
			}
			return nil
		})
		for range operations {
			s.step()
		}
		s.reopen()
		if cuts < uint64(operations) {
			t.Errorf("trace %d: %d cuts, want more", seed, cuts)
		}
		t.Logf("trace %d: %d operations, %d cuts", seed, operations, 2*cuts)
	}
}

// TestPowerCutsInsideRecoveries cuts the power inside the recovery from a power
// cut, inside the recovery from that, and so on, 20 times: nothing that was
// promised before the first is lost in any.
func TestPowerCutsInsideRecoveries(t *testing.T) {
	for seed := range uint64(scale(1000, 100, 20)) * *traces {
		s := newSession(newWorld(t), 100+seed)
		mem := s.emptyMem()
		s.fs = mem
		s.open()
		for range 40 {
			s.step()
		}
		left := mem.CrashClone(1 + seed)
		inside := 0
		for range 20 {
			faulty := vfs.NewFaulty(left)
			calls, next := 0, (*vfs.Mem)(nil)
			faulty.OnCall(func(op vfs.Op, path string) error {
				if !changes(op) {
					return nil
				}
				// Any of the calls, each as likely as the others.
				if calls++; s.rng.IntN(calls) == 0 {
					next = left.CrashClone(s.rng.Uint64())
				}
				return nil
			})
			w := newWorld(t)
			w.fs, w.o, w.state = faulty, s.o, s.checkpoint
			w.open()
			if next == nil {
				break // It had nothing to do.
			}
			left, inside = next, inside+1
		}
		if inside < 20 {
			t.Errorf("seed %d: %d cuts inside recoveries, want 20", seed, inside)
		}
		s.recovered(left, seed).goOn(50)
	}
}

// TestRemovedSegmentsReturnInOrder: of the segments that retention removed, a
// power cut may bring some back, but never an earlier one without those after it:
// recovery would take the gap for damage and drop what was synced behind it.
func TestRemovedSegmentsReturnInOrder(t *testing.T) {
	for seed := range uint64(50) {
		s := newSession(newWorld(t), seed)
		mem := s.emptyMem()
		s.fs = mem
		s.open()
		for range 60 {
			s.append()
		}
		s.must(s.Flush())
		s.synced = s.end
		s.o.RetentionBytes = 0
		s.must(s.Reconfigure(s.o))
		if s.retain(); s.start == 0 {
			t.Fatal("nothing was removed")
		}
		s.recovered(mem.CrashClone(1+seed), seed)
	}
}
