package group

import (
	"strconv"
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// beating is a machine with n groups of ten members, and their heartbeats.
func beating(tb testing.TB, n int) (*Groups, []HeartbeatRequest) {
	g := New(quick())
	var beats []HeartbeatRequest
	for i := range n {
		r := &GroupRecord{Group: "group-" + strconv.Itoa(i), ProtocolType: "consumer", Protocol: "range", Leader: "m-0", Generation: 1}
		for k := range 10 {
			id := "m-" + strconv.Itoa(k)
			r.Members = append(r.Members, MemberRecord{Member: id, SessionTimeoutMs: 10000})
			beats = append(beats, HeartbeatRequest{Group: r.Group, Generation: 1, Member: id})
		}
		g.Replay(shard.Origin{}, r)
	}
	var out Outcome
	g.Heartbeat(time.UnixMilli(0), &beats[0], 1, &out)
	if out.Replies[0].Err != nil {
		tb.Fatal(out.Replies[0].Err)
	}
	return g, beats
}

func TestHeartbeatsDoNotAllocate(t *testing.T) {
	g, beats := beating(t, 1)
	now := time.UnixMilli(0)
	var out Outcome
	if allocs := testing.AllocsPerRun(100, func() {
		for i := range beats {
			out.Reset()
			g.Heartbeat(now, &beats[i], 1, &out)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations for ten heartbeats, want 0", allocs)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	g, beats := beating(b, 1000)
	now := time.UnixMilli(0)
	var out Outcome
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		out.Reset()
		g.Heartbeat(now, &beats[i%len(beats)], 1, &out)
		i++
	}
}
