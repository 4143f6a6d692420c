package replica

import (
	"errors"
	"testing"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
	"tidemark/coordinator/shard"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

var _ shard.Log = CoordinatorLog{}

// TestCoordinatorLog: a coordinator appends in its own leader epoch only, reads what
// is not committed too, and is told when the high watermark moves.
func TestCoordinatorLog(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/data")
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 3, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	apply := func(change func(*State)) {
		t.Helper()
		state.PartitionEpoch++
		change(&state)
		if err := h.Apply([]State{state}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	apply(func(*State) {})
	watches := purgatory.New(h.clock)
	defer watches.Close()
	l := h.Partition("t", 0).ForCoordinator(watches)
	if l != h.Partition("t", 0).ForCoordinator(watches) {
		t.Error("two logs of one partition differ")
	}

	moved := 0
	stop := l.Watch(func() { moved++ })
	if end, err := l.Append(3, testBatch("a", "b")); end != 2 || err != nil {
		t.Errorf("append: got %d, %v, want 2", end, err)
	}
	for epoch, want := range map[int32]error{2: ErrFencedEpoch, 4: ErrUnknownEpoch} {
		if _, err := l.Append(epoch, testBatch("c")); !errors.Is(err, want) {
			t.Errorf("append in leader epoch %d: got %v, want %v", epoch, err, want)
		}
	}
	if l.LogEndOffset() != 2 || l.HighWatermark() != 0 || l.LogStartOffset() != 0 {
		t.Errorf("offsets %d, %d, %d, want 0, 0 and 2: the other replica has nothing yet", l.LogStartOffset(), l.HighWatermark(), l.LogEndOffset())
	}
	prefix := []byte("kept")
	read, err := l.Read(prefix, 1, 1)
	if err != nil || string(read[:4]) != "kept" {
		t.Fatalf("read: %q, %v", read, err)
	}
	if b, rest, err := record.Parse(read[4:]); err != nil || len(rest) > 0 || b.BaseOffset() != 0 || b.Count() != 2 {
		t.Errorf("read is not the batch that holds offset 1: %v", err)
	}
	if read, err := l.Read(nil, 2, 100); len(read) > 0 || err != nil {
		t.Errorf("read at the log end: %d bytes, %v, want none", len(read), err)
	}

	before := moved
	apply(func(s *State) { s.ISR = Members(1) }) // alone it commits
	if l.HighWatermark() != 2 || moved == before {
		t.Errorf("high watermark %d, told %d times, want 2 and told", l.HighWatermark(), moved-before)
	}
	stop()
	before = moved
	if _, err := l.Append(3, testBatch("d")); err != nil {
		t.Fatal(err)
	}
	if moved != before {
		t.Error("told after it stopped watching")
	}
	apply(func(s *State) { s.Leader, s.LeaderEpoch = 2, 4 })
	if _, err := l.Append(4, testBatch("e")); !errors.Is(err, ErrNotLeader) {
		t.Errorf("append of a former leader: got %v, want ErrNotLeader", err)
	}
}

// TestCoordinatorsMarkers: they are held to the rules of any partition's, and to the
// coordinator's own leader epoch.
func TestCoordinatorsMarkers(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/data")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	p := h.Partition("t", 0)
	watches := purgatory.New(h.clock)
	defer watches.Close()
	l := p.ForCoordinator(watches)
	_, epoch := p.Leader()
	if _, err := l.Append(epoch, inTransaction(5, 0)); err != nil {
		t.Fatal(err)
	}
	marker := record.EndTxnMarker{ProducerID: 5, ProducerEpoch: 0, CoordinatorEpoch: 3, Commit: true}
	if _, err := l.AppendMarker(epoch+1, marker, false); !errors.Is(err, ErrUnknownEpoch) {
		t.Errorf("of a leadership to come: %v, want ErrUnknownEpoch", err)
	}
	if _, err := l.AppendMarker(epoch, marker, true); !errors.Is(err, commitlog.ErrInvalidProducerEpoch) {
		t.Errorf("of transaction version 2, with the epoch of the data: %v, want ErrInvalidProducerEpoch", err)
	}
	marker.ProducerEpoch++
	if end, err := l.AppendMarker(epoch, marker, true); end != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", end, err)
	}
	marker.CoordinatorEpoch--
	if _, err := l.AppendMarker(epoch, marker, true); !errors.Is(err, commitlog.ErrCoordinatorFenced) {
		t.Errorf("of a former transaction coordinator: %v, want ErrCoordinatorFenced", err)
	}
	if end := l.LogEndOffset(); end != 2 {
		t.Errorf("the log ends at %d, want 2: what is refused leaves nothing", end)
	}
}
