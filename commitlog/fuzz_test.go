package commitlog

import (
	"bytes"
	"testing"

	"tidemark/protocol/record"
)

// FuzzRecovery: whatever a segment file, an index and a snapshot hold, the log
// opens; what it then has is whole valid batches with ascending offsets, all of
// which were in the file; a second recovery finds the same; and it takes appends.
func FuzzRecovery(f *testing.F) {
	var whole []byte
	for i := range 4 {
		b := idempotent(5, 0, int32(3*i), 3)
		b.SetBaseOffset(int64(3 * i))
		whole = append(whole, b...)
	}
	marker := record.EndTxnMarker{ProducerID: 5, CoordinatorEpoch: 3}.Batch()
	marker.SetBaseOffset(12)
	f.Add(whole, []byte{}, []byte{}, true)
	f.Add(append(bytes.Clone(whole), marker...), []byte{0, 0, 0, 5, 0, 0, 0, 100}, []byte{0, 1}, false)
	f.Add(whole[:len(whole)-7], []byte{0, 0, 0, 2, 0, 0, 0, 0}, []byte("0\n1\n0 0\n"), true)
	f.Add(append(bytes.Clone(whole), make([]byte, 90)...), []byte{1}, []byte{}, false)
	f.Add(make([]byte, 200), []byte{}, []byte{}, true)
	f.Fuzz(func(t *testing.T, log, side, other []byte, clean bool) {
		w := newWorld(t)
		if err := w.fs.MkdirAll(w.dir); err != nil {
			t.Fatal(err)
		}
		w.overwrite("00000000000000000000.log", log)
		w.overwrite("00000000000000000000.index", side)
		w.overwrite("00000000000000000000.timeindex", side)
		w.overwrite("00000000000000000003.snapshot", other)
		w.overwrite("leader-epoch-checkpoint", other)
		w.state.CleanShutdown = clean
		w.open()
		if clean {
			// Checksums are not looked at after a clean shutdown.
			w.crash()
			w.open()
		}
		kept := w.content("00000000000000000000.log")
		if !bytes.HasPrefix(log, kept) {
			t.Fatal("the log holds bytes that were not in the file")
		}
		end, next := w.LogEndOffset(), int64(0)
		for _, b := range w.readAll(0) {
			if b.BaseOffset() < next {
				t.Fatalf("offset %d after %d", b.BaseOffset(), next)
			}
			next = b.NextOffset()
		}
		if next != end {
			t.Fatalf("batches end at %d, the log at %d", next, end)
		}
		w.crash()
		w.open()
		if w.LogEndOffset() != end || w.Report().TruncatedBytes != 0 || w.Report().Corruption != nil {
			t.Fatalf("second recovery: end %d, want %d; %+v", w.LogEndOffset(), end, w.Report())
		}
		if _, err := w.AppendAsLeader(batch(2, 5), 1<<30, Client); err != nil {
			t.Fatal(err)
		}
		w.close()
		w.open()
		if w.LogEndOffset() != end+2 {
			t.Fatalf("end %d after an append, want %d", w.LogEndOffset(), end+2)
		}
	})
}

// FuzzFollower: no bytes a leader might send break the log.
func FuzzFollower(f *testing.F) {
	b := batch(3, 5)
	f.Add([]byte(b))
	f.Add(append(bytes.Clone(b), b[:40]...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t).open()
		info, err := w.AppendAsFollower(data)
		if err == nil && (info.LastOffset+1 != w.LogEndOffset() || info.Bytes != w.Size()) {
			t.Fatalf("%+v, end %d, size %d", info, w.LogEndOffset(), w.Size())
		}
		w.readAll(0)
		w.crash()
		w.open()
		w.readAll(0)
	})
}
