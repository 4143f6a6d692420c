package replica

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/broker/peer"
	"tidemark/broker/purgatory"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// leaders answers fetches as a test wants.
type leaders struct {
	answer func(leader int32, r *peer.FetchRequest) []peer.FetchedPartition

	mu    sync.Mutex
	asked []string // leader:partition, in order
}

func (l *leaders) Fetch(ctx context.Context, leader int32, _ int, r peer.FetchRequest, took func(*peer.FetchedPartition)) error {
	l.mu.Lock()
	for _, q := range r.Partitions {
		l.asked = append(l.asked, fmt.Sprintf("%d:%d", leader, q.Index))
	}
	l.mu.Unlock()
	parts := l.answer(leader, &r)
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
	for i := range parts {
		took(&parts[i])
	}
	return nil
}

// nothing answers every partition without records.
func nothing(r *peer.FetchRequest) (parts []peer.FetchedPartition) {
	for _, q := range r.Partitions {
		parts = append(parts, peer.FetchedPartition{TopicID: q.TopicID, Index: q.Index, DivergingEpoch: replication.NoEpoch, DivergingEnd: replication.NoOffset})
	}
	return parts
}

// ledBy is a batch as the leader of epoch 1 has it at that offset.
func ledBy(offset int64) []byte {
	b := testBatch(fmt.Sprint(offset))
	b.SetBaseOffset(offset)
	b.SetLeaderEpoch(1)
	return b
}

// followerHost is a manager that follows broker 2 in partitions of t.
func followerHost(t *testing.T, fs vfs.FS, l Leaders, partitions int32, change func(*host)) *host {
	h := newHost(t, fs, "/a")
	h.o.Clock, h.o.Leaders = clock.Real{}, l
	h.o.Fetch = FetchOptions{WaitMax: 10 * time.Millisecond, Backoff: 10 * time.Millisecond}
	if change != nil {
		change(h)
	}
	h.open()
	t.Cleanup(h.close)
	for i := range partitions {
		h.follow(i, 2, 1)
	}
	return h
}

func (h *host) follow(index, leader, epoch int32) {
	h.t.Helper()
	s := State{Topic: "t", TopicID: [16]byte{1}, Index: index, Leader: leader, LeaderEpoch: epoch, Replicas: []int32{1, 2, 3}, ISR: Members(1, 2, 3)}
	if err := h.Apply([]State{s}).Err(); err != nil {
		h.t.Fatal(err)
	}
}

// eventually polls for so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// TestFetchersTakeTurns: where a response has room for one partition only, every
// partition gets its turn.
func TestFetchersTakeTurns(t *testing.T) {
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		parts[0].Records = ledBy(r.Partitions[0].FetchOffset)
		return parts
	}}
	h := followerHost(t, vfs.NewMem(), l, 10, nil)
	eventually(t, "five records in each of ten partitions", func() bool {
		for i := range int32(10) {
			if h.Partition("t", i).LogEndOffset() < 5 {
				return false
			}
		}
		return true
	})
	least, most := int64(1<<62), int64(0)
	for i := range int32(10) {
		end := h.Partition("t", i).LogEndOffset()
		least, most = min(least, end), max(most, end)
	}
	if most > least+3 {
		t.Errorf("partitions have %d to %d records, want them to take turns", least, most)
	}
}

// TestFetcherMoves: once another leader is named, the former is asked no more.
func TestFetcherMoves(t *testing.T) {
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition { return nothing(r) }}
	h := followerHost(t, vfs.NewMem(), l, 2, nil)
	asked := func(what string) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, a := range l.asked {
			if a == what {
				return true
			}
		}
		return false
	}
	eventually(t, "a question to broker 2", func() bool { return asked("2:0") && asked("2:1") })
	h.follow(0, 3, 2)
	eventually(t, "a question to broker 3", func() bool { return asked("3:0") })
	l.mu.Lock()
	l.asked = nil
	l.mu.Unlock()
	eventually(t, "more questions", func() bool { return asked("3:0") && asked("2:1") })
	if asked("2:0") {
		t.Error("the former leader is still asked")
	}
}

