package commitlog

import (
	"bytes"
	"math"
	"testing"
	"time"

	"tidemark/protocol/record"
)

// TestDoomedSegmentsOfOneName: two rounds of cleaning within file.delete.delay.ms
// leave two segments whose files are to be removed under one name. Removing the first,
// in steps as it is big, takes nothing from who still reads the second.
func TestDoomedSegmentsOfOneName(t *testing.T) {
	w := newWorld(t)
	w.o.FileDeleteDelay = time.Second
	w.open()
	c := testCleaner()
	round := func() {
		t.Helper()
		w.mustAppend(keyed(record.None, -1, false, 0, "ab"), 0)
		w.mustAppend(keyed(record.None, -1, false, 0, "ac"), 0)
		if err := w.Roll(); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Clean(w.Log, math.MaxInt64); err != nil || r.SegmentsAfter == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	w.mustAppend(keyed(record.None, -1, false, 0, "ab"), 0)
	if err := w.Roll(); err != nil {
		t.Fatal(err)
	}
	first := w.view.segments[0]
	round()
	first.size.Store(shrinkBytes + 1) // As if it were big.

	want, _ := w.read(0, 1000)
	second := w.view.segments[0]
	info, err := w.Read(0, 1000, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second / 2)
	round()
	if first.base != second.base || w.view.segments[0] == second {
		t.Fatal("the second segment was not replaced, too")
	}
	size, err := second.file.Size()
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second / 2)
	if now, err := second.file.Size(); err != nil || now != size {
		t.Errorf("the second segment's file has %d bytes, %v; it had %d", now, err, size)
	}
	if got := drain(t, info.Chunk); !bytes.Equal(got, want) {
		t.Errorf("read %d bytes of a segment that is to be removed, want %d", len(got), len(want))
	}
}
