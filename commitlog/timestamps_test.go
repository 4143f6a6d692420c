package commitlog

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"tidemark/internal/vfs"
)

// TestLookUpInATruncation: who looks up a timestamp while a truncation has published
// its end, and not cut the indexes yet, waits and gets an answer; it is no damage.
func TestLookUpInATruncation(t *testing.T) {
	w := newWorld(t)
	faulty := vfs.NewFaulty(w.fs)
	w.fs, w.o.SegmentBytes, w.o.IndexIntervalBytes = faulty, 1<<20, 0
	w.open()
	for i := range int64(20) {
		w.mustAppend(batch(5, 100*i), 0)
	}
	type answer struct {
		found TimestampOffset
		ok    bool
		err   error
	}
	answers, looked := make(chan answer, 1), make(chan struct{})
	ask := func(v *view) (TimestampOffset, bool, error) {
		found, ok, err := v.firstAt(0, v.newest.TimestampMs)
		if errors.Is(err, errIndexLies) {
			close(looked)
		}
		return found, ok, err
	}
	faulty.OnCall(func(op vfs.Op, path string) error {
		if op != vfs.OpTruncate || !strings.HasSuffix(path, LogSuffix) {
			return nil
		}
		go func() {
			found, ok, err := w.query(ask)
			answers <- answer{found, ok, err}
		}()
		<-looked
		for range 1000 { // Were it not to wait, it would answer now.
			runtime.Gosched()
		}
		return nil
	})
	if err := w.TruncateTo(50); err != nil {
		t.Fatal(err)
	}
	want := answer{found: TimestampOffset{904, 49}, ok: true}
	if got := <-answers; got != want {
		t.Errorf("asked inside the truncation: %+v, want %+v", got, want)
	}
}
