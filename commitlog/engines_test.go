package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// usableAppends are the append engines that run here.
func usableAppends(t *testing.T) []engines.AppendSpec {
	t.Helper()
	var usable []engines.AppendSpec
	for _, spec := range catalog.Builtin().Appends() {
		if err := spec.Available(t.TempDir()); err != nil {
			t.Logf("%s is not available here: %v", spec.Name, err)
			continue
		}
		usable = append(usable, spec)
	}
	return usable
}

// TestAppendEngineChanges has one engine follow another at a roll, after a clean
// restart and after a kill, which leaves the first one's reserved space: the
// files do not tell who wrote them.
func TestAppendEngineChanges(t *testing.T) {
	want := changeEngines(t, vfs.NewMem(), dir, buffered.Spec(), buffered.Spec())
	for _, first := range usableAppends(t) {
		for _, then := range usableAppends(t) {
			t.Run(first.Name+"-"+then.Name, func(t *testing.T) {
				got := changeEngines(t, vfs.OS{}, t.TempDir()+"/t-0", first, then)
				if a, b := got.names(), want.names(); fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("files %v, want %v", a, b)
				}
				for _, name := range want.names() {
					if !bytes.Equal(got.content(name), want.content(name)) {
						t.Errorf("%s differs from what the buffered engine alone writes", name)
					}
				}
			})
		}
	}
}

// changeEngines is a session of several lives, closed at the end.
func changeEngines(t *testing.T, fsys vfs.FS, dir string, first, then engines.AppendSpec) *world {
	t.Helper()
	w := newWorld(t)
	w.fs, w.dir, w.o.Append = fsys, dir, first
	fill := func() {
		for range 5 {
			w.mustAppend(batch(10, testStart.UnixMilli()), 0)
		}
	}
	w.open()
	fill()
	w.o.Append = then
	if err := w.Reconfigure(w.o); err != nil { // At the next roll.
		t.Fatal(err)
	}
	fill()
	killed := w.Log
	w.crash()
	w.o.Append = first
	w.open() // What the other had reserved is trimmed.
	fill()
	w.close()
	w.o.Append = then
	w.open()
	fill()
	if n := len(w.readAll(0)); n != 20 {
		t.Errorf("%d batches, want 20", n)
	}
	w.close()
	// Lets go of the killed one's descriptors; to trim is not its right any more.
	for _, s := range killed.view.segments {
		if s.file != nil {
			_ = s.file.Close() // Nothing is written to it.
		}
	}
	return w
}

// TestReadersBesideTheLife has consumers read a log on every pair of engines
// while it is appended to, rolled, truncated, reconfigured, shortened from the
// front and at last deleted. Every byte below the high watermark is right at any
// time.
func TestReadersBesideTheLife(t *testing.T) {
	for _, a := range usableAppends(t) {
		for _, r := range catalog.Builtin().Reads() {
			t.Run(a.Name+"-"+r.Name, func(t *testing.T) {
				t.Parallel()
				w := newLife(t, a, r)
				var readers sync.WaitGroup
				errs := make([]error, 3)
				for i := range errs {
					readers.Go(func() { errs[i] = w.read(uint64(i)) })
				}
				err := errors.Join(w.write(), w.delete())
				w.deleted.Store(true)
				readers.Wait()
				if err := errors.Join(append(errs, err)...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// life is a log whose every batch has its base offset for its timestamp.
type life struct {
	*Log
	o     Options
	clock *clock.Manual
	// appends are the engines it changes to, one after the other.
	appends []engines.AppendSpec
	// highWatermark is what readers may see; batches below it stay.
	highWatermark atomic.Int64
	deleted       atomic.Bool
}

func newLife(t *testing.T, a engines.AppendSpec, r engines.ReadSpec) *life {
	w := &life{o: testOptions(), clock: clock.NewManual(testStart), appends: []engines.AppendSpec{a, buffered.Spec(), a}}
	w.o.Append, w.o.Read, w.o.SegmentBytes, w.o.FileDeleteDelay = a, r, 40_000, time.Second
	var err error
	if w.Log, err = Open(vfs.OS{}, t.TempDir()+"/t-0", w.o, OpenState{}, w.clock); err != nil {
		t.Fatal(err)
	}
	return w
}

// write is the log's life but for its end.
func (w *life) write() error {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range scale(1000, 150, 100) {
		if _, err := w.AppendAsLeader(batch(5+rng.IntN(100), w.LogEndOffset()), 0, Client); err != nil {
			return err
		}
		if i%3 == 0 {
			w.highWatermark.Store(w.LogEndOffset())
		}
		if err := w.step(i, rng); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (w *life) step(i int, rng *rand.Rand) error {
	hw := w.highWatermark.Load()
	switch {
	case i%7 == 5:
		return w.TruncateTo(hw + rng.Int64N(w.LogEndOffset()-hw+1))
	case i%20 == 19:
		w.o.Append = w.appends[i/20%len(w.appends)]
		return w.Reconfigure(w.o)
	case i%50 == 49:
		if err := w.AdvanceLogStart(hw / 2); err != nil {
			return err
		}
		_, err := w.ApplyRetention(w.clock.Now(), hw)
		w.clock.Advance(time.Second) // Removed files are gone.
		return err
	case i%10 == 9:
		return w.Flush()
	}
	return nil
}

// delete deletes the log while a chunk of it is on its way.
func (w *life) delete() error {
	info, err := w.Read(w.LogStartOffset(), 20_000, w.highWatermark.Load(), true)
	if err != nil {
		return err
	}
	deleted := make(chan error)
	go func() { deleted <- w.Delete() }()
	err = checkChunk(info)
	return errors.Join(err, <-deleted)
}

// read fetches here and there until the log is gone.
func (w *life) read(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	for reads := 0; ; reads++ {
		last := w.deleted.Load()
		start, hw := w.LogStartOffset(), w.highWatermark.Load()
		if start < hw {
			info, err := w.Read(start+rng.Int64N(hw-start), 20_000, hw, true)
			switch {
			case err == nil && info.Chunk == nil:
				return fmt.Errorf("nothing between %d and %d", start, hw)
			case err == nil:
				err = checkChunk(info)
			case errors.Is(err, ErrOffsetOutOfRange) && w.LogStartOffset() > start:
				err = nil // Retention was faster.
			case errors.Is(err, ErrClosed) && reads > 0:
				return nil
			}
			if err != nil {
				return err
			}
		}
		if last {
			return fmt.Errorf("a deleted log was read")
		}
	}
}

// checkChunk sends a chunk and checks its batches.
func checkChunk(info ReadInfo) error {
	defer info.Chunk.Release()
	var data writer
	if _, err := info.Chunk.WriteTo(&data); err != nil {
		return err
	}
	next := int64(-1)
	for rest := []byte(data); len(rest) > 0; {
		b, after, err := record.Parse(rest)
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			return err
		}
		if next >= 0 && b.BaseOffset() != next || b.BaseTimestamp() != b.BaseOffset() {
			return fmt.Errorf("a batch at %d of timestamp %d where %d was next", b.BaseOffset(), b.BaseTimestamp(), next)
		}
		next, rest = b.NextOffset(), after
	}
	return nil
}
