package chunk

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestCopySendsExactlyTheRange(t *testing.T) {
	source := bytes.Repeat([]byte("0123456789"), 30_000)
	for _, r := range [][2]int64{{0, 0}, {0, 1}, {3, copySize}, {7, copySize + 1}, {0, int64(len(source))}, {int64(len(source)) - 1, 1}} {
		var got bytes.Buffer
		n, err := Copy(&got, bytes.NewReader(source), r[0], r[1])
		if err != nil || n != r[1] || !bytes.Equal(got.Bytes(), source[r[0]:r[0]+r[1]]) {
			t.Errorf("Copy of %d bytes at %d: got %d, %v", r[1], r[0], n, err)
		}
	}
}

func TestCopyTellsWhatIsMissing(t *testing.T) {
	n, err := Copy(io.Discard, strings.NewReader(strings.Repeat("x", copySize+10)), 0, copySize+20)
	if n != copySize || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Copy past the end: got %d, %v, want %d and an unexpected EOF", n, err, copySize)
	}
}

// stuckWriter takes its first piece once released; it tells how large that is.
type stuckWriter struct {
	first   chan int
	release chan struct{}
	once    sync.Once
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.once.Do(func() {
		w.first <- len(p)
		<-w.release
	})
	return len(p), nil
}

// Clients that do not read hold large buffers up to a number, small ones beyond,
// and everyone gets a large one again when they have gone.
func TestLargeBuffersAreBounded(t *testing.T) {
	source := bytes.NewReader(make([]byte, 2*copySize))
	release := make(chan struct{})
	var copies sync.WaitGroup
	start := func(w *stuckWriter) int {
		copies.Go(func() {
			if n, err := Copy(w, source, 0, 2*copySize); n != 2*copySize || err != nil {
				t.Errorf("Copy: got %d, %v, want all", n, err)
			}
		})
		return <-w.first
	}
	for i := range maxLarge + 3 {
		want := copySize
		if i >= maxLarge {
			want = smallSize
		}
		if got := start(&stuckWriter{first: make(chan int), release: release}); got != want {
			t.Errorf("piece of copy %d: got %d bytes, want %d", i, got, want)
		}
	}
	close(release)
	copies.Wait()
	if got := start(&stuckWriter{first: make(chan int), release: release}); got != copySize {
		t.Errorf("piece after all have ended: got %d bytes, want %d", got, copySize)
	}
	copies.Wait()
}

// lazyWriter takes less than it is given and says nothing.
type lazyWriter struct{}

func (lazyWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

func TestCopyMeetsALazyWriter(t *testing.T) {
	n, err := Copy(lazyWriter{}, strings.NewReader("abcdef"), 0, 6)
	if n != 3 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %d, %v, want 3 and a short write", n, err)
	}
}

func TestCountWaitsForTheLastUse(t *testing.T) {
	for range 200 {
		var c Count
		var inUse, users sync.WaitGroup
		open := 0
		var mu sync.Mutex
		for range 4 {
			if err := c.Take(); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			open++
			mu.Unlock()
			inUse.Add(1)
			users.Go(func() {
				inUse.Done()
				mu.Lock()
				open--
				mu.Unlock()
				c.Return()
			})
		}
		inUse.Wait()
		if !c.Close() {
			t.Error("first Close: got false, want true")
		}
		mu.Lock()
		if open != 0 {
			t.Errorf("Close returned with %d uses open", open)
		}
		mu.Unlock()
		users.Wait()
		if err := c.Take(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Take after Close: got %v, want os.ErrClosed", err)
		}
		if c.Close() {
			t.Error("second Close: got true, want false")
		}
	}
}

// Takes race with Close: each either counts or is refused, and nothing hangs.
func TestCountRaces(t *testing.T) {
	for range 200 {
		var c Count
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for c.Take() == nil {
					c.Return()
				}
			})
		}
		all.Go(func() { c.Close() })
		c.Close()
		all.Wait()
	}
}
