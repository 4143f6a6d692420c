package commitlog

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// TestEverythingAtOnce runs appends, reads, flushes, rolls, retention, engine
// switches and truncations together; it is for the race detector, and for what a
// reader may see: whole batches that follow one another.
func TestEverythingAtOnce(t *testing.T) {
	for _, fs := range []struct {
		fs   vfs.FS
		name string
	}{{vfs.NewMem(), "/t-0"}, {vfs.OS{}, t.TempDir() + "/t-0"}} {
		o := testOptions()
		o.RetentionBytes, o.FileDeleteDelay = 6000, 0
		l, err := Open(fs.fs, fs.name, o, OpenState{}, clock.Real{})
		if err != nil {
			t.Fatal(err)
		}
		var wg, writers sync.WaitGroup
		stop := make(chan struct{})
		loop := func(f func(i int) error) {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := f(i); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 2 {
			writers.Go(func() {
				for i := range 120 {
					if _, err := l.AppendAsLeader(batch(5, int64(i)), 0, Client); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 2 {
			loop(func(int) error { return readSound(l) })
		}
		loop(func(int) error { return l.Flush() })
		loop(func(i int) error {
			if i%20 == 0 {
				return l.TruncateTo(max(0, l.LogEndOffset()-7))
			}
			_, err := l.ApplyRetention(time.Now(), l.LogEndOffset())
			return err
		})
		loop(func(int) error {
			_, _, err := l.OffsetForTimestamp(100)
			l.Available(l.LogStartOffset(), math.MaxInt64, 1000)
			l.Producers()
			l.EndOffsetForEpoch(0)
			return err
		})
		if _, isOS := fs.fs.(vfs.OS); isOS {
			reads := catalog.Builtin().Reads()
			loop(func(i int) error {
				o := o
				o.Read = reads[i%len(reads)]
				return l.Reconfigure(o)
			})
		}
		writers.Wait()
		close(stop)
		wg.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// readSound reads the log once from its start.
func readSound(l *Log) error {
	offset := l.LogStartOffset()
	for {
		info, err := l.Read(offset, 500, math.MaxInt64, true)
		if errors.Is(err, ErrOffsetOutOfRange) {
			return nil // Retention or a truncation was faster.
		}
		if err != nil {
			return err
		}
		if info.Chunk == nil {
			return nil
		}
		var data writer
		_, err = info.Chunk.WriteTo(&data)
		info.Chunk.Release()
		if err != nil {
			return nil // The tail was cut off under the chunk.
		}
		for rest := []byte(data); len(rest) > 0; {
			b, next, err := record.Parse(rest)
			if err != nil {
				return fmt.Errorf("at offset %d: %w", offset, err)
			}
			if b.LastOffset() < offset {
				return fmt.Errorf("a batch of %d to %d where %d was next", b.BaseOffset(), b.LastOffset(), offset)
			}
			offset, rest = b.NextOffset(), next
		}
	}
}
