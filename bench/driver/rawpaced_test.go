package driver

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestAfterAPartialWrite: whatever a socket took, the rest is what follows it.
func TestAfterAPartialWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bufs := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 1, 4).Draw(t, "bufs")
		whole := bytes.Join(bufs, nil)
		n := rapid.IntRange(0, len(whole)).Draw(t, "taken")
		rest := after(bufs, n)
		if got := bytes.Join(rest, nil); !bytes.Equal(got, whole[n:]) {
			t.Fatalf("after %d of %d bytes %x are left, want %x", n, len(whole), got, whole[n:])
		}
		if n == len(whole) && len(rest) > 0 && len(bytes.Join(bufs, nil)) > 0 {
			t.Fatalf("all was taken, %d buffers are left to write", len(rest))
		}
	})
}
