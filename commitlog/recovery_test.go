package commitlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog/epoch"
	"tidemark/engines"
	"tidemark/engines/append/direct"
	"tidemark/engines/append/mapped"
	"tidemark/internal/vfs"
)

// filled returns a world whose open log holds batches of one record with
// sequence numbers, in several segments, and returns those batches.
func filled(t *testing.T, batches int) (*world, [][]byte) {
	w := newWorld(t).open()
	for i := range batches {
		w.mustAppend(idempotent(5, 0, int32(3*i), 3), int32(i/10))
	}
	var all [][]byte
	for _, b := range w.readAll(0) {
		all = append(all, b)
	}
	return w, all
}

// lastLog is the name of the active segment's file.
func (w *world) lastLog() string {
	names := slices.DeleteFunc(w.names(), func(n string) bool { return !strings.HasSuffix(n, LogSuffix) })
	return names[len(names)-1]
}

// checkPrefix opens the log and holds it against what was appended: it must be a
// prefix of at least least batches. A second recovery must find the same.
func (w *world) checkPrefix(all [][]byte, least int) {
	w.t.Helper()
	for range 2 {
		w.open()
		got := w.readAll(0)
		if len(got) < least || len(got) > len(all) {
			w.t.Fatalf("%d batches after recovery, want %d to %d", len(got), least, len(all))
		}
		for i, b := range got {
			if !bytes.Equal(b, all[i]) {
				w.t.Fatalf("batch %d after recovery differs from what was appended", i)
			}
		}
		least = len(got)
		all = all[:least]
		w.crash()
	}
	// It must still be a log.
	w.open()
	if n := len(w.Producers()); least > 0 && n != 1 {
		w.t.Fatalf("%d producers known, want 1", n)
	}
	info := w.mustAppend(idempotent(5, 0, int32(3*least), 3), 90)
	if info.Duplicate || info.BaseOffset != int64(3*least) {
		w.t.Fatalf("append after recovery: %+v, want offset %d", info, 3*least)
	}
	if again := w.mustAppend(idempotent(5, 0, int32(3*least), 3), 90); !again.Duplicate {
		w.t.Fatal("a retry after recovery is not taken for one")
	}
}

func TestTornTailAtEveryByte(t *testing.T) {
	source, all := filled(t, 12)
	name := source.lastLog()
	whole := source.content(name)
	size := len(all[len(all)-1])
	for cut := 1; cut <= size; cut++ {
		w, _ := filled(t, 12)
		w.crash()
		w.overwrite(name, whole[:len(whole)-cut])
		w.checkPrefix(all[:len(all)-1], len(all)-1)
		if r := w.Report(); r.Corruption != nil {
			t.Fatalf("cut by %d bytes: a torn tail reported as corruption: %v", cut, r.Corruption)
		}
	}
}

func TestTailOfGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for name, tail := range map[string][]byte{
		"zeros":           make([]byte, 5000),
		"a few zeros":     make([]byte, 3),
		"noise":           noise,
		"an old batch":    batch(3, 5),
		"a length of -12": append(binary.BigEndian.AppendUint32(make([]byte, 8), 0xfffffff4), make([]byte, 100)...),
	} {
		t.Run(name, func(t *testing.T) {
			w, all := filled(t, 12)
			log := w.lastLog()
			w.crash()
			w.overwrite(log, append(w.content(log), tail...))
			w.checkPrefix(all, len(all))
			w.close()
			// Nor does a clean shutdown's marker make it readable.
			w.overwrite(w.lastLog(), append(w.content(w.lastLog()), tail...))
			w.open()
			if got := w.LogEndOffset(); got != int64(3*len(all)+3) {
				t.Errorf("log end offset %d after a clean shutdown, want %d", got, 3*len(all)+3)
			}
		})
	}
}

func TestFlippedBitInTheMiddle(t *testing.T) {
	source, all := filled(t, 40)
	var at int
	for _, name := range source.names() {
		base, suffix, _ := ParseFileName(name)
		if suffix != LogSuffix {
			continue
		}
		data := source.content(name)
		for _, position := range []int{3, 9, 16, 19, 30, 58, len(all[0]) - 1} {
			at++
			t.Run(fmt.Sprintf("%s at %d", name, position), func(t *testing.T) {
				w, _ := filled(t, 40)
				w.crash()
				harmed := bytes.Clone(data)
				harmed[position] ^= 0x40
				w.overwrite(name, harmed)
				w.checkPrefix(all, int(base)/3)
				w.crash()

				w, _ = filled(t, 40)
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
				w.crash()
				w.state.RecoveryPoint = base
				w.overwrite(name, harmed)
				w.open()
				r := w.Report()
				if r.Corruption == nil || w.LogEndOffset() != base || r.TruncatedBytes == 0 {
					t.Errorf("report %+v with end %d: want the corruption named and the end at %d", r, w.LogEndOffset(), base)
				}
			})
		}
	}
	if at < 14 {
		t.Fatalf("%d places harmed, want some in several segments", at)
	}
}

