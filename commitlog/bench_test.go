package commitlog

import (
	"fmt"
	"math"
	"testing"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/append/mapped"
	readmapped "tidemark/engines/read/mapped"
	"tidemark/engines/read/pread"
	"tidemark/engines/read/sendfile"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// benchBatch is about size bytes of records with 100-byte values.
func benchBatch(size int) record.Batch {
	w := record.NewBuilder(record.None, record.DefaultLevel)
	value := make([]byte, 100)
	for w.Size()+120 < size {
		w.Append(testStart.UnixMilli(), nil, value, nil)
	}
	return w.Build()
}

func openBench(b testing.TB, a engines.AppendSpec, r engines.ReadSpec, mode record.Mode) *Log {
	o := DefaultOptions()
	o.Append, o.Read, o.Validation = a, r, mode
	o.SegmentBytes, o.RetentionBytes, o.RetentionMs, o.FileDeleteDelay = 256<<20, 512<<20, -1, 0
	o.MaxMessageBytes, o.TimestampBeforeMaxMs = 4<<20, -1
	l, err := Open(vfs.OS{}, b.TempDir()+"/t-0", o, OpenState{}, clock.Real{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Delete(); err != nil {
			b.Error(err)
		}
	})
	return l
}

func BenchmarkAppend(b *testing.B) {
	modes := map[record.Mode]string{record.HeaderOnly: "header", record.Records: "records"}
	for _, spec := range []engines.AppendSpec{buffered.Spec(), mapped.Spec()} {
		for _, mode := range []record.Mode{record.HeaderOnly, record.Records} {
			for _, size := range []int{16 << 10, 64 << 10, 1 << 20} {
				b.Run(fmt.Sprintf("%s/%s/%dKiB", spec.Name, modes[mode], size>>10), func(b *testing.B) {
					l := openBench(b, spec, pread.Spec(), mode)
					batch := benchBatch(size)
					b.SetBytes(int64(len(batch)))
					b.ReportAllocs()
					records := float64(batch.Count())
					for i := 0; b.Loop(); i++ {
						batch.SetBaseOffset(0)
						info, err := l.AppendAsLeader(batch, 0, Client)
						if err != nil {
							b.Fatal(err)
						}
						if info.Rolled {
							if _, err := l.ApplyRetention(l.clock.Now(), math.MaxInt64); err != nil {
								b.Fatal(err)
							}
						}
					}
					b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
				})
			}
		}
	}
}

// discard is a writer that is no socket.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkRead(b *testing.B) {
	for _, spec := range []engines.ReadSpec{pread.Spec(), sendfile.Spec(), readmapped.Spec()} {
		for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
			for _, what := range []string{"find", "send"} {
				b.Run(fmt.Sprintf("%s/%s/1MiB of %dKiB", spec.Name, what, size>>10), func(b *testing.B) {
					l := openBench(b, buffered.Spec(), spec, record.HeaderOnly)
					batch := benchBatch(size)
					for l.Size() < 512<<20 {
						batch.SetBaseOffset(0)
						if _, err := l.AppendAsLeader(batch, 0, Client); err != nil {
							b.Fatal(err)
						}
					}
					end := l.LogEndOffset()
					per := int64(batch.Count()) * ((1 << 20) / int64(len(batch)))
					b.SetBytes(1 << 20)
					b.ReportAllocs()
					for offset := int64(0); b.Loop(); offset = (offset + per) % (end - per) {
						info, err := l.Read(offset, 1<<20, math.MaxInt64, true)
						if err != nil {
							b.Fatal(err)
						}
						if what == "send" {
							if _, err := info.Chunk.WriteTo(discard{}); err != nil {
								b.Fatal(err)
							}
						}
						info.Chunk.Release()
					}
				})
			}
		}
	}
}

func TestAllocationsPerBatch(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop at random under the race detector")
	}
	for _, mode := range []record.Mode{record.HeaderOnly, record.Records} {
		l := openBench(t, buffered.Spec(), pread.Spec(), mode)
		batch := benchBatch(64 << 10)
		appendOne := func() {
			batch.SetBaseOffset(0)
			if _, err := l.AppendAsLeader(batch, 0, Client); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			appendOne()
		}
		if n := testing.AllocsPerRun(500, appendOne); n > 0 {
			t.Errorf("mode %v: %v allocations per append of %d records, want 0", mode, n, batch.Count())
		}
		readOne := func() {
			info, err := l.Read(1000, 1<<20, math.MaxInt64, true)
			if err != nil {
				t.Fatal(err)
			}
			info.Chunk.Release()
		}
		if n := testing.AllocsPerRun(500, readOne); n > 2 {
			t.Errorf("%v allocations per read, want at most 2: the chunk", n)
		}
	}
}

// nowhere is an append engine that keeps nothing: what is left is the log's own
// work.
type nowhere struct{ size int64 }

func (a *nowhere) Append(bufs [][]byte) (int64, error) {
	position := a.size
	for _, b := range bufs {
		a.size += int64(len(b))
	}
	return position, nil
}
func (a *nowhere) Flush() error              { return nil }
func (a *nowhere) Truncate(size int64) error { a.size = size; return nil }
func (a *nowhere) Size() int64               { return a.size }
func (a *nowhere) Close() error              { return nil }

// BenchmarkAppendOverhead is an append without the engine: validation, producer
// rule, indexes, publishing.
func BenchmarkAppendOverhead(b *testing.B) {
	spec := engines.AppendSpec{Name: "nowhere", Open: func(_ engines.File, size int64, _ engines.AppendOptions) (engines.Appender, error) {
		return &nowhere{size}, nil
	}}
	modes := map[record.Mode]string{record.HeaderOnly: "header", record.Records: "records"}
	for _, mode := range []record.Mode{record.HeaderOnly, record.Records} {
		for _, size := range []int{1 << 10, 16 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dKiB", modes[mode], size>>10), func(b *testing.B) {
				o := DefaultOptions()
				o.Append, o.Read, o.Validation, o.SegmentBytes, o.MaxMessageBytes = spec, pread.Spec(), mode, math.MaxInt32, 0
				o.TimestampBeforeMaxMs = -1
				l, err := Open(vfs.NewMem(), "/t-0", o, OpenState{}, clock.Real{})
				if err != nil {
					b.Fatal(err)
				}
				batch := benchBatch(size)
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for b.Loop() {
					batch.SetBaseOffset(0)
					if _, err := l.AppendAsLeader(batch, 0, Client); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(batch.Count()), "ns/record")
			})
		}
	}
}
