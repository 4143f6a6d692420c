package replica

import (
	"errors"
	"sync/atomic"
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
)

// TestLeaderOfAnEarlierRegistration: a leader whose broker had to register again is not
// trusted to lead still, whoever asks, until a controller tells it anew.
func TestLeaderOfAnEarlierRegistration(t *testing.T) {
	var epoch atomic.Int64
	epoch.Store(5)
	h := newHost(t, vfs.NewMem(), "/a")
	h.o.BrokerEpoch = epoch.Load
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1}, ISR: Members(1)}
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	p := h.Partition("t", 0)
	info, _, err := p.Append(testBatch("a"), 1, commitlog.Client)
	if err != nil {
		t.Fatal(err)
	}
	epoch.Store(6)
	if _, _, err := p.Append(testBatch("b"), 1, commitlog.Client); !errors.Is(err, ErrNotLeader) {
		t.Errorf("append in the next registration: %v, want ErrNotLeader", err)
	}
	if ok, err := p.Acknowledged(&info, 1); ok || !errors.Is(err, ErrNotLeader) {
		t.Errorf("who waits is told %v, %v, want ErrNotLeader", ok, err)
	}
	if err := h.Apply([]State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Append(testBatch("b"), 1, commitlog.Client); err != nil {
		t.Errorf("append once it was told again: %v", err)
	}
}