func TestRecoveryPointBoundsTheScan(t *testing.T) {
	w, _ := filled(t, 60)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	segments := len(w.view.segments)
	w.crash()
	if w.open(); w.Report().SegmentsScanned != 1 {
		t.Errorf("%d of %d segments scanned, want the last: the rest is before the recovery point", w.Report().SegmentsScanned, segments)
	}
	w.crash()
	w.state.RecoveryPoint = 0
	if w.open(); w.Report().SegmentsScanned != segments {
		t.Errorf("%d of %d segments scanned without a recovery point", w.Report().SegmentsScanned, segments)
	}
	w.close()
	if w.open(); w.Report().SegmentsScanned != 0 || len(w.Report().Notes) != 0 {
		t.Errorf("report %+v after a clean shutdown, want nothing done", w.Report())
	}
	w.crash()
	w.state.RecoveryPoint = 1 << 40
	if w.open(); w.Report().SegmentsScanned != 1 || !w.Report().DroppedSynced || w.LogEndOffset() != 180 {
		t.Errorf("report %+v, end %d with a recovery point ahead of the log: want the last segment scanned and the loss said", w.Report(), w.LogEndOffset())
	}
}

// TestHoleBetweenSegmentsIsNotAccepted: the data of a segment never reached the disk,
// or not all of it, and the next segment did. In a compacted log, too, nothing behind
// the hole is served.
func TestHoleBetweenSegmentsIsNotAccepted(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		for _, batches := range []int{0, 1} {
			t.Run(fmt.Sprintf("compacted %v, %d batches left", compacted, batches), func(t *testing.T) {
				w, all := filled(t, 40)
				w.o.Compacted = compacted
				second := w.view.segments[1]
				name, base := FileName(second.base, LogSuffix), second.base
				w.crash()
				w.overwrite(name, w.content(name)[:batches*len(all[base/3])])
				w.state.RecoveryPoint = base
				w.open()
				if r := w.Report(); w.LogEndOffset() != base+int64(3*batches) || r.Corruption == nil || r.DroppedSynced {
					t.Errorf("log end offset %d, %+v; want %d and the hole named", w.LogEndOffset(), r, base+int64(3*batches))
				}
				w.crash()
				w.o.Compacted = false // It has no keys.
				w.checkPrefix(all, int(base)/3+batches)
			})
		}
	}
}

// TestGapTooWideForASegment: a follower of a compacted log begins a segment behind a
// gap that no segment can have in it. That is no hole.
func TestGapTooWideForASegment(t *testing.T) {
	w := newWorld(t).open()
	const far = 1 << 31
	for _, base := range []int64{0, far} {
		b := batch(3, 1)
		b.SetBaseOffset(base)
		if _, err := w.AppendAsFollower(b); err != nil {
			t.Fatal(err)
		}
	}
	w.crash()
	w.state.RecoveryPoint = 0
	w.open()
	if w.LogEndOffset() != far+3 || w.segments() != 2 || w.Report().TruncatedBytes > 0 {
		t.Errorf("log of %d segments ends at %d, %+v; want 2 and %d", w.segments(), w.LogEndOffset(), w.Report(), int64(far+3))
	}
}

func TestLostAndDamagedSideFiles(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for _, victim := range []string{IndexSuffix, TimeIndexSuffix, SnapshotSuffix, epoch.File} {
			for how, harm := range map[string]func([]byte) []byte{
				"missing":   nil,
				"empty":     func([]byte) []byte { return nil },
				"truncated": func(b []byte) []byte { return b[:len(b)-min(len(b), 5)] },
				"longer":    func(b []byte) []byte { return append(b, make([]byte, 24)...) },
				"random":    func(b []byte) []byte { return []byte(strings.Repeat("\x00\x00\x00\x07\x00\x00\x01\x02", 1+len(b)/8)) },
				"shifted": func(b []byte) []byte {
					for i := range b {
						b[i] ^= byte(i % 2)
					}
					return b
				},
			} {
				t.Run(fmt.Sprintf("%s %s, clean %v", victim, how, clean), func(t *testing.T) {
					w, all := filled(t, 40)
					epochs := w.Epochs()
					w.close()
					for _, name := range w.names() {
						if !strings.HasSuffix(name, victim) {
							continue
						}
						if harm == nil {
							if err := w.fs.Remove(w.dir + "/" + name); err != nil {
								t.Fatal(err)
							}
							continue
						}
						w.overwrite(name, harm(w.content(name)))
					}
					w.state.CleanShutdown = clean
					w.open()
					if diff := cmp.Diff(epochs, w.Epochs()); diff != "" {
						t.Errorf("leader epochs (-want +got):\n%s", diff)
					}
					if _, _, err := w.OffsetForTimestamp(testStart.UnixMilli()); err != nil {
						t.Error(err)
					}
					for offset := int64(0); offset < w.LogEndOffset(); offset++ {
						data, _ := w.read(offset, 1)
						if want := all[offset/3]; !bytes.Equal(data, want) {
							t.Fatalf("read %d: not the batch that was appended", offset)
						}
					}
					w.crash()
					w.checkPrefix(all, len(all))
				})
			}
		}
	}
}

