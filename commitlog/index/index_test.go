package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/vfs"
)

const maxBytes = 10 << 20

// both is an offset index and what it must hold.
type both struct {
	t    *testing.T
	fs   vfs.FS
	x    *Offsets
	want []Position
}

func newBoth(t *testing.T) *both {
	b := &both{t: t, fs: vfs.NewMem()}
	if err := b.fs.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	x, err := CreateOffsets(b.fs, "/d/x", 1000, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	b.x = x
	return b
}

func (b *both) add(rng *rand.Rand, n int) {
	b.t.Helper()
	for range n {
		last := Position{Offset: 1000, Position: -1}
		if len(b.want) > 0 {
			last = b.want[len(b.want)-1]
		}
		p := Position{Offset: last.Offset + 1 + rng.Int64N(9), Position: last.Position + 1 + rng.Int64N(90)}
		if err := b.x.Spill(); err != nil {
			b.t.Fatal(err)
		}
		b.x.Append(p.Offset, p.Position)
		b.want = append(b.want, p)
	}
}

// check looks every offset and position near an entry up.
func (b *both) check(rng *rand.Rand) {
	b.t.Helper()
	if got := b.x.Entries(); got != len(b.want) {
		b.t.Fatalf("%d entries, want %d", got, len(b.want))
	}
	look := func(i int, find func(int64) (Position, bool, error), at int64, kind string) {
		b.t.Helper()
		want, wantOK := Position{Offset: 1000}, i >= 0
		if wantOK {
			want = b.want[i]
		}
		if got, ok, err := find(at); err != nil || ok != wantOK || got != want {
			b.t.Fatalf("floor of %s %d: %+v, %v, %v, want %+v, %v", kind, at, got, ok, err, want, wantOK)
		}
	}
	look(-1, b.x.Floor, 0, "offset")
	look(len(b.want)-1, b.x.Floor, 1<<40, "offset")
	for range 300 {
		if len(b.want) == 0 {
			break
		}
		i := rng.IntN(len(b.want))
		look(i, b.x.Floor, b.want[i].Offset, "offset")
		look(i-1, b.x.Floor, b.want[i].Offset-1, "offset")
		look(i, b.x.FloorPosition, b.want[i].Position, "position")
		look(i-1, b.x.FloorPosition, b.want[i].Position-1, "position")
	}
}

func TestOffsetsAgainstASlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	b := newBoth(t)
	for round := range 60 {
		switch {
		case round%3 == 2 && len(b.want) > 0:
			at := b.want[rng.IntN(len(b.want))].Offset + rng.Int64N(2)
			if err := b.x.TruncateTo(at); err != nil {
				t.Fatal(err)
			}
			b.want = slices.DeleteFunc(b.want, func(p Position) bool { return p.Offset >= at })
		case round%7 == 3:
			if err := b.x.Sync(); err != nil {
				t.Fatal(err)
			}
		case round%7 == 5:
			if err := b.x.Close(); err != nil {
				t.Fatal(err)
			}
			x, err := OpenOffsets(b.fs, "/d/x", 1000, maxBytes, 1<<31-1)
			if err != nil {
				t.Fatal(err)
			}
			b.x = x
		default:
			b.add(rng, rng.IntN(1500))
		}
		b.check(rng)
	}
	if err := b.x.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(b.fs, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeOffsets(data, 1000)
	if diff := cmp.Diff(b.want, got); err != nil || diff != "" {
		t.Errorf("file %v (-want +got):\n%s", err, diff)
	}
}

func TestTimes(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	x, err := CreateTimes(fsys, "/d/t", 100, 10*TimeEntrySize)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Timestamp{{-1, 101}, {5, 103}, {5, 109}, {4, 120}, {9, 130}} {
		x.Append(e.TimestampMs, e.Offset)
	}
	for ms, want := range map[int64]Timestamp{4: {-1, 100}, 5: {5, 103}, 8: {5, 103}, 9: {9, 130}, 99: {9, 130}} {
		if got, ok, err := x.Floor(ms); got != want || ok != (want.TimestampMs >= 0) || err != nil {
			t.Errorf("floor of %d: %+v, %v, %v, want %+v", ms, got, ok, err, want)
		}
	}
	if err := x.TruncateTo(130); err != nil {
		t.Fatal(err)
	}
	x.Append(9, 125)
	if last, _, _ := x.Last(); last != (Timestamp{9, 125}) {
		t.Errorf("last entry %+v after a truncation, want {9 125}: the entry at 130 is gone", last)
	}
	for i := int64(0); !x.Full(); i++ {
		x.Append(10+i, 131+i)
	}
	if n := x.Entries(); n != 9 {
		t.Errorf("full with %d entries of 10, want 9: the last belongs to sealing", n)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = OpenTimes(fsys, "/d/t", 100, maxBytes); err != nil || x.last.Offset != 137 {
		t.Errorf("opened again: %v", err)
	}
}

// TestBytesOnDisk pins the layout that Kafka reads.
func TestBytesOnDisk(t *testing.T) {
	b := newBoth(t)
	b.x.Append(1009, 4200)
	b.x.Append(1258, 65536)
	if err := b.x.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := vfs.ReadFile(b.fs, "/d/x")
	if want := []byte{0, 0, 0, 9, 0, 0, 0x10, 0x68, 0, 0, 1, 2, 0, 1, 0, 0}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("offset index % x, %v, want % x", got, err, want)
	}
}

func TestSearchWhileAppending(t *testing.T) {
	b := newBoth(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if p, ok, err := b.x.Floor(1 << 40); err != nil || ok && p.Position != p.Offset-1000 {
					t.Errorf("floor %+v, %v", p, err)
					return
				}
				if p, ok, err := b.x.Floor(1100); err != nil || ok && p.Offset > 1100 {
					t.Errorf("floor %+v, %v", p, err)
					return
				}
			}
		})
	}
	for i := range int64(20_000) {
		if err := b.x.Spill(); err != nil {
			t.Fatal(err)
		}
		b.x.Append(1000+i, i)
	}
	close(stop)
	wg.Wait()
}

