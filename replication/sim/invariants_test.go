package sim

import (
	"context"
	"testing"

	"tidemark/replication"
)

// still is a machine that does nothing: the checker alone is on trial.
type still struct{ maximal []replication.Member }

func (s *still) Step(_ replication.Event, out []replication.Effect) []replication.Effect { return out }
func (s *still) Status() replication.Status {
	return replication.Status{Role: replication.Leader, Maximal: s.maximal}
}

// tampered is a cluster at rest: three replicas with the same two committed
// entries, broker of the first replica leads epoch 1. What the test does to it is
// the violation.
func tampered(t *testing.T, strategy string) *world {
	t.Helper()
	w := newWorld(1, Scenario{Spec: find(t, strategy), Acks: "all", MinISR: 2, Flush: "os", ELR: "off"})
	var members []replication.Member
	for _, id := range w.replicas {
		members = append(members, replication.Member{Broker: id, BrokerEpoch: 7, Dir: dirID(int64(id))})
	}
	w.zk.state = &partitionState{leader: w.replicas[0], leaderEpoch: 1, controllerEpoch: 1, isr: members, lastLeader: replication.NoBroker, version: 1}
	w.zk.controllerEpoch = 1
	leader := w.brokers[endOf(w.replicas[0])]
	for _, b := range w.brokers {
		b.machine, b.brokerEpoch, b.registered, b.epoch, b.role = &still{maximal: members}, 7, true, 1, replication.Follower
	}
	leader.role = replication.Leader
	w.ghost.newValue(-1)
	for range 2 {
		id := w.ghost.append(leader, entry{epoch: 1}, 1, 1)
		for _, m := range w.replicas {
			b := w.brokers[endOf(m)]
			b.log.append(entry{epoch: 1, id: id})
			w.onAppended(b, b.log.end()-1)
		}
	}
	for _, m := range w.replicas {
		w.brokers[endOf(m)].hw = 2
		w.onHighWatermark(w.brokers[endOf(m)], 0)
	}
	w.check()
	if w.violation != nil || len(w.ghost.committed) != 2 {
		t.Fatalf("a cluster at rest: violation %v, %d committed", w.violation, len(w.ghost.committed))
	}
	return w
}

// ackSecond acknowledges the entry at offset 1.
func ackSecond(w *world) waiter {
	l := w.brokers[endOf(w.replicas[0])]
	return waiter{client: firstClient, value: 1, entry: l.log.entries[1].id, offset: 1, epoch: 1, acks: -1}
}