func TestLeftoversAndForeignFiles(t *testing.T) {
	w, all := filled(t, 20)
	w.close()
	for name, data := range map[string][]byte{
		"00000000000000000000.log.deleted":     all[0],
		"00000000000000000077.log.cleaned":     all[0],
		"00000000000000000077.log.swap":        all[0], // After the .cleaned: an unfinished split.
		"00000000000000000555.index":           {1, 2, 3},
		"00000000000000000555.timeindex":       nil,
		"00000000000000000006.snapshot.tmp":    {9},
		"leader-epoch-checkpoint.tmp":          {9},
		"README":                               []byte("mine"),
		"0000.log":                             []byte("mine too"),
		"00000000000000000000.log.old":         []byte("and this"),
		"notes.deleted":                        []byte("so is this"),
		"00000000000000000000.log.deleted.bak": []byte("still mine"),
	} {
		w.overwrite(name, data)
	}
	w.open()
	names := strings.Join(w.names(), "\n")
	for _, gone := range []string{".log.deleted\n", ".cleaned", ".swap", "555.", ".tmp"} {
		if strings.Contains(names+"\n", gone) {
			t.Errorf("%q is still there:\n%s", gone, names)
		}
	}
	for _, kept := range []string{"README", "0000.log", "00000000000000000000.log.old", "notes.deleted", "00000000000000000000.log.deleted.bak"} {
		if !slices.Contains(w.names(), kept) {
			t.Errorf("foreign file %s was removed", kept)
		}
	}
	w.crash()
	w.checkPrefix(all, len(all))
}

func TestSwapOfACompactionIsCompleted(t *testing.T) {
	w, all := filled(t, 40)
	second, third := w.view.segments[1].base, w.view.segments[2].base
	w.close()
	// The compaction kept every other batch of the first two segments.
	var merged []byte
	var kept [][]byte
	for i, b := range all {
		if int64(3*i) >= third || i%2 == 1 {
			kept = append(kept, b)
			if int64(3*i) < third {
				merged = append(merged, b...)
			}
		}
	}
	w.overwrite(FileName(0, LogSuffix+swapSuffix), merged)
	w.open()
	got := w.readAll(0)
	if len(got) != len(kept) {
		t.Fatalf("%d batches, want %d", len(got), len(kept))
	}
	for i, b := range got {
		if !bytes.Equal(b, kept[i]) {
			t.Fatalf("batch %d at offset %d is not the one that was kept", i, b.BaseOffset())
		}
	}
	if names := strings.Join(w.names(), " "); strings.Contains(names, swapSuffix) || strings.Contains(names, FileName(second, LogSuffix)) {
		t.Errorf("files: %s", names)
	}
	w.crash()
	w.state.RecoveryPoint = 0
	w.open()
	if n := len(w.readAll(0)); n != len(kept) {
		t.Errorf("%d batches after a crash, want %d: gaps of a compacted log are no damage", n, len(kept))
	}
}

func TestLogStartBehindTheLog(t *testing.T) {
	w, _ := filled(t, 20)
	w.close()
	w.state.LogStartOffset = 1000
	w.open()
	if w.LogStartOffset() != 1000 || w.LogEndOffset() != 1000 || len(w.Report().Notes) == 0 {
		t.Errorf("log from %d to %d, notes %v, want 1000 to 1000 and a word about it", w.LogStartOffset(), w.LogEndOffset(), w.Report().Notes)
	}
}

// TestKilledBetweenRollAndSeal: a segment that was synced, then rolled, and not sealed
// before the kill has reserved space behind its batches, though it ends at the recovery
// point.
func TestKilledBetweenRollAndSeal(t *testing.T) {
	for _, spec := range []engines.AppendSpec{mapped.Spec(), direct.Spec()} {
		t.Run(spec.Name, func(t *testing.T) {
			w := newWorld(t)
			w.fs, w.dir = vfs.OS{}, t.TempDir()+"/t-0"
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skipf("not available here: %v", err)
			}
			w.o.Append = spec
			w.open()
			for i := range 3 {
				w.mustAppend(idempotent(5, 0, int32(3*i), 3), 0)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := w.Roll(); err != nil {
				t.Fatal(err)
			}
			w.mustAppend(idempotent(5, 0, 9, 3), 0)
			w.crash()
			if w.state.RecoveryPoint != 9 {
				t.Fatalf("recovery point %d, want 9", w.state.RecoveryPoint)
			}
			w.open()
			if got := len(w.readAll(0)); got != 4 || w.Report().Corruption != nil {
				t.Errorf("%d batches after the kill, want 4; %+v", got, w.Report())
			}
			if got := len(w.content(FileName(0, LogSuffix))); int64(got) != w.view.segments[0].size.Load() || got > 1024 {
				t.Errorf("the first segment has %d bytes, want its batches alone", got)
			}
			w.close()
		})
	}
}
