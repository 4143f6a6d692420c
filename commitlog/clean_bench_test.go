package commitlog

import (
	"fmt"
	"math"
	"testing"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// dirtyLog is a log in dir of batches of 100 records of about 100 bytes, whose keys
// come from so many; half of the records are overwritten at least.
func dirtyLog(t testing.TB, fs vfs.FS, dir string, codec record.Codec, records, keys int) *Log {
	w := newWorld(t)
	w.fs, w.dir = fs, dir
	w.o.SegmentBytes, w.o.IndexIntervalBytes = 8<<20, 4096
	w.open()
	b := record.NewBuilder(codec, record.DefaultLevel)
	value := make([]byte, 80)
	for i := range records {
		copy(value, fmt.Sprintf("value %d of the key, some of it the same everywhere", i))
		b.Append(testStart.UnixMilli()+int64(i), fmt.Appendf(nil, "key-%09d", i*7919%keys), value, nil)
		if b.Count() == 100 {
			w.mustAppend(b.Build(), 0)
		}
	}
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return w.Log
}

// BenchmarkClean says how much log a round reads in a second. The first round of a
// log halves it; the others find nothing to drop.
func BenchmarkClean(b *testing.B) {
	for _, codec := range []record.Codec{record.None, record.LZ4, record.Zstd} {
		b.Run(codec.String(), func(b *testing.B) {
			const records = 200_000
			l := dirtyLog(b, vfs.OS{}, b.TempDir(), codec, records, records/2)
			c := NewCleaner(CleanerOptions{MapBytes: 128 << 20, MapLoad: 0.9, BufferBytes: 256 << 10})
			b.ReportAllocs()
			b.ResetTimer()
			var bytes, kept int64
			for b.Loop() {
				l.firstDirty.Store(0)
				r, err := c.Clean(l, math.MaxInt64)
				if err != nil {
					b.Fatal(err)
				}
				bytes, kept = bytes+r.BytesRead, kept+r.RecordsRead
			}
			b.SetBytes(bytes / int64(b.N))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(kept), "ns/record")
			b.StopTimer()
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// TestCleaningAllocatesNothingPerRecord: twice the records cost no more
// allocations, but for what each segment costs.
func TestCleaningAllocatesNothingPerRecord(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, codec := range []record.Codec{record.None, record.LZ4} {
		allocs := func(records int) float64 {
			l := dirtyLog(t, vfs.NewMem(), dir, codec, records, 1000)
			c := NewCleaner(CleanerOptions{MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 64 << 10})
			round := func() {
				l.firstDirty.Store(0)
				if _, err := c.Clean(l, math.MaxInt64); err != nil {
					t.Fatal(err)
				}
			}
			round()
			return testing.AllocsPerRun(3, round)
		}
		few, many := allocs(10_000), allocs(60_000)
		if many-few > 1000 { // Of 50,000 records more.
			t.Errorf("%v: %v allocations for 10,000 records, %v for 60,000", codec, few, many)
		}
	}
}
