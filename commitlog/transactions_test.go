package commitlog

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog/producer"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// txnData makes a batch of a transaction.
func txnData(producerID int64, epoch int16, sequence int32, count int) record.Batch {
	w := record.NewBuilder(record.None, record.DefaultLevel)
	w.Producer(producerID, epoch, sequence)
	w.Transactional(true)
	for range count {
		w.Append(testStart.UnixMilli(), []byte("k"), []byte("v"), nil)
	}
	return w.Build()
}

func (w *world) begin(producerID int64, sequence int32, count int) AppendInfo {
	w.t.Helper()
	g, _ := w.StartVerification(producerID, 0, sequence)
	info, err := w.AppendTransactional(txnData(producerID, 0, sequence, count), 0, g)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

func (w *world) endTxn(producerID int64, commit bool) AppendInfo {
	w.t.Helper()
	info, err := w.AppendMarker(record.EndTxnMarker{ProducerID: producerID, Commit: commit, TimestampMs: testStart.UnixMilli()}, 0, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

// TestLateBatchesOfATransaction: what arrives behind the end of its transaction, by
// whatever way, begins none (KIP-890, K-14402).
func TestLateBatchesOfATransaction(t *testing.T) {
	w := newWorld(t).open()
	defer w.close()
	refuse := func(why string, want error, b record.Batch, g Guard) {
		t.Helper()
		end := w.LogEndOffset()
		if _, err := w.AppendTransactional(b, 0, g); !errors.Is(err, want) || w.LogEndOffset() != end {
			t.Errorf("%s: %v, want %v", why, err, want)
		}
	}
	refuse("never verified", ErrInvalidTxnState, txnData(1, 0, 0, 1), 0)
	g, needed := w.StartVerification(1, 0, 0)
	if !needed {
		t.Fatal("no verification before the first batch")
	}
	w.endTxn(1, false) // The transaction timed out while the coordinator was asked.
	refuse("aborted while it was verified", ErrInvalidTxnState, txnData(1, 0, 0, 1), g)
	w.begin(1, 0, 2)
	plain := idempotent(1, 0, 2, 1)
	refuse("not transactional", ErrInvalidTxnState, plain, 0)
	w.endTxn(1, true)
	refuse("behind the commit", ErrInvalidTxnState, txnData(1, 0, 2, 1), g)
	if info, err := w.AppendTransactional(txnData(1, 0, 0, 2), 0, 0); err != nil || !info.Duplicate {
		t.Errorf("a retry of what is committed: %+v, %v, want a duplicate", info, err)
	}
	_, err := w.AppendMarker(record.EndTxnMarker{ProducerID: 1, ProducerEpoch: 1, CoordinatorEpoch: 4}, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	refuse("of an epoch before the marker's", ErrInvalidProducerEpoch, txnData(1, 0, 2, 1), Unverified)
	if _, err := w.AppendMarker(record.EndTxnMarker{ProducerID: 1, ProducerEpoch: 1, CoordinatorEpoch: 3}, 0, false); !errors.Is(err, ErrCoordinatorFenced) {
		t.Errorf("a marker of a former coordinator: %v", err)
	}
	if _, err := w.AppendMarker(record.EndTxnMarker{ProducerID: 1, CoordinatorEpoch: 4}, 0, false); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("a marker of a former producer epoch: %v", err)
	}
}

// TestCoordinatorWritesWithoutSequences: offsets in a transaction carry a producer and
// no sequence, and end with a marker as any others.
func TestCoordinatorWritesWithoutSequences(t *testing.T) {
	w := newWorld(t).open()
	defer w.close()
	for range 7 {
		b := txnData(3, 2, record.NoSequence, 1)
		if _, err := w.AppendAsLeader(b, 0, Coordinator); err != nil {
			t.Fatal(err)
		}
	}
	if lso := w.LastStableOffset(7); lso != 0 {
		t.Errorf("last stable offset %d, want 0", lso)
	}
	if _, err := w.AppendMarker(record.EndTxnMarker{ProducerID: 3, ProducerEpoch: 2, Commit: true}, 0, false); err != nil {
		t.Fatal(err)
	}
	if lso := w.LastStableOffset(8); lso != 8 {
		t.Errorf("last stable offset %d, want 8", lso)
	}
	if _, err := w.AppendAsLeader(txnData(3, 1, record.NoSequence, 1), 0, Coordinator); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("of an older epoch: %v", err)
	}
}

// TestUnreplicatedMarkers: a marker that may be lost ends no transaction for readers,
// before and after a restart, and after a truncation it never did.
func TestUnreplicatedMarkers(t *testing.T) {
	w := newWorld(t).open()
	w.begin(1, 0, 3)
	w.begin(2, 0, 2)
	w.endTxn(1, false) // At 5.
	w.endTxn(2, true)  // At 6.
	expect := func(hw, want int64) {
		t.Helper()
		if got := w.LastStableOffset(hw); got != want {
			t.Errorf("below %d: last stable offset %d, want %d", hw, got, want)
		}
	}
	expect(5, 0)
	w.close()
	w.state.HighWatermark = 5
	w.open()
	expect(5, 0)
	expect(6, 3)
	if err := w.TruncateTo(6); err != nil {
		t.Fatal(err)
	}
	expect(6, 3)
	w.endTxn(2, true)
	expect(6, 3)
	expect(7, 7)
	expect(6, 6)
	w.close()
	// A crash took what the high watermark covered: later markers count all the same.
	w.state.HighWatermark = 100
	w.open()
	w.begin(1, 3, 1)
	w.endTxn(1, true)
	expect(8, 7)
	expect(9, 9)
	w.close()
}

// TestFollowerHasTheSameTransactions: from the leader's bytes a follower makes the same
// transaction index and the same bounds, whatever way they are cut into fetches.
func TestFollowerHasTheSameTransactions(t *testing.T) {
	leader, follower := newWorld(t), newWorld(t)
	leader.open()
	follower.open()
	sequences := map[int64]int32{}
	for i := range int64(200) {
		id := i % 5
		if i%3 == 2 {
			leader.endTxn(id, i%2 == 0)
		} else {
			leader.begin(id, sequences[id], 2)
			sequences[id] += 2
		}
		if i%7 == 0 {
			data, _ := leader.read(follower.LogEndOffset(), 1500)
			if _, err := follower.AppendAsFollower(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	for follower.LogEndOffset() < leader.LogEndOffset() {
		data, _ := leader.read(follower.LogEndOffset(), 1500)
		if _, err := follower.AppendAsFollower(data); err != nil {
			t.Fatal(err)
		}
	}
	end := leader.LogEndOffset()
	want, err := leader.AbortedTxns(0, end)
	if err != nil || len(want) < 20 {
		t.Fatalf("%d aborted transactions, %v", len(want), err)
	}
	got, err := follower.AbortedTxns(0, end)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("aborted transactions of leader and follower (-leader +follower):\n%s", diff)
	}
	if l, f := leader.LastStableOffset(end), follower.LastStableOffset(end); l != f || l == end {
		t.Errorf("last stable offset of the leader %d, of the follower %d, log end %d", l, f, end)
	}
	if diff := cmp.Diff(leader.Producers(), follower.Producers(), cmp.Transformer("", func(e producer.Entry) producer.Entry {
		e.TimestampMs = 0
		return e
	})); diff != "" {
		t.Errorf("producers (-leader +follower):\n%s", diff)
	}
	leader.close()
	follower.close()
}

// TestOpenTransactionOutlivesExpiry: a producer in a transaction is not forgotten, or
// its marker would end nothing.
func TestOpenTransactionOutlivesExpiry(t *testing.T) {
	w := newWorld(t).open()
	w.begin(1, 0, 1)
	w.clock.Advance(48 * time.Hour)
	if n := w.ExpireProducers(w.clock.Now()); n != 0 {
		t.Errorf("%d producers forgotten", n)
	}
	w.close()
	w.open()
	if lso := w.LastStableOffset(1); lso != 0 {
		t.Errorf("last stable offset %d after a restart, want 0", lso)
	}
	w.endTxn(1, false)
	w.clock.Advance(48 * time.Hour)
	if n := w.ExpireProducers(w.clock.Now()); n != 1 {
		t.Errorf("%d producers forgotten once it was over, want 1", n)
	}
	w.close()
}

// TestStartOffsetBoundsTheStableOne: records that were deleted cannot hold readers back
// from before the log.
func TestStartOffsetBoundsTheStableOne(t *testing.T) {
	w := newWorld(t).open()
	defer w.close()
	w.begin(1, 0, 4)
	w.mustAppend(batch(4, testStart.UnixMilli()), 0)
	if err := w.AdvanceLogStart(6); err != nil {
		t.Fatal(err)
	}
	if lso := w.LastStableOffset(8); lso != 6 {
		t.Errorf("last stable offset %d, want the log start offset 6", lso)
	}
}

// TestReadersOfCommittedDataBesideAppends reads, appends, rolls and truncates at once:
// no reader sees an aborted record.
func TestReadersOfCommittedDataBesideAppends(t *testing.T) {
	w := newWorld(t)
	w.o.SegmentBytes = 4096
	w.open()
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for offset := int64(0); ; {
				select {
				case <-done:
					return
				default:
				}
				if offset >= w.LastStableOffset(w.LogEndOffset()) {
					offset = 0
				}
				next, err := readCommittedOnce(w.Log, offset)
				if err != nil {
					t.Error(err)
					return
				}
				offset = next
			}
		})
	}
	sequences := map[int64]int32{}
	for i := range int64(scale(20000, 3000, 600)) {
		id := i % 4 // Producers 0 and 1 commit, the others abort.
		w.begin(id, sequences[id], 1)
		sequences[id]++
		if i%3 == 0 {
			w.endTxn(id, id < 2)
		}
	}
	close(done)
	readers.Wait()
	w.close()
}

// readCommittedOnce reads what one fetch gets and returns where the next begins.
func readCommittedOnce(l *Log, offset int64) (next int64, err error) {
	info, err := l.ReadCommitted(offset, 700, l.LastStableOffset(l.LogEndOffset()), true)
	if err != nil || info.Chunk == nil {
		return 0, err
	}
	defer info.Chunk.Release()
	var data bytes.Buffer
	if _, err := info.Chunk.WriteTo(&data); err != nil {
		return 0, err
	}
	aborted := func(b record.Batch) bool {
		for _, a := range info.Aborted {
			if a.ProducerID == b.ProducerID() && a.FirstOffset <= b.BaseOffset() && b.BaseOffset() < a.LastOffset {
				return true
			}
		}
		return false
	}
	for rest := data.Bytes(); len(rest) > 0; {
		b, behind, err := record.Parse(rest)
		if err != nil {
			return 0, err
		}
		if !b.IsControl() && aborted(b) != (b.ProducerID() >= 2) {
			return 0, errors.New("a reader of committed data is told wrong of a batch")
		}
		next, rest = b.NextOffset(), behind
	}
	return next, nil
}

// TestNoRoomForAbortedTransactions: a start on a full disk that has to make a
// transaction index anew serves, and a crash later still knows what was aborted.
func TestNoRoomForAbortedTransactions(t *testing.T) {
	w := newWorld(t)
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	w.fs = faulty
	if err := errors.Join(mem.MkdirAll("/logs"), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.begin(1, 0, 2)
	w.endTxn(1, false)
	if err := errors.Join(w.Roll(), w.Flush()); err != nil {
		t.Fatal(err)
	}
	w.mustAppend(batch(2, testStart.UnixMilli()), 0)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	w.crash()
	w.state.RecoveryPoint = 0
	full := true
	faulty.OnCall(func(op vfs.Op, path string) error {
		if full && op == vfs.OpWrite && strings.HasSuffix(path, TxnIndexSuffix) {
			return syscall.ENOSPC
		}
		return nil
	})
	expect := func() {
		t.Helper()
		aborted, err := w.AbortedTxns(0, 5)
		if err != nil || len(aborted) != 1 {
			t.Fatalf("%d aborted transactions, %v, want one", len(aborted), err)
		}
	}
	w.open()
	expect()
	if rp := w.RecoveryPoint(); rp != 0 {
		t.Errorf("recovery point %d, want 0", rp)
	}
	if err := w.Flush(); !vfs.IsFull(err) || w.Err() != nil {
		t.Errorf("a flush without room: %v, the log: %v", err, w.Err())
	}
	w.crash()
	full = false
	w.fs = mem.CrashClone(0)
	w.open()
	expect()
	if err := w.Flush(); err != nil || w.RecoveryPoint() != w.LogEndOffset() {
		t.Errorf("a flush with room: %v, recovery point %d", err, w.RecoveryPoint())
	}
	w.crash()
	w.fs = w.fs.(*vfs.Mem).CrashClone(0)
	w.open()
	expect()
	w.close()
}

// TestNoTransactionsNoBound: a log without transactions answers without a lock.
func TestNoTransactionsNoBound(t *testing.T) {
	w := newWorld(t).open()
	defer w.close()
	w.mustAppend(idempotent(1, 0, 0, 3), 0)
	if got := w.unstable.first.Load(); got != math.MaxInt64 {
		t.Errorf("first unstable offset %d", got)
	}
	if allocs := testing.AllocsPerRun(100, func() { w.LastStableOffset(3) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
