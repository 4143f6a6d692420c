package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/clock"
	"tidemark/protocol/record"
)

// plain is a codec for tests: the record's type is the key, its fields are the value.
type plain struct{}

func (plain) Encode(r Record) (key, value []byte) {
	value, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "%T", r), value
}

func (plain) Decode(key, value []byte) (Record, bool, error) {
	for _, r := range []Record{&GroupRecord{}, &OffsetRecord{}} {
		if fmt.Sprintf("%T", r) == string(key) {
			return r, true, json.Unmarshal(value, r)
		}
	}
	return nil, false, nil
}

// memoryLog is a partition in memory; while stalled nothing is committed.
type memoryLog struct {
	mu      sync.Mutex
	batches []record.Batch
	end, hw int64
	stalled bool
	moved   func()
}

func (l *memoryLog) LogStartOffset() int64 { return 0 }
func (l *memoryLog) LogEndOffset() int64   { l.mu.Lock(); defer l.mu.Unlock(); return l.end }
func (l *memoryLog) HighWatermark() int64  { l.mu.Lock(); defer l.mu.Unlock(); return l.hw }

func (l *memoryLog) Read(dst []byte, offset int64, _ int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.batches {
		if b.BaseOffset() >= offset {
			dst = append(dst, b...)
		}
	}
	return dst, nil
}

func (l *memoryLog) Append(_ int32, b record.Batch) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b = slices.Clone(b)
	b.SetBaseOffset(l.end)
	l.batches, l.end = append(l.batches, b), b.NextOffset()
	if !l.stalled {
		l.hw = l.end
	}
	return l.end, nil
}

func (l *memoryLog) AppendMarker(leaderEpoch int32, m record.EndTxnMarker, _ bool) (int64, error) {
	return l.Append(leaderEpoch, m.Batch())
}

func (l *memoryLog) Watch(moved func()) (stop func()) { l.moved = moved; return func() {} }

// stall holds commits back, or lets them go.
func (l *memoryLog) stall(on bool) {
	l.mu.Lock()
	if l.stalled = on; !on {
		l.hw = l.end
	}
	l.mu.Unlock()
	l.moved()
}

// hosted is a machine in a real shard with a clock by hand.
type hosted struct {
	*testing.T
	host  *shard.Host[*Groups, Record]
	clock *clock.Manual
	log   *memoryLog
}

func newHosted(t *testing.T) *hosted {
	h := &hosted{T: t, clock: clock.NewManual(time.UnixMilli(0)), log: &memoryLog{}}
	h.host = shard.New(shard.Options[*Groups, Record]{
		Clock: h.clock, New: func(int32) *Groups { return New(quick()) }, Codec: plain{},
		CommitTimeout: time.Minute, MaxQueued: 10, LoadBytes: 1 << 20, Failed: func(_ int32, err error) { t.Error(err) },
	})
	t.Cleanup(h.host.Close)
	h.host.Elected(0, 1, h.log)
	return h
}

// send submits an operation; when it returns, the shard has run it. While the shard
// loads it tries again.
func (h *hosted) send(op func(*Groups, time.Time, shard.Token, *Outcome)) <-chan shard.Reply {
	for {
		ran, replies := make(chan struct{}), make(chan shard.Reply, 1)
		h.host.Submit(0, func(g *Groups, now time.Time, token shard.Token, out *Outcome) {
			op(g, now, token, out)
			close(ran)
		}, func(r shard.Reply) { replies <- r })
		select {
		case <-ran:
			return replies
		case r := <-replies:
			if r.Err != shard.ErrLoadInProgress {
				replies <- r
				return replies
			}
		}
	}
}

// TestASlowCommitCostsNobodyASession: the leader's sync is appended and not committed
// for two sessions; both members are there when it is, and for a session more.
func TestASlowCommitCostsNobodyASession(t *testing.T) {
	h := newHosted(t)
	second := joinRequest("g", "")
	second.FreshID = "2"
	first := joinRequest("g", "")
	<-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, first, k, out) })
	waits := h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, second, k, out) })
	again := joinRequest("g", "c-1")
	<-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, again, k, out) })
	<-waits
	sync := func(member string) <-chan shard.Reply {
		r := &SyncRequest{Group: "g", Member: member, Generation: 2}
		return h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, r, k, out) })
	}
	beat := func(member string) shard.Reply {
		r := &HeartbeatRequest{Group: "g", Member: member, Generation: 2}
		return <-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Heartbeat(now, r, k, out) })
	}
	follower := sync("c-2")
	h.log.stall(true)
	leader := sync("c-1")
	h.clock.Advance(20 * time.Second)
	select {
	case r := <-leader:
		t.Fatalf("the leader was answered before the commit: %+v", r)
	default:
	}
	h.log.stall(false)
	for _, c := range []<-chan shard.Reply{leader, follower} {
		if r := <-c; r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	h.clock.Advance(9 * time.Second)
	for _, member := range []string{"c-1", "c-2"} {
		if r := beat(member); r.Err != nil {
			t.Errorf("%s: got %v, want it to be a member", member, r.Err)
		}
	}
	h.clock.Advance(11 * time.Second)
	if r := beat("c-1"); r.Err != ErrUnknownMember {
		t.Errorf("after a session of silence: got %v, want %v", r.Err, ErrUnknownMember)
	}
}

// TestAGroupSurvivesItsCoordinator by way of bytes in a log.
func TestAGroupSurvivesItsCoordinator(t *testing.T) {
	h := newHosted(t)
	join := joinRequest("g", "")
	<-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, join, k, out) })
	sync := &SyncRequest{Group: "g", Member: "c-1", Generation: 1, Assignments: []Assignment{{"c-1", []byte("all")}}}
	<-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, sync, k, out) })
	h.host.Resigned(0, 2)
	h.host.Elected(0, 3, h.log)
	r := <-h.send(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, sync, k, out) })
	if b, ok := r.Body.(*SyncReply); !ok || string(b.Assignment) != "all" {
		t.Errorf("got %+v, %v; want the assignment", r.Body, r.Err)
	}
}
