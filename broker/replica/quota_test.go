package replica

import (
	"testing"
	"time"

	"tidemark/internal/vfs"
)

// TestLeaderThrottle: a throttled leader holds back followers that are not in sync once
// the rate is reached, until what was sent is paid for.
func TestLeaderThrottle(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	rates := Rates{Leader: 1000}
	h.o.ThrottleRates = func() Rates { return rates }
	h.set("t", func(c *TopicConfig) {
		c.LeaderThrottled = func(partition, broker int32) bool { return partition == 0 && broker == 1 }
	})
	h.open()
	defer h.close()
	var states []State
	for i := range int32(2) {
		states = append(states, State{Topic: "t", TopicID: [16]byte{1}, Index: i, Leader: 1, LeaderEpoch: 1, Replicas: []int32{1, 2, 3}, ISR: Members(1, 3)})
	}
	if err := h.Apply(states).Err(); err != nil {
		t.Fatal(err)
	}
	throttled, free := h.Partition("t", 0), h.Partition("t", 1)
	throttled.NoteSent(3, 0, 5000)
	free.NoteSent(2, 0, 5000)
	if throttled.HoldsBack(2) {
		t.Error("what a replica in sync and another partition were sent counts")
	}
	throttled.NoteSent(2, 0, 2000)
	if !throttled.HoldsBack(2) || throttled.HoldsBack(3) || free.HoldsBack(2) {
		t.Error("want the lagging replica of the throttled partition held back, and nobody else")
	}
	h.clock.Advance(1900 * time.Millisecond)
	if !throttled.HoldsBack(2) {
		t.Error("2000 bytes are paid for in less than two seconds at 1000 a second")
	}
	h.clock.Advance(200 * time.Millisecond)
	if throttled.HoldsBack(2) {
		t.Error("2000 bytes are not paid for after two seconds")
	}
	rates.Leader = 0
	throttled.NoteSent(2, 0, 1)
	h.clock.Advance(59 * time.Second)
	if !throttled.HoldsBack(2) {
		t.Error("a rate of nothing lets something through within the minute")
	}
}
