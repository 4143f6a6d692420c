package replica

import (
	"errors"
	"testing"
	"time"
)

// TestLeave: a leader that leaves takes nothing more, and tells that its followers lack
// something until they have fetched it.
func TestLeave(t *testing.T) {
	for _, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			c := newThree(t, strategy, func(c *three) { c.lag = time.Hour })
			lead := c.led()
			leader, _ := lead.Leader()
			c.mustProduce(AckAll, "all have it")
			m := c.nodes[leader].Manager
			c.await("followers that have everything", func() bool { return m.Unfetched() == 0 })
			c.mu.Lock()
			for id := range c.cut {
				c.cut[id][leader] = true
			}
			c.mu.Unlock()
			if _, err := produce(lead, 1, "the leader alone has it", time.Minute); err != nil {
				t.Fatal(err)
			}
			m.Leave()
			for _, acks := range []int16{0, 1, AckAll} {
				if _, err := produce(lead, acks, "too late", time.Minute); !errors.Is(err, ErrNotLeader) {
					t.Errorf("acks=%d: got %v, want ErrNotLeader", acks, err)
				}
			}
			if n := m.Unfetched(); n != 1 {
				t.Errorf("%d partitions are not fetched, want 1", n)
			}
			c.mu.Lock()
			c.cut = [4][4]bool{}
			c.mu.Unlock()
			c.await("followers that have everything", func() bool { return m.Unfetched() == 0 })
			c.alike()
		})
	}
}
