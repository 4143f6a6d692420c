package replica

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// ask fences t-0 and waits for the answer.
func (h *host) ask(epoch int32) FenceAnswer {
	h.t.Helper()
	answer := make(chan FenceAnswer, 1)
	h.Fence(FenceRequest{ID: ID{Topic: "t"}, TopicID: [16]byte{1}, LeaderEpoch: epoch}, func(a FenceAnswer) { answer <- a })
	return <-answer
}

// TestFence: a replica that promised a later epoch leads no more, tells how far it is,
// and keeps the promise over a restart.
func TestFence(t *testing.T) {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.set("t", func(c *TopicConfig) { c.Flush = FlushGroup })
	h.open()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	p := h.Partition("t", 0)
	info, _, err := p.Append(testBatch("a", "b"), AckAll, commitlog.Client)
	if err != nil {
		t.Fatal(err)
	}
	a := h.ask(6)
	if a.Err != nil || a.Failure != replication.NoFailure || a.LeaderEpoch != 6 || a.LastEpoch != 4 || a.LogEndOffset != 2 || a.Dir != p.dir.id || a.Dir == (replication.DirID{}) {
		t.Errorf("answer %+v, want epoch 4 that ends at 2", a)
	}
	if p.log.RecoveryPoint() != 2 {
		t.Errorf("answered with %d of 2 records synced", p.log.RecoveryPoint())
	}
	if done, err := p.Acknowledged(&info, AckAll); done || !errors.Is(err, ErrNotLeader) {
		t.Errorf("who waits is told %v, %v, want ErrNotLeader", done, err)
	}
	if _, _, err := p.Append(testBatch("c"), 1, commitlog.Client); !errors.Is(err, ErrNotLeader) {
		t.Errorf("append: %v, want ErrNotLeader", err)
	}
	if a := h.ask(5); a.Failure != replication.FencedLeaderEpoch || a.LeaderEpoch != 6 {
		t.Errorf("a lower epoch is answered with %+v, want it refused", a)
	}
	if a := h.ask(6); a.Failure != replication.NoFailure {
		t.Errorf("the same epoch is answered with %+v, want it accepted again", a)
	}
	h.close()

	h.open()
	defer h.close()
	if a := h.ask(5); a.Failure != replication.FencedLeaderEpoch || a.Err != nil {
		t.Errorf("after a restart a lower epoch is answered with %+v, want it refused", a)
	}
	state.LeaderEpoch = 5
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := h.Partition("t", 0).Check(AnyEpoch); !errors.Is(err, ErrNotLeader) {
		t.Errorf("leads in an epoch below the promise: %v", err)
	}
	state.LeaderEpoch = 6
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := h.Partition("t", 0).Check(AnyEpoch); err != nil {
		t.Errorf("does not lead in the epoch promised to: %v", err)
	}
}

// TestFenceOnFullDisk: a promise that cannot be written is not given.
func TestFenceOnFullDisk(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: fenceFile + "*", Err: syscall.ENOSPC})
	for range 2 {
		if a := h.ask(6); !errors.Is(a.Err, ErrStorage) {
			t.Errorf("answer %+v, want ErrStorage", a)
		}
	}
	fs.Clear()
	if a := h.ask(6); a.Err != nil || a.LeaderEpoch != 6 {
		t.Errorf("answer %+v once there is room", a)
	}
}

// TestStopReplicas: an order that knows an older leader epoch is ignored; a full list
// stops whom it does not name, and keeps the log.
func TestStopReplicas(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1}, ISR: Members(1)}
	other := State{Topic: "u", TopicID: [16]byte{2}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1}, ISR: Members(1)}
	if err := h.Apply([]State{state, other}).Err(); err != nil {
		t.Fatal(err)
	}
	h.append("t", 0, "x")
	if errs := h.StopReplicas([]Stopping{{ID: ID{Topic: "t"}, LeaderEpoch: 3, Delete: true}}); !errors.Is(errs[0], ErrFencedEpoch) || h.Partition("t", 0) == nil {
		t.Errorf("an old order: %v, want ErrFencedEpoch and the replica there", errs[0])
	}
	if err := h.ApplyAll([]State{other}).Err(); err != nil || h.Partition("t", 0) != nil || h.Partition("u", 0) == nil {
		t.Errorf("a full list without t-0: %v, want t-0 stopped alone", err)
	}
	state.LeaderEpoch = 5
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	if p := h.Partition("t", 0); p.LogEndOffset() != 1 || p.HighWatermark() != 1 {
		t.Errorf("assigned again it has %d records, %d committed, want the one it had", p.LogEndOffset(), p.HighWatermark())
	}
}

// TestFenceOfAFormerTopic: a promise asked of a topic that was deleted comes late, and
// must not take what another topic of its name holds.
func TestFenceOfAFormerTopic(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{2}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1}, ISR: Members(1)}
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Partition("t", 0).Append(testBatch("a"), 1, commitlog.Client); err != nil {
		t.Fatal(err)
	}
	if a := h.ask(9); !errors.Is(a.Err, ErrUnknownPartition) {
		t.Errorf("answer %+v, want ErrUnknownPartition", a)
	}
	if p := h.Partition("t", 0); p == nil || p.LogEndOffset() != 1 || p.Check(4) != nil {
		t.Error("the present topic lost its records or its leader")
	}
}

// TestEveryFenceIsAnswered: one that waits for a sync, and whose place another takes, or
// whose replica goes, is answered all the same: somebody holds a connection for it.
func TestEveryFenceIsAnswered(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	h := newHost(t, fs, "/a")
	h.set("t", func(c *TopicConfig) { c.Flush = FlushGroup })
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	fs.OnCall(func(op vfs.Op, path string) error {
		if op == vfs.OpSync && strings.HasSuffix(path, ".log") {
			<-free
		}
		return nil
	})
	if _, _, err := h.Partition("t", 0).Append(testBatch("a"), AckAll, commitlog.Client); err != nil {
		t.Fatal(err)
	}
	answers := make(chan FenceAnswer, 2)
	for epoch := range int32(2) {
		h.Fence(FenceRequest{ID: ID{Topic: "t"}, TopicID: [16]byte{1}, LeaderEpoch: 6 + epoch}, func(a FenceAnswer) { answers <- a })
	}
	if a := <-answers; a.Err == nil {
		t.Errorf("the first is answered with %+v, want an error", a)
	}
	h.Partition("t", 0).dir.fail(errors.New("the disk is gone"))
	if a := <-answers; a.Err == nil {
		t.Errorf("the second is answered with %+v, want an error", a)
	}
	close(free)
	fs.Clear()
}
