package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/pierrec/lz4/v4"
)

// bomb limits used here are small, so that going over them is quick to reach;
// what may be allocated on the way is far below what the bombs claim.
const (
	bombLimit = 24 << 20
	bombBytes = 1 << 30
	// bombBudget is a window, a decoder and what test and runtime add.
	bombBudget = 16 << 20
)

// allocated returns how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// hugeRecord is the start of one record of 1 GiB, as far as its value.
func hugeRecord() []byte {
	p := appendVarint32(nil, bombBytes+11)
	p = append(p, 0, 0, 0, 1)
	return appendVarint32(p, bombBytes)
}

// zeros writes n zero bytes behind the head through a compressor.
func zeros(t *testing.T, head []byte, n int, w interface {
	Write([]byte) (int, error)
	Close() error
}) {
	t.Helper()
	_, err := w.Write(head)
	chunk := make([]byte, 1<<20)
	for ; n > 0 && err == nil; n -= len(chunk) {
		_, err = w.Write(chunk)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// zstdRLE is a zstd frame of a head and then n zero bytes in blocks of 4 bytes
// each. A window of 0 makes it a single segment.
func zstdRLE(head []byte, n int, window byte) []byte {
	p := binary.LittleEndian.AppendUint32(nil, zstdFrameMagic)
	if window == 0 {
		p = append(p, 0xe0) // single segment, content size of 8 bytes
		p = binary.LittleEndian.AppendUint64(p, uint64(len(head)+n))
	} else {
		p = append(p, 0, window)
	}
	block := func(last, kind, size int) []byte {
		h := last | kind<<1 | size<<3
		return []byte{byte(h), byte(h >> 8), byte(h >> 16)}
	}
	p = append(p, block(0, 0, len(head))...)
	p = append(p, head...)
	for ; n > zstdBlockBytes; n -= zstdBlockBytes {
		p = append(append(p, block(0, 1, zstdBlockBytes)...), 0)
	}
	return append(append(p, block(1, 1, n)...), 0)
}

// TestBombs gives each codec what decompresses to a gibibyte or claims to.
// Checking must end in an error and stay within its window.
func TestBombs(t *testing.T) {
	var gz, lz bytes.Buffer
	w, err := gzip.NewWriterLevel(&gz, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros(t, hugeRecord(), 64<<20, w)
	lw := lz4.NewWriter(&lz)
	if err := lw.Apply(lz4.BlockSizeOption(lz4.Block4Mb)); err != nil {
		t.Fatal(err)
	}
	zeros(t, hugeRecord(), 64<<20, lw)
	lying := zstdRLE(hugeRecord(), 10, 0)
	binary.LittleEndian.PutUint64(lying[5:], zstdMaxWindow-1)
	snappyClaim := binary.AppendUvarint(nil, bombBytes)
	framedClaim := append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, byte(len(snappyClaim)))
	for _, c := range []struct {
		name    string
		codec   Codec
		payload []byte
		want    error
	}{
		{"gzip of 64 MiB", Gzip, gz.Bytes(), ErrTooLarge},
		{"lz4 of 64 MiB", LZ4, lz.Bytes(), ErrTooLarge},
		{"zstd of 1 GiB", Zstd, zstdRLE(hugeRecord(), bombBytes, 13<<3), ErrTooLarge},
		{"zstd of 1 GiB with its window", Zstd, zstdRLE(hugeRecord(), bombBytes, 20<<3), ErrTooLarge},
		{"zstd of 1 GiB as one segment", Zstd, zstdRLE(hugeRecord(), bombBytes, 0), ErrTooLarge},
		{"zstd window of 2^31 for nothing", Zstd, zstdRLE(hugeRecord(), 10, 21<<3), ErrInvalidRecord},
		{"zstd content size that lies", Zstd, lying, ErrInvalidRecord},
		{"snappy claims 1 GiB", Snappy, snappyClaim, ErrTooLarge},
		{"snappy claims what is under the limit", Snappy, binary.AppendUvarint(nil, bombLimit-1), ErrInvalidRecord},
		{"framed snappy claims 1 GiB", Snappy, append(framedClaim, snappyClaim...), ErrTooLarge},
		{"framed snappy of 4 GiB length", Snappy, append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1, 255, 255, 255, 255, 0), ErrInvalidRecord},
	} {
		b := withPayload(c.codec, 1, c.payload)
		v := openValidation()
		v.Limits.DecompressedBytes = bombLimit
		var got error
		n := allocated(func() { _, got = v.Check(b) })
		if !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if n > bombBudget {
			t.Errorf("%s: %d bytes allocated", c.name, n)
		}
	}
}

// TestLargeRecordInWindow checks an honest record of 20 MiB without holding it.
func TestLargeRecordInWindow(t *testing.T) {
	value := make([]byte, 20<<20)
	es := []entry{{ts: testNow, value: []byte("small")}, {ts: testNow + 1, value: value,
		headers: []Header{{Key: make([]byte, 100<<10), Value: make([]byte, 200<<10)}, {Key: []byte("k")}}}, {ts: testNow}}
	for _, c := range allCodecs[1:] {
		b := build(c, es)
		v := openValidation()
		var sum Summary
		var err error
		n := allocated(func() { sum, err = v.Check(b) })
		if err != nil || sum.OffsetOfMax != 1 || sum.Count != 3 {
			t.Errorf("%v: %+v, %v", c, sum, err)
		}
		if n > bombBudget {
			t.Errorf("%v: %d bytes allocated to look at a record of %d", c, n, len(value))
		}
		v.RequireKeys = true
		if _, err := v.Check(b); len(ErrorsOf(err)) != 3 {
			t.Errorf("%v: the large record has no key either: %v", c, err)
		}
	}
}

// TestLimitIsExact allows a batch exactly what it needs.
func TestLimitIsExact(t *testing.T) {
	es := fixed(2000)
	plain := int64(len(build(None, es).Payload()))
	for _, c := range allCodecs[1:] {
		v := openValidation()
		v.Limits.DecompressedBytes = plain
		if _, err := v.Check(build(c, es)); err != nil {
			t.Errorf("%v at its limit: %v", c, err)
		}
		v.Limits.DecompressedBytes = plain - 1
		if _, err := v.Check(build(c, es)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v a byte over its limit: %v", c, err)
		}
	}
}
