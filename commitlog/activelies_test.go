package commitlog

import (
	"encoding/binary"
	"testing"
)

// TestIndexOfTheActiveSegmentLies: an index entry in the middle of the active segment
// that points beside its batch, found after a clean stop, costs a rebuilding and no
// reader.
func TestIndexOfTheActiveSegmentLies(t *testing.T) {
	w := newWorld(t)
	w.o.IndexIntervalBytes, w.o.SegmentBytes = 1, 1<<20
	w.open()
	for i := range int64(40) {
		w.mustAppend(batch(2, 5+2*i), 0)
	}
	w.close()
	name := FileName(0, IndexSuffix)
	data := append([]byte(nil), w.content(name)...)
	const entry = 20 * 8
	binary.BigEndian.PutUint32(data[entry+4:], binary.BigEndian.Uint32(data[entry+4:])+7)
	w.overwrite(name, data)
	w.open()
	if got := w.readAll(0); len(got) != 40 {
		t.Fatalf("read %d batches from the start, want 40", len(got))
	}
	for offset := int64(0); offset < w.LogEndOffset(); offset++ {
		b, _ := w.read(offset, 100)
		if len(b) == 0 {
			t.Fatalf("nothing at offset %d", offset)
		}
	}
	w.mustAppend(batch(2, 100), 0)
	w.close()
}