// TestCorruptBatchIsFetchedAgain: what does not match its checksum is not appended, and
// what comes next is.
func TestCorruptBatchIsFetchedAgain(t *testing.T) {
	answers := 0
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		if r.Partitions[0].FetchOffset > 0 {
			return parts
		}
		parts[0].Records = ledBy(0)
		if answers++; answers < 4 {
			parts[0].Records[len(parts[0].Records)-1]++
		}
		return parts
	}}
	h := followerHost(t, vfs.NewMem(), l, 1, nil)
	p := h.Partition("t", 0)
	eventually(t, "the batch", func() bool { return p.LogEndOffset() == 1 })
	if err := p.log.Err(); err != nil {
		t.Errorf("the log failed by what it was sent: %v", err)
	}
}

// TestUnsyncedTailBlocksNobody: a partition whose tail is being synced is left out of
// the fetches, and the others go on.
func TestUnsyncedTailBlocksNobody(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	proceed := make(chan struct{})
	fs.OnCall(func(op vfs.Op, path string) error {
		if op == vfs.OpSync && strings.Contains(path, "/t-0/") && strings.HasSuffix(path, ".log") {
			<-proceed
		}
		return nil
	})
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		for i, q := range r.Partitions {
			if q.FetchOffset < 20 {
				parts[i].Records = ledBy(q.FetchOffset)
			}
		}
		return parts
	}}
	h := followerHost(t, fs, l, 3, func(h *host) { h.set("t", func(c *TopicConfig) { c.Flush = FlushGroup }) })
	eventually(t, "the other partitions", func() bool {
		return h.Partition("t", 1).LogEndOffset() == 20 && h.Partition("t", 2).LogEndOffset() == 20
	})
	if end := h.Partition("t", 0).LogEndOffset(); end != 1 {
		t.Errorf("the partition that waits has %d records, want the one that is not synced", end)
	}
	close(proceed)
	eventually(t, "the partition that waited", func() bool { return h.Partition("t", 0).LogEndOffset() == 20 })
}

// TestFollowerThrottle: a throttled follower fetches no faster than the rate; others do.
func TestFollowerThrottle(t *testing.T) {
	size := int64(len(ledBy(0)))
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		for i, q := range r.Partitions {
			parts[i].Records = ledBy(q.FetchOffset)
		}
		return parts
	}}
	started := time.Now()
	h := followerHost(t, vfs.NewMem(), l, 2, func(h *host) {
		h.o.ThrottleRates = func() Rates { return Rates{Follower: size} } // A record a second.
		h.set("t", func(c *TopicConfig) { c.FollowerThrottled = func(partition, _ int32) bool { return partition == 0 } })
	})
	eventually(t, "a hundred records", func() bool { return h.Partition("t", 1).LogEndOffset() > 100 })
	if end, most := h.Partition("t", 0).LogEndOffset(), int64(time.Since(started)/time.Second)+2; end > most {
		t.Errorf("the throttled follower has %d records, want %d at most", end, most)
	}
}

// TestDivergingFollower: an answer that says where the logs part cuts the log, and the
// checkpoints that say more are lowered at once.
func TestDivergingFollower(t *testing.T) {
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		q, a := &r.Partitions[0], &parts[0]
		switch {
		case q.LeaderEpoch == 1 && q.FetchOffset < 5:
			a.Records, a.HighWatermark = ledBy(q.FetchOffset), q.FetchOffset+1
		case q.LeaderEpoch == 2 && q.FetchOffset > 2:
			a.DivergingEpoch, a.DivergingEnd = 1, 2
		case q.LeaderEpoch == 2:
			a.ErrorCode = wire.NotLeaderOrFollower
		}
		return parts
	}}
	h := followerHost(t, vfs.NewMem(), l, 1, nil)
	p := h.Partition("t", 0)
	eventually(t, "five records", func() bool { return p.HighWatermark() == 5 })
	if err := p.log.Flush(); err != nil {
		t.Fatal(err)
	}
	p.dir.checkpointAll()
	h.follow(0, 2, 2)
	eventually(t, "the truncation", func() bool { return p.LogEndOffset() == 2 && p.Status().LogEndOffset == 2 })
	if p.HighWatermark() != 2 {
		t.Errorf("high watermark %d, want it cut with the log", p.HighWatermark())
	}
	for name, offset := range p.dir.onDisk {
		if offset[p.ID()] > 2 {
			t.Errorf("%s says %d of a log that ends at 2", name, offset[p.ID()])
		}
	}
}

