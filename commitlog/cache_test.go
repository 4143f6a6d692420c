package commitlog

import (
	"bytes"
	"math"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/append/mapped"
	readmapped "tidemark/engines/read/mapped"
	"tidemark/engines/read/pread"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// cached is how many of a file's bytes between two positions are in the page
// cache.
func cached(t *testing.T, f vfs.File, from, to int64) int64 {
	t.Helper()
	fd, _ := f.Descriptor()
	mem, err := unix.Mmap(fd, from, int(to-from), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	total := int64(0)
	for _, resident := range mincore(t, mem) {
		total += int64(resident&1) * vfs.PageSize
	}
	return total
}

func mincore(t *testing.T, mem []byte) []byte {
	t.Helper()
	pages := make([]byte, (int64(len(mem))+vfs.PageSize-1)/vfs.PageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem)), uintptr(unsafe.Pointer(unsafe.SliceData(pages))))
	if errno != 0 {
		t.Fatal(errno)
	}
	return pages
}

// TestDropBehind: what lies more than the kept windows behind the end leaves the
// page cache, mapped by a reader or not; what was dropped is there for who reads it,
// with the windows ahead of the reader coming back.
func TestDropBehind(t *testing.T) {
	for name, engine := range map[string]struct {
		append engines.AppendSpec
		read   engines.ReadSpec
	}{"buffered": {buffered.Spec(), pread.Spec()}, "mapped": {mapped.Spec(), readmapped.Spec()}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var fs unix.Statfs_t
			if err := unix.Statfs(dir, &fs); err != nil {
				t.Fatal(err)
			}
			if fs.Type == unix.TMPFS_MAGIC {
				t.Skip("the temporary directory is a tmpfs, which is nothing but page cache")
			}
			o := DefaultOptions()
			o.Append, o.Read, o.Validation, o.Cache = engine.append, engine.read, record.HeaderOnly, DropBehind
			o.SegmentBytes, o.MaxMessageBytes, o.TimestampBeforeMaxMs, o.RetentionMs = 6*windowBytes, 4<<20, -1, -1
			turns := NewTurns(1) // One lane, so that what it did last is done when the next is.
			defer turns.Close()
			o.Background = turns
			l, err := Open(vfs.OS{}, dir+"/t-0", o, OpenState{}, clock.Real{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Delete(); err != nil {
					t.Error(err)
				}
			}()
			settle := func() {
				done := make(chan struct{})
				turns.Join(func() { close(done) }).Ask()
				<-done
			}
			b := benchBatch(1 << 20)
			for l.Size() < 10*windowBytes {
				b.SetBaseOffset(0)
				if _, err := l.AppendAsLeader(b, 0, Client); err != nil {
					t.Fatal(err)
				}
				if info, err := l.Read(l.LogEndOffset()-1, 4<<20, math.MaxInt64, true); err != nil {
					t.Fatal(err)
				} else {
					info.Chunk.Release() // A consumer that keeps up; with mapped its mapping holds the pages.
				}
				settle()
			}
			first, last := l.view.segments[0], l.view.active()
			if got := cached(t, first.file, 0, 5*windowBytes); got > windowBytes/4 {
				t.Errorf("%d bytes of the first five windows are cached, want few", got)
			}
			end := l.view.position / vfs.PageSize * vfs.PageSize
			if got := cached(t, last.file, end-windowBytes, end); got < windowBytes*9/10 {
				t.Errorf("%d bytes of the last window are cached, want all", got)
			}
			info, err := l.Read(0, 4<<20, math.MaxInt64, true)
			if err != nil {
				t.Fatal(err)
			}
			data := drain(t, info.Chunk)
			first0, _, err := record.Parse(data)
			if err != nil || first0.CheckCRC() != nil || !bytes.Equal(first0[61:], b[61:]) {
				t.Errorf("what was dropped reads as something else (%v)", err)
			}
			settle()
			if got := first.cache.done; got != aheadBytes {
				t.Errorf("read ahead to %d, want %d", got, aheadBytes)
			}
		})
	}
}

// BenchmarkCatchUp reads a log whose pages were dropped from its start to its end, a
// MiB at a time, with and without reading ahead.
func BenchmarkCatchUp(b *testing.B) {
	for name, cache := range map[string]CachePolicy{"ahead": DropBehind, "not": KeepCache} {
		b.Run(name, func(b *testing.B) {
			o := DefaultOptions()
			o.Append, o.Read, o.Validation, o.Cache = buffered.Spec(), pread.Spec(), record.HeaderOnly, cache
			o.SegmentBytes, o.MaxMessageBytes, o.TimestampBeforeMaxMs, o.RetentionMs = 256<<20, 4<<20, -1, -1
			turns := NewTurns(2)
			defer turns.Close()
			o.Background = turns
			l, err := Open(vfs.OS{}, b.TempDir()+"/t-0", o, OpenState{}, clock.Real{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := l.Delete(); err != nil {
					b.Error(err)
				}
			}()
			batch := benchBatch(64 << 10)
			for l.Size() < 512<<20 {
				batch.SetBaseOffset(0)
				if _, err := l.AppendAsLeader(batch, 0, Client); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Flush(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(l.Size())
			for b.Loop() {
				b.StopTimer()
				for _, s := range l.view.segments {
					s.drop(0, s.size.Load()+l.view.position)
					s.cache.dropped.Store(512 << 20)
					s.cache.wanted.Store(0)
					s.cache.done = 0
				}
				b.StartTimer()
				for offset := int64(0); offset < l.LogEndOffset(); {
					info, err := l.Read(offset, 1<<20, math.MaxInt64, true)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := info.Chunk.WriteTo(discard{}); err != nil {
						b.Fatal(err)
					}
					info.Chunk.Release()
					offset += max(1, info.Bytes/int64(len(batch))) * int64(batch.Count())
				}
			}
		})
	}
}
