package hugepage

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// huge is how many bytes of this process lie in huge pages.
func huge(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Skip("no /proc/self/smaps_rollup tells of huge pages:", err)
	}
	_, rest, ok := strings.Cut(string(text), "AnonHugePages:")
	if !ok {
		t.Skip("this kernel tells nothing of huge pages")
	}
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

func TestUnder(t *testing.T) {
	const large = 16 << 20
	b := make([]byte, large)
	for i := range b {
		b[i] = byte(i % 251)
	}
	want := bytes.Clone(b)
	before := huge(t)
	if err := under(b); err != nil {
		t.Skip("the kernel gives no huge pages:", err)
	}
	Under(b[3 : 3+size/2]) // They are there already.
	Under(b[:1])
	Under(nil)
	after := huge(t)
	if !bytes.Equal(b, want) {
		t.Fatal("the bytes changed")
	}
	if after-before < size {
		t.Errorf("%d bytes more in huge pages, which are of %d", after-before, size)
	}
	runtime.KeepAlive(want)
}

// TestBesideNothing has the collector look while memory beside which nothing lies, or
// nothing any more, gets its pages.
func TestBesideNothing(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			runtime.GC()
		}
	}()
	kept := make([][]byte, 8)
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		b := make([]byte, size/2+i%7*(300<<10))
		Under(b)
		kept[i*5%len(kept)] = b
	}
}

func BenchmarkUnder(b *testing.B) {
	memory := make([]byte, 8<<20)
	b.SetBytes(int64(len(memory)))
	for b.Loop() {
		Under(memory)
	}
}
