package replica

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

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

// leadTwo leads a partition of two replicas that has a record, and returns what the
// other one asks once it has that.
func (h *host) leadTwo() (*Partition, ReplicaFetch) {
	h.t.Helper()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	if err := h.Apply([]State{state}).Err(); err != nil {
		h.t.Fatal(err)
	}
	h.append("t", 0, "a")
	return h.Partition("t", 0), ReplicaFetch{Replica: 2, BrokerEpoch: -1, LeaderEpoch: 4, Offset: 1, LastEpoch: 4}
}

// TestFollowerOfALapsedLeader: a leader whose session may have ended, or was followed by
// another, counts no follower: one that lost what it had when it asked would raise the
// high watermark over what nobody else has.
func TestFollowerOfALapsedLeader(t *testing.T) {
	var epoch atomic.Int64
	var lease atomic.Bool
	epoch.Store(5)
	lease.Store(true)
	h := newHost(t, vfs.NewMem(), "/a")
	h.o.BrokerEpoch, h.o.Lease = epoch.Load, lease.Load
	h.open()
	defer h.close()
	p, fetch := h.leadTwo()
	for name, set := range map[string]func(lapsed bool){
		"the lease has run out":   func(lapsed bool) { lease.Store(!lapsed) },
		"registered another time": func(lapsed bool) { epoch.Store(map[bool]int64{true: 6, false: 5}[lapsed]) },
	} {
		set(true)
		if a := p.FetchAsReplica(&fetch); !errors.Is(a.Err, ErrNotLeader) || p.HighWatermark() != 0 {
			t.Errorf("%s: a fetch is answered %v, and the high watermark is %d; want ErrNotLeader and 0", name, a.Err, p.HighWatermark())
		}
		set(false)
	}
	if a := p.FetchAsReplica(&fetch); a.Err != nil || p.HighWatermark() != 1 {
		t.Errorf("with a lease: %v, high watermark %d, want 1", a.Err, p.HighWatermark())
	}
}

// countedSets counts the in-sync sets that leaders want written, and answers none.
type countedSets struct{ atomic.Int64 }

func (a *countedSets) Propose(Proposal, func(Outcome)) { a.Add(1) }

// TestALapsedLeaderDropsNobody: a leader whose session may have ended refuses its
// followers, so they lag; were it to take them out of the in-sync set for that, nobody
// could lead in its place once the session has ended.
func TestALapsedLeaderDropsNobody(t *testing.T) {
	var lease atomic.Bool
	var sets countedSets
	lease.Store(true)
	h := newHost(t, vfs.NewMem(), "/a")
	h.o.Lease, h.o.ISR, h.o.LagTimeMax = lease.Load, &sets, 2*time.Second
	h.open()
	defer h.close()
	p, fetch := h.leadTwo()
	pass := func(by time.Duration) {
		h.clock.Advance(by)
		p.tick()
	}
	lease.Store(false)
	for range 4 {
		if a := p.FetchAsReplica(&fetch); !errors.Is(a.Err, ErrNotLeader) {
			t.Fatalf("without a lease a fetch is answered %v, want ErrNotLeader", a.Err)
		}
		pass(2 * time.Second)
	}
	if n := sets.Load(); n != 0 {
		t.Fatalf("%d in-sync sets proposed without a lease, want none", n)
	}
	lease.Store(true)
	if a := p.FetchAsReplica(&fetch); a.Err != nil {
		t.Fatal(a.Err)
	}
	pass(2 * time.Second)
	if n := sets.Load(); n != 0 {
		t.Errorf("%d in-sync sets proposed though the follower came back with the lease, want none", n)
	}
	if _, _, err := p.Append(testBatch("b"), 1, commitlog.Client); err != nil {
		t.Fatal(err)
	}
	pass(3 * time.Second)
	if n := sets.Load(); n != 1 {
		t.Errorf("%d in-sync sets proposed with a lease and a follower that lags, want one", n)
	}
}

// TestALapsedLeaderTellsNobodyOfLoss: a consumer that has read what another leader
// appended, and asks a former one that does not know of it yet, is sent away: it would
// take what it is told for a loss and read everything again.
func TestALapsedLeaderTellsNobodyOfLoss(t *testing.T) {
	var lease atomic.Bool
	h := newHost(t, vfs.NewMem(), "/a")
	h.o.Lease = lease.Load
	h.open()
	defer h.close()
	lease.Store(true)
	h.lead("t", 1, 1)
	h.append("t", 0, "a")
	p := h.Partition("t", 0)
	read := func(offset int64) error {
		chunk, _, err := p.Read(ReadRequest{Offset: offset, MaxBytes: 1000, LeaderEpoch: AnyEpoch})
		if chunk != nil {
			chunk.Release()
		}
		return err
	}
	for _, c := range []struct {
		leased        bool
		behind, epoch error
	}{{true, commitlog.ErrOffsetOutOfRange, nil}, {false, ErrNotLeader, ErrNotLeader}} {
		lease.Store(c.leased)
		if err := read(2); !errors.Is(err, c.behind) {
			t.Errorf("lease %v: a read behind the end: %v, want %v", c.leased, err, c.behind)
		}
		if _, _, err := p.EndOffsetForEpoch(7); !errors.Is(err, c.epoch) {
			t.Errorf("lease %v: where an epoch ends that is not in the log: %v, want %v", c.leased, err, c.epoch)
		}
		if err := read(0); err != nil {
			t.Errorf("lease %v: a read of what is there: %v", c.leased, err)
		}
		if epoch, end, err := p.EndOffsetForEpoch(0); epoch != 0 || end != 1 || err != nil {
			t.Errorf("lease %v: epoch %d ends at %d, %v; want epoch 0 and 1", c.leased, epoch, end, err)
		}
	}
}
