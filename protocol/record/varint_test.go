package record

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// TestVarints compares with the standard library over numbers of all sizes.
func TestVarints(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	numbers := []int64{0, 1, -1, 63, 64, -64, -65, 8191, 8192, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
	for range 2000 {
		numbers = append(numbers, r.Int64()>>r.IntN(64), -r.Int64()>>r.IntN(64))
	}
	for _, v := range numbers {
		want := binary.AppendVarint(nil, v)
		if got := appendVarint64(nil, v); string(got) != string(want) || sizeVarint64(v) != len(want) {
			t.Fatalf("%d: %x of %d bytes, want %x", v, got, sizeVarint64(v), want)
		}
		if u, n := uvarint64(append(want, 0xff)); unzigzag64(u) != v || n != len(want) {
			t.Fatalf("%d reads as %d in %d bytes", v, unzigzag64(u), n)
		}
		if _, n := uvarint64(want[:len(want)-1]); n != 0 {
			t.Fatalf("%d cut off reads %d bytes", v, n)
		}
		small := int32(v)
		want = binary.AppendVarint(nil, int64(small))
		if got := appendVarint32(nil, small); string(got) != string(want) || sizeVarint32(small) != len(want) {
			t.Fatalf("%d: %x of %d bytes, want %x", small, got, sizeVarint32(small), want)
		}
		if u, n := uvarint32(append(want, 0xff)); unzigzag32(u) != small || n != len(want) {
			t.Fatalf("%d reads as %d in %d bytes", small, unzigzag32(u), n)
		}
	}
}

// TestVarintBounds has the last byte at and over what fits.
func TestVarintBounds(t *testing.T) {
	fill := func(n int, last byte) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = 0xff
		}
		p[n-1] = last
		return p
	}
	if u, n := uvarint32(fill(5, 0x0f)); u != math.MaxUint32 || n != 5 {
		t.Errorf("largest 32 bits: %x, %d", u, n)
	}
	if u, n := uvarint64(fill(10, 1)); u != math.MaxUint64 || n != 10 {
		t.Errorf("largest 64 bits: %x, %d", u, n)
	}
	for _, last := range []byte{0x10, 0x7f, 0x80, 0xff} {
		if _, n := uvarint32(fill(5, last)); n >= 0 {
			t.Errorf("32 bits ending in %x: read %d bytes", last, n)
		}
	}
	for _, last := range []byte{2, 0x7f, 0x80, 0xff} {
		if _, n := uvarint64(fill(10, last)); n >= 0 {
			t.Errorf("64 bits ending in %x: read %d bytes", last, n)
		}
	}
}
