package replica

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// inTransaction makes a batch of one record in a transaction.
func inTransaction(producerID int64, sequence int32) record.Batch {
	w := record.NewBuilder(record.None, 0)
	w.Producer(producerID, 0, sequence)
	w.Transactional(true)
	w.Append(testNow.UnixMilli(), []byte("k"), []byte("v"), nil)
	return w.Build()
}

// TestReadersOfCommittedData: they stop before an open transaction, learn which were
// aborted, and find it all the same after a restart.
func TestReadersOfCommittedData(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	h.lead("t", 1, 1)
	p := h.Partition("t", 0)
	if _, _, err := p.AppendTransactional(inTransaction(1, 0), AckAll, 0); !errors.Is(err, commitlog.ErrInvalidTxnState) {
		t.Fatalf("a batch that was not verified: %v", err)
	}
	for id := range int64(2) {
		g, needed := p.StartVerification(id, 0, 0)
		if !needed {
			t.Fatal("a transaction begins without verification")
		}
		if _, _, err := p.AppendTransactional(inTransaction(id, 0), AckAll, g); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.AppendMarker(record.EndTxnMarker{ProducerID: 0, CoordinatorEpoch: 3}, false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.AppendMarker(record.EndTxnMarker{ProducerID: 0, CoordinatorEpoch: 2}, false); !errors.Is(err, commitlog.ErrCoordinatorFenced) {
		t.Errorf("a marker of a former coordinator: %v", err)
	}
	for range 2 {
		p = h.Partition("t", 0)
		var aborted []commitlog.AbortedTxn
		chunk, o, err := p.Read(ReadRequest{LeaderEpoch: AnyEpoch, MaxBytes: 1 << 20, Isolation: ReadCommitted, WholeBatch: true, Aborted: &aborted})
		if err != nil || chunk == nil {
			t.Fatalf("chunk %v, %v", chunk, err)
		}
		chunk.Release()
		want := []commitlog.AbortedTxn{{ProducerID: 0, FirstOffset: 0, LastOffset: 2, LastStableOffset: 1}}
		if diff := cmp.Diff(want, aborted); diff != "" || o.LastStable != 1 || o.HighWatermark != 3 {
			t.Errorf("last stable offset %d, high watermark %d, want 1 and 3; aborted (-want +got):\n%s", o.LastStable, o.HighWatermark, diff)
		}
		latest, err := p.Latest(ReadCommitted)
		if err != nil || latest.Offset != 1 {
			t.Errorf("latest offset of committed data %d, %v, want 1", latest.Offset, err)
		}
		if p.Ready(ReadRequest{Offset: 1, LeaderEpoch: AnyEpoch, Isolation: ReadCommitted}) {
			t.Error("there is something to read of an open transaction")
		}
		h.close()
		h.open()
		h.lead("t", 1, 1)
	}
	h.close()
}