func TestSpillOnAFullDiskKeepsTheEntries(t *testing.T) {
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	if err := mem.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	x, err := CreateOffsets(faulty, "/d/x", 0, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(600) {
		x.Append(i, i)
	}
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Nth: 1, Short: 7, Err: syscall.ENOSPC})
	if err := x.Spill(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("spill: %v, want ENOSPC", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x, err = OpenOffsets(faulty, "/d/x", 0, maxBytes, 600)
	if err != nil || x.Entries() != 600 {
		t.Errorf("%d entries, %v, want all 600", x.Entries(), err)
	}
}

// FuzzOpen: no bytes make an index that misleads: it opens with ascending
// entries that a search finds, or is damaged.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{}, int64(100))
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 50, 0, 0, 0, 20, 0, 0, 0, 90}, int64(100))
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 50, 0, 0, 0, 9, 0, 0, 0, 90}, int64(100))
	f.Add(bytes.Repeat([]byte{0}, 40), int64(100))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 5, 1}, int64(1))
	f.Fuzz(func(t *testing.T, data []byte, segmentBytes int64) {
		mem := vfs.NewMem()
		if err := errors.Join(mem.MkdirAll("/d"), vfs.WriteFileAtomic(mem, "/d/x", data)); err != nil {
			t.Fatal(err)
		}
		x, err := OpenOffsets(mem, "/d/x", 7, maxBytes, segmentBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist), err != nil && !errors.Is(err, ErrDamaged):
			t.Fatal(err)
		case err == nil:
			entries, _ := DecodeOffsets(data, 7)
			for i, e := range entries {
				if got, ok, err := x.Floor(e.Offset); got != e || !ok || err != nil || e.Position >= segmentBytes {
					t.Fatalf("entry %d of %d: found %+v, %v, %v, want %+v", i, len(entries), got, ok, err, e)
				}
			}
		}
		times, err := OpenTimes(mem, "/d/x", 7, maxBytes)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		entries, _ := DecodeTimes(data, 7)
		for _, e := range entries {
			if got, ok, err := times.Floor(e.TimestampMs); got != e || !ok || err != nil {
				t.Fatalf("found %+v, %v, %v, want %+v", got, ok, err, e)
			}
		}
	})
}

func BenchmarkFloor(b *testing.B) {
	fsys := vfs.OS{}
	x, err := CreateOffsets(fsys, b.TempDir()+"/x", 0, maxBytes)
	if err != nil {
		b.Fatal(err)
	}
	const n = 262_144 // A gigabyte of log at 4 KiB.
	for i := range int64(n) {
		if err := x.Spill(); err != nil {
			b.Fatal(err)
		}
		x.Append(100*i, 4096*i)
	}
	for _, at := range []int64{n / 2, n - 1} {
		b.Run(fmt.Sprintf("entry %d of %d", at, n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := x.Floor(100 * at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
