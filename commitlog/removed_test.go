package commitlog

import (
	"bytes"
	"testing"
)

// TestRemoveWaitsForNoReader: a log goes at once although a slow consumer is reading
// it; a log of the same name takes its place, and the consumer gets what it asked for.
func TestRemoveWaitsForNoReader(t *testing.T) {
	w := newWorld(t).open()
	w.mustAppend(batch(3, 5), 0)
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	w.mustAppend(batch(2, 6), 0)
	want, _ := w.read(0, 1000)
	info, err := w.Read(0, 1000, w.LogEndOffset(), true)
	if err != nil {
		t.Fatal(err)
	}
	former := w.Log
	release, err := former.Remove()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.fs.Stat(w.dir); err == nil {
		t.Error("the directory is still there")
	}
	w.open()
	w.mustAppend(batch(1, 7), 0)
	if _, err := former.Read(3, 1000, 5, true); err == nil {
		t.Error("the removed log is still read from")
	}
	if got := drain(t, info.Chunk); !bytes.Equal(got, want) {
		t.Errorf("read %d bytes of the removed log, want %d", len(got), len(want))
	}
	release()
	if got := w.readAll(0); len(got) != 1 {
		t.Errorf("the new log has %d batches, want its own one", len(got))
	}
	w.close()
}
