package replica

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

var strategies = []string{"async", "sync", "isr", "quorum"}

// TestThreeReplicas: what is acknowledged with acks=all is on the replicas, the high
// watermark follows, and the logs are the same, under every strategy and policy.
func TestThreeReplicas(t *testing.T) {
	for _, strategy := range strategies {
		for name, flush := range map[string]FlushPolicy{"os": FlushOS, "batch": FlushBatch, "group": FlushGroup} {
			t.Run(strategy+"/"+name, func(t *testing.T) {
				c := newThree(t, strategy, func(c *three) { c.cfg.Flush = flush })
				for i := range 20 {
					at := c.mustProduce(AckAll, fmt.Sprint(i))
					holders := 0
					for id := int32(1); id <= 3; id++ {
						if p := c.on(id); p != nil && p.LogEndOffset() > at && (flush == FlushOS || p.log.RecoveryPoint() > at) {
							holders++
						}
					}
					if least := map[string]int{"async": 1, "sync": 3, "isr": 2, "quorum": 2}[strategy]; holders < least {
						t.Fatalf("record %d is acknowledged and %d replicas hold it, want %d", i, holders, least)
					}
				}
				c.alike()
				if strategy == "quorum" {
					if end := c.led().LogEndOffset(); end != 21 {
						t.Errorf("the log ends at %d, want 20 records and the leader's control batch", end)
					}
				}
			})
		}
	}
}

// TestISRShrinksAndGrows: who lags leaves the set, the set counts without it, and
// below min.insync.replicas nothing is admitted; who caught up comes back.
func TestISRShrinksAndGrows(t *testing.T) {
	c := newThree(t, "isr", func(c *three) { c.lag = 2 * time.Second })
	lead := c.led()
	leader, _ := lead.Leader()
	c.await("a full set", func() bool { return len(lead.Status().ISR) == 3 })
	one, other := leader%3+1, (leader+1)%3+1
	c.mu.Lock()
	c.cut[one][leader] = true
	c.mu.Unlock()
	c.mustProduce(AckAll, "while one is away")
	if isr := lead.Status().ISR; len(isr) != 2 || replication.Contains(isr, one) {
		t.Fatalf("acknowledged with the ISR %v, want it without broker %d", isr, one)
	}
	c.mu.Lock()
	c.cut[other][leader] = true
	c.mu.Unlock()
	if _, err := produce(lead, AckAll, "while both are", time.Minute); !errors.Is(err, ErrNotEnoughReplicasAfterAppend) {
		t.Fatalf("got %v, want ErrNotEnoughReplicasAfterAppend", err)
	}
	if _, err := produce(lead, AckAll, "refused", time.Minute); !errors.Is(err, ErrNotEnoughReplicas) {
		t.Fatalf("got %v, want ErrNotEnoughReplicas", err)
	}
	if _, err := produce(lead, 1, "acks=1 goes on", time.Minute); err != nil {
		t.Fatal(err)
	}
	if hw, end := lead.HighWatermark(), lead.LogEndOffset(); hw != 1 || end != 3 {
		t.Errorf("high watermark %d of %d, want it to stand at 1 below min.insync.replicas", hw, end)
	}
	c.mu.Lock()
	c.cut = [4][4]bool{}
	c.mu.Unlock()
	c.alike()
	c.await("a full set", func() bool { return len(lead.Status().ISR) == 3 })
	if n := c.nodes[leader].Counters(); n.ISRShrinks < 2 || n.ISRExpands < 2 {
		t.Errorf("counted %+v, want two of each at least", n)
	}
}

// TestFailoverTruncates: what only the former leader had is gone from it when it
// comes back, and whoever waited for it was not told that it is written.
func TestFailoverTruncates(t *testing.T) {
	for _, strategy := range []string{"isr", "quorum"} {
		t.Run(strategy, func(t *testing.T) {
			c := newThree(t, strategy, nil)
			c.mustProduce(AckAll, "kept")
			c.alike()
			former := c.led()
			id, _ := former.Leader()
			c.mu.Lock()
			c.cut[id%3+1][id], c.cut[(id+1)%3+1][id] = true, true
			c.mu.Unlock()
			infos := make([]commitlog.AppendInfo, 3)
			for i := range infos {
				var err error
				if infos[i], _, err = former.Append(testBatch("lost", fmt.Sprint(i)), AckAll, commitlog.Client); err != nil {
					t.Fatal(err)
				}
			}
			c.expire(id)
			c.await("another leader", func() bool { p := c.leader(); return p != nil && p != former && p.Check(AnyEpoch) == nil })
			c.mustProduce(AckAll, "of the new leader")
			if done, err := former.Acknowledged(&infos[0], AckAll); done || err != nil {
				t.Errorf("the zombie says %v, %v to who waits, want nothing", done, err)
			}
			c.mu.Lock()
			c.nodes[id].leased = false
			c.cut = [4][4]bool{}
			c.mu.Unlock()
			if _, err := produce(former, 1, "zombie", time.Second); !errors.Is(err, ErrNotLeader) {
				t.Errorf("a leader without a session: %v, want ErrNotLeader", err)
			}
			c.reappear(id)
			c.alike()
			for i := range infos {
				if done, err := former.Acknowledged(&infos[i], AckAll); done || !errors.Is(err, ErrNotLeader) {
					t.Errorf("waiter %d is told %v, %v, want ErrNotLeader", i, done, err)
				}
			}
			c.mustProduce(AckAll, "at last")
			c.alike()
		})
	}
}

// TestWaiterOfAnEarlierTerm: a leader that was replaced, and leads again, does not
// take another record at the offset for the one that somebody waits for.
func TestWaiterOfAnEarlierTerm(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 1, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	apply := func(leader int32, isr ...int32) {
		t.Helper()
		state.Leader, state.ISR = leader, Members(isr...)
		state.LeaderEpoch++
		if err := h.Apply([]State{state}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	apply(1, 1, 2)
	p := h.Partition("t", 0)
	info, _, err := p.Append(testBatch("first"), AckAll, commitlog.Client)
	if err != nil {
		t.Fatal(err)
	}
	apply(2, 1, 2)
	apply(1, 1)
	if p.HighWatermark() != 1 {
		t.Fatalf("high watermark %d, want 1", p.HighWatermark())
	}
	if done, err := p.Acknowledged(&info, AckAll); done || !errors.Is(err, ErrNotLeader) {
		t.Errorf("told %v, %v, want ErrNotLeader", done, err)
	}
	next, _, err := p.Append(testBatch("second"), AckAll, commitlog.Client)
	if err != nil {
		t.Fatal(err)
	}
	apply(1, 1) // Leads on in a later epoch: who waits waits on.
	if done, err := p.Acknowledged(&next, AckAll); !done || err != nil {
		t.Errorf("told %v, %v, want that it is written", done, err)
	}
}