// TestEveryInvariantCanFire does to a cluster at rest what each invariant is
// there to see.
func TestEveryInvariantCanFire(t *testing.T) {
	rewrite := func(w *world, b *broker, offset int64, epoch int32) {
		b.log.truncate(offset)
		b.log.append(entry{epoch: epoch, id: 99})
	}
	for name, c := range map[string]struct {
		invariant, strategy string
		do                  func(w *world, leader, follower *broker)
	}{
		"high watermark over the log end": {"I1", "isr", func(w *world, _, f *broker) { f.hw = 3; w.touched = all }},
		"synced over the log end":         {"I1", "isr", func(w *world, _, f *broker) { f.log.synced = 3; w.touched = all }},
		"epochs fall": {"I1", "isr", func(w *world, _, f *broker) {
			f.log.append(entry{epoch: 0, id: 99})
			w.onAppended(f, 2)
		}},
		"same epoch, other bytes": {"I2", "isr", func(w *world, _, f *broker) {
			rewrite(w, f, 1, 1)
			w.onAppended(f, 1)
		}},
		"same entry on another past": {"I2", "isr", func(w *world, l, f *broker) {
			rewrite(w, f, 1, 1)
			l.log.append(entry{epoch: 1, id: 50})
			w.onAppended(l, 2)
			f.log.append(entry{epoch: 1, id: 50})
			w.onAppended(f, 2)
		}},
		"a follower's committed prefix": {"I3", "isr", func(w *world, _, f *broker) { rewrite(w, f, 1, 0); w.touched = all }},
		"committed anew": {"I4", "isr", func(w *world, l, _ *broker) {
			rewrite(w, l, 1, 1)
			w.onHighWatermark(l, 1)
		}},
		"a leader without what was committed": {"I5", "isr", func(w *world, _, f *broker) {
			f.log.truncate(1)
			w.onOffice(f, w.zk.state)
		}},
		"a member of the ISR without it": {"I6", "isr", func(w *world, _, f *broker) {
			f.log.truncate(1)
			f.hw = 1
			w.touched = all
		}},
		"ZooKeeper's ISR does not count": {"I7", "isr", func(w *world, l, _ *broker) {
			l.machine.(*still).maximal = w.zk.state.isr[:1]
			l.log.append(entry{epoch: 1, id: 50})
			l.hw = 3
			w.onHighWatermark(l, 2)
		}},
		"two writers of an epoch": {"I8", "isr", func(w *world, _, f *broker) { w.ghost.append(f, entry{epoch: 1}, 1, 1) }},
		"the leader epoch falls": {"I8", "isr", func(w *world, _, _ *broker) {
			next := *w.zk.state
			next.leaderEpoch = 0
			w.onStateWritten(w.zk.state, &next)
		}},
		"the controller epoch falls": {"I8", "isr", func(w *world, _, _ *broker) {
			next := *w.zk.state
			next.controllerEpoch = 0
			w.onStateWritten(w.zk.state, &next)
		}},
		"a deposed leader acknowledges": {"I9", "isr", func(w *world, l, f *broker) {
			next := *w.zk.state
			next.leader, next.leaderEpoch = f.id, 2
			w.zk.state = &next
			f.role, f.epoch = replication.Leader, 2
			to := ackSecond(w)
			rewrite(w, f, 1, 2)
			w.onAck(l, &to)
		}},
		"a later leader without an acknowledged record": {"I9", "isr", func(w *world, l, f *broker) {
			to := ackSecond(w)
			w.onAck(l, &to)
			w.ghost.committed = w.ghost.committed[:1]
			f.log.truncate(1)
			w.onOffice(f, w.zk.state)
		}},
		"a fetch of who knows better": {"I9", "isr", func(w *world, l, _ *broker) { w.onFetchServed(l, 2) }},
		"a promise forgotten": {"I9", "quorum", func(w *world, _, f *broker) {
			w.cfg.SyncedAcks = true
			w.ghost.promised[f.end] = 5
			w.ghost.promiseKept(f)
		}},
		"an acknowledged record is gone": {"I10", "isr", func(w *world, l, _ *broker) {
			to := ackSecond(w)
			w.onAck(l, &to)
			l.log.truncate(1)
			w.account(&Result{})
		}},
		"acknowledged with too few": {"I11", "isr", func(w *world, l, _ *broker) {
			l.machine.(*still).maximal = w.zk.state.isr[:1]
			to := ackSecond(w)
			w.onAck(l, &to)
		}},
		"acknowledged before a member has it": {"I11", "sync", func(w *world, l, f *broker) {
			f.log.truncate(1)
			to := ackSecond(w)
			w.onAck(l, &to)
		}},
		"acknowledged by a minority": {"I11", "quorum", func(w *world, l, f *broker) {
			for _, id := range w.replicas[1:] {
				w.brokers[endOf(id)].log.truncate(1)
			}
			to := ackSecond(w)
			w.onAck(l, &to)
		}},
		"read over the high watermark": {"I12", "isr", func(w *world, l, _ *broker) { w.onServed(l, 0, 3) }},
		"read something else": {"I12", "isr", func(w *world, l, _ *broker) {
			w.ghost.seen = []uint32{77}
			w.onSeen(w.clients[len(w.clients)-1], &job{entries: l.log.entries[:1], epoch: 1})
		}},
		"what was read is gone": {"I12", "isr", func(w *world, _, _ *broker) {
			w.onDisappeared(w.clients[len(w.clients)-1], &job{logEnd: 1})
		}},
		"acknowledged elsewhere": {"I13", "isr", func(w *world, l, _ *broker) {
			to := ackSecond(w)
			to.offset = 0
			w.onAck(l, &to)
		}},
		"read elsewhere": {"I13", "isr", func(w *world, l, _ *broker) {
			w.onSeen(w.clients[len(w.clients)-1], &job{entries: l.log.entries[1:2], epoch: 1})
		}},
		"out of order": {"I14", "isr", func(w *world, _, _ *broker) {
			c := w.clients[0]
			c.floor = 5
			w.ghost.orderHolds(c, 5)
		}},
		"no rest after healing": {"I20", "isr", func(w *world, _, _ *broker) {
			w.options.liveness = w.options.session
			for _, b := range w.brokers {
				w.isolate(b)
			}
			w.settle(context.Background())
		}},
		"refused and appended": {"I22", "isr", func(w *world, _, _ *broker) { w.ghost.refused(1, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := tampered(t, c.strategy)
			c.do(w, w.brokers[endOf(w.replicas[0])], w.brokers[endOf(w.replicas[1])])
			w.check()
			if w.violation == nil || w.violation.Invariant != c.invariant {
				t.Errorf("violation %v, want one of %s", w.violation, c.invariant)
			}
		})
	}
}