// TestFollowingAllocatesNothing: what a follower does for every answer costs no memory
// but in the log.
func TestFollowingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	block := make(chan struct{})
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition { <-block; return nothing(r) }}
	h := followerHost(t, vfs.OS{}, l, 1, func(h *host) { h.o.Dirs = []string{t.TempDir()} })
	defer close(block)
	p := h.Partition("t", 0)
	q := peer.FetchPartition{TopicID: [16]byte{1}, LeaderEpoch: 1}
	a := nothing(&peer.FetchRequest{Partitions: []peer.FetchPartition{q}})[0]
	batch := ledBy(0)
	one := func() {
		q.FetchOffset = p.LogEndOffset()
		record.Batch(batch).SetBaseOffset(q.FetchOffset)
		a.Records, a.HighWatermark = batch, q.FetchOffset
		if failure := p.fetched(p.following.generation, trace.ID{}, &q, &a); failure != "" {
			t.Fatal(failure)
		}
	}
	for range 100 {
		one()
	}
	if n := testing.AllocsPerRun(1000, one); n > 0 {
		t.Errorf("%v allocations for an answer with a batch, want 0", n)
	}
}

// TestTruncationByHighWatermark: with replica.truncation=hw a follower of a new epoch
// drops what it does not know committed, and asks without comparing epochs.
func TestTruncationByHighWatermark(t *testing.T) {
	var compared atomic.Bool
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		q, a := &r.Partitions[0], &parts[0]
		compared.Store(compared.Load() || q.LastFetchedEpoch != replication.NoEpoch)
		if q.LeaderEpoch == 1 && q.FetchOffset < 5 {
			a.Records, a.HighWatermark = ledBy(q.FetchOffset), 3
		}
		return parts
	}}
	h := followerHost(t, vfs.NewMem(), l, 1, func(h *host) { h.o.Truncation = replication.ByHighWatermark })
	p := h.Partition("t", 0)
	eventually(t, "five records", func() bool { return p.LogEndOffset() == 5 })
	p.NoteAcknowledged(4)
	h.follow(0, 3, 2)
	if end := p.LogEndOffset(); end != 3 || p.HighWatermark() != 3 {
		t.Errorf("the log ends at %d with high watermark %d, want it cut to 3", end, p.HighWatermark())
	}
	if p.DurabilityDebt() > 3 {
		t.Errorf("%d records are owed of a log of 3", p.DurabilityDebt())
	}
	if compared.Load() {
		t.Error("a leader was told an epoch to compare")
	}
}

// TestFollowerWakes: who waits at a follower looks again when its high watermark moves.
func TestFollowerWakes(t *testing.T) {
	l := &leaders{answer: func(_ int32, r *peer.FetchRequest) []peer.FetchedPartition {
		parts := nothing(r)
		if q := &r.Partitions[0]; q.FetchOffset < 3 {
			parts[0].Records = ledBy(q.FetchOffset)
		} else {
			parts[0].HighWatermark = 3
		}
		return parts
	}}
	h := followerHost(t, vfs.NewMem(), l, 1, nil)
	watches := purgatory.New(clock.Real{})
	defer watches.Close()
	p := h.Partition("t", 0)
	moved := make(chan int64, 100)
	stop := p.ForCoordinator(watches).Watch(func() { moved <- p.HighWatermark() })
	defer stop()
	for hw := int64(0); hw < 3; {
		select {
		case hw = <-moved:
		case <-time.After(2 * time.Minute):
			t.Fatalf("nobody was told of a high watermark that is %d", p.HighWatermark())
		}
	}
	r := ReadRequest{Offset: 0, MaxBytes: 1 << 20, LeaderEpoch: 1, AnyReplica: true, WholeBatch: true}
	chunk, offsets, err := p.Read(r)
	if err != nil || chunk == nil || offsets.HighWatermark != 3 {
		t.Fatalf("a consumer of the follower reads %v, %+v, %v", chunk, offsets, err)
	}
	chunk.Release()
	if r.AnyReplica = false; !p.MustTell(r) {
		t.Error("a consumer that wants the leader is not refused")
	}
}
