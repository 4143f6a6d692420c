package controller

import (
	"fmt"
	"testing"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/replication"
	"tidemark/replication/allsync"
	"tidemark/replication/async"
	"tidemark/replication/isr"
	"tidemark/replication/quorum"
)

// TestElectionsByLogEnd: async asks all live replicas, quorum a majority, and the
// longest log leads.
func TestElectionsByLogEnd(t *testing.T) {
	for name, s := range map[string]strategy{
		"async":  {async.Spec(), replication.Config{MinISR: 1}},
		"quorum": {quorum.Spec(), replication.Config{MinISR: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n, c, client := three(t)
			n.with["t"] = s
			n.create(c, "t", map[int32][]int32{0: {2, 3, 1}})
			await(t, func() (bool, string) {
				n.proposeAll(testContext(t))
				s := n.state(client, "t", 0)
				return s.Leader > 0 && len(s.ISR) == 3, fmt.Sprintf("%+v: want a leader, and everybody in sync", s)
			})
			leader := n.state(client, "t", 0).Leader
			want, other := leader%3+1, (leader+1)%3+1
			tp := TopicPartition{Topic: "t"}
			n.mu.Lock()
			n.brokers[want].ends[tp] = FenceAnswer{LastEpoch: 1, LogEndOffset: 7}
			n.brokers[other].ends[tp] = FenceAnswer{LastEpoch: 1, LogEndOffset: 5}
			n.mu.Unlock()
			n.leave(leader)
			await(t, func() (bool, string) {
				s := n.state(client, "t", 0)
				return s.Leader == want, fmt.Sprintf("%+v: want the longer log to lead", s)
			})
			if s := n.state(client, "t", 0); name == "quorum" && len(s.ISR) < 2 {
				t.Errorf("%+v: voters stay", s)
			}
			await(t, func() (bool, string) { return n.agreed(client, "t") })
		})
	}
}

// TestASlowPromiseHoldsUpNoOther: a replica whose disk does not answer keeps its own
// partition without a leader, and no other one.
func TestASlowPromiseHoldsUpNoOther(t *testing.T) {
	n, c, client := three(t)
	asked := make(chan struct{})
	for _, name := range []string{"slow", "other"} {
		n.with[name] = strategy{async.Spec(), replication.Config{MinISR: 1}}
	}
	n.brokers[3].slow = map[TopicPartition]chan struct{}{{Topic: "slow"}: asked}
	n.create(c, "slow", map[int32][]int32{0: {1, 3}})
	n.create(c, "other", map[int32][]int32{0: {2, 3}})
	await(t, func() (bool, string) { return n.agreed(client, "slow", "other") })
	n.leave(1)
	select {
	case <-asked:
	case <-testContext(t).Done():
		t.Fatal("nobody asks for a promise")
	}
	n.leave(2)
	await(t, func() (bool, string) {
		s := n.state(client, "other", 0)
		return s.Leader == 3, fmt.Sprintf("%+v: want broker 3 to lead", s)
	})
}

// TestSyncRemembersTheFullSet: below min.insync.replicas the members of before stand
// in the ELR field, and one of them leads when the last is gone uncleanly.
func TestSyncRemembersTheFullSet(t *testing.T) {
	n, c, client := three(t)
	n.with["t"] = strategy{allsync.Spec(), replication.Config{MinISR: 3}}
	n.create(c, "t", map[int32][]int32{0: {2, 3, 1}})
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2, 3))
	n.leave(3)
	await(t, isLedBy(n, client, "t", 0, 2, 1, 2))
	if s := n.state(client, "t", 0); !replication.Contains(s.ELR, 3) {
		t.Errorf("%+v: want broker 3 to be eligible", s)
	}
}

// TestMinISRClearsEligibleLeadersFirst: no broker hears of a lower
// min.insync.replicas while the store has eligible leaders, whoever is asked.
func TestMinISRClearsEligibleLeadersFirst(t *testing.T) {
	n, c, client := three(t)
	ctx := testContext(t)
	n.with["t"] = strategy{isr.Spec(), replication.Config{MinISR: 3, ELR: true}}
	second := n.control(2, connectFor(t, n.addr, 5*time.Second))
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	for i, alter := range []*Controller{c, second} {
		n.leave(3)
		await(t, func() (bool, string) {
			s := n.state(client, "t", 0)
			return replication.Contains(s.ELR, 3), fmt.Sprintf("%+v: want broker 3 to be eligible", s)
		})
		heard := second.o.Sink.(*sink)
		heard.mu.Lock()
		heard.onConfig = func(name string, config map[string]string) {
			if s := n.state(client, "t", 0); name == "topics/t" && config[minISR] != "" && len(s.ELR) > 0 {
				t.Errorf("a broker heard of %v while the store has %+v", config, s)
			}
		}
		heard.mu.Unlock()
		err := alter.AlterConfig(ctx, znode.Topics, "t", func(config map[string]string) error {
			config[minISR] = fmt.Sprint(2 - i)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := n.state(client, "t", 0); len(s.ELR) > 0 {
			t.Errorf("%+v: want no eligible leaders", s)
		}
		if config, err := client.TopicConfig(ctx, "t"); err != nil || config[minISR] != fmt.Sprint(2-i) {
			t.Errorf("config %v, error %v", config, err)
		}
		n.join(3)
		n.proposeAll(ctx)
		await(t, func() (bool, string) {
			n.proposeAll(ctx)
			return len(n.state(client, "t", 0).ISR) == 3, "broker 3 is not back"
		})
	}
}

// TestELRIsSwitchedOff at run time: the sets go with the next look.
func TestELRIsSwitchedOff(t *testing.T) {
	n, c, client := three(t)
	n.with["t"] = strategy{isr.Spec(), replication.Config{MinISR: 3, ELR: true}}
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	n.leave(3)
	await(t, func() (bool, string) { return len(n.state(client, "t", 0).ELR) == 1, "no eligible leader" })
	n.mu.Lock()
	n.with["t"] = strategy{isr.Spec(), replication.Config{MinISR: 3}}
	n.mu.Unlock()
	c.post(func() { c.reconfigured([]znode.Change{{Entity: znode.Brokers, Name: znode.DefaultEntity}}) })
	await(t, func() (bool, string) { return len(n.state(client, "t", 0).ELR) == 0, "eligible leaders stay" })
}
