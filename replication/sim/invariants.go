package sim

import (
	"fmt"

	"tidemark/replication"
)

// Violation is an invariant that did not hold.
type Violation struct {
	// Invariant is its number in the list, I1 to I22.
	Invariant string
	// Text says what was found.
	Text string
	// Event is how many events had run.
	Event int
}

// Error is the violation in a line.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s violated after %d events: %s", v.Invariant, v.Event, v.Text)
}

// violate notes the first violation; the run ends with it.
func (w *world) violate(invariant, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Invariant: invariant, Text: fmt.Sprintf(format, args...), Event: w.events}
	}
}

// bound says whether the strategy promises that what is committed stays.
func (w *world) bound() bool { return w.spec.Promise != replication.LeaderOnly }

// check holds the replicas that the event touched against the invariants about
// states.
func (w *world) check() {
	for _, b := range w.brokers {
		if w.touched&(1<<b.end) == 0 {
			continue
		}
		w.logShape(b)
		if w.bound() {
			w.committedPrefix(b)
			w.candidateComplete(b)
		}
		w.ghost.remembers(b)
		w.ghost.joins(b)
	}
	w.touched = 0
}

// logShape is I1: start ≤ high watermark ≤ log end, synced ≤ log end. That
// epochs do not fall is looked at by every append.
func (w *world) logShape(b *broker) {
	if b.up && b.machine != nil && b.hw > b.log.end() {
		w.violate("I1", "broker %d: high watermark %d lies over its log end %d", b.id, b.hw, b.log.end())
	}
	if b.log.synced > b.log.end() {
		w.violate("I1", "broker %d: synced end %d lies over its log end %d", b.id, b.log.synced, b.log.end())
	}
}

// onAppended is I1's epochs, and I2: two logs with an entry of one leader epoch
// at one offset are equal up to it.
func (w *world) onAppended(b *broker, offset int64) {
	w.touched |= 1 << b.end
	g := &w.ghost
	e := &b.log.entries[offset]
	if offset > 0 && b.log.entries[offset-1].epoch > e.epoch {
		w.violate("I1", "broker %d: leader epoch falls from %d to %d at offset %d", b.id, b.log.entries[offset-1].epoch, e.epoch, offset)
	}
	for int64(len(g.matching)) <= offset {
		g.matching = append(g.matching, matching{epoch: replication.NoEpoch})
	}
	m := &g.matching[offset]
	if m.epoch == replication.NoEpoch {
		m.epoch, m.chain = e.epoch, e.chain
		return
	}
	if m.epoch == e.epoch {
		w.matches(b, offset, e, m.chain)
		return
	}
	for i := range m.more {
		if m.more[i].epoch == e.epoch {
			w.matches(b, offset, e, m.more[i].chain)
			return
		}
	}
	m.more = append(m.more, matching{epoch: e.epoch, chain: e.chain})
}

func (w *world) matches(b *broker, offset int64, e *entry, chain uint64) {
	if e.chain != chain {
		w.violate("I2", "broker %d: its log up to offset %d differs from another that has the same leader epoch %d there", b.id, offset, e.epoch)
	}
}

// committedPrefix is I3: logs are equal below their high watermarks.
func (w *world) committedPrefix(b *broker) {
	g := &w.ghost
	end := min(b.hw, int64(len(g.committed)), g.excused[b.end], b.log.end())
	if b.up && b.machine != nil && end > 0 && b.log.chainAt(end) != g.committed[end-1] {
		w.violate("I3", "broker %d: its log below its high watermark %d differs from what was committed, from offset %d on", b.id, b.hw, g.agreement(b))
	}
}

// onHighWatermark is I4 and I7 where a legitimate leader moved it: what was
// committed once stays, and the set that counted has the one in ZooKeeper in it.
// Whom ZooKeeper has as the leader of a later epoch already commits, too, until it
// hears of that.
func (w *world) onHighWatermark(b *broker, from int64) {
	w.touched |= 1 << b.end
	if b.role != replication.Leader && w.bound() {
		w.committedPrefix(b) // at once: a truncation may follow in the same step
	}
	if b.role != replication.Leader || w.zk.state.leader != b.id || !w.bound() {
		return
	}
	g := &w.ghost
	w.chaseCommit(b)
	known := int64(len(g.committed))
	if end := min(b.hw, known); end > 0 && b.log.chainAt(end) != g.committed[end-1] {
		w.violate("I4", "broker %d, leader of epoch %d: it commits up to %d what differs from what was committed, from offset %d on", b.id, b.epoch, b.hw, g.agreement(b))
		return
	}
	for o := known; o < b.hw && o < b.log.end(); o++ {
		g.committed = append(g.committed, b.log.entries[o].chain)
	}
	if b.hw > known {
		w.touched = all
		w.supersetCounts(b)
	}
}

// supersetCounts is I7.
func (w *world) supersetCounts(b *broker) {
	if w.spec.Promise == replication.Majority {
		return
	}
	maximal := b.maximal()
	for _, m := range w.zk.state.isr {
		if !replication.Contains(maximal, m.Broker) {
			w.violate("I7", "broker %d, leader of epoch %d: its high watermark counts %v, and ZooKeeper's ISR is %v", b.id, b.epoch, ids(maximal), ids(w.zk.state.isr))
		}
	}
}

// leaderComplete is I5, and I9 seen from the later leader: a leader elected
// cleanly has everything that was committed, and everything acknowledged.
func (g *ghost) leaderComplete(b *broker, s *partitionState) {
	if !g.w.bound() {
		return
	}
	if have := g.agreement(b); have < int64(len(g.committed)) {
		g.w.violate("I5", "broker %d leads epoch %d with a log that is the committed one up to %d only; the true high watermark is %d", b.id, s.leaderEpoch, have, len(g.committed))
		return
	}
	for i := range g.acked {
		if a := &g.acked[i]; a.acks == -1 && !a.excused && !a.in(b) {
			g.w.violate("I9", "broker %d leads epoch %d without offset %d, which epoch %d acknowledged to acks=all", b.id, s.leaderEpoch, a.offset, a.epoch)
			return
		}
	}
}

func (a *ack) in(b *broker) bool {
	return b.log.end() > a.offset && b.log.chainAt(a.offset+1) == a.chain
}

// candidateComplete is I6: a running member of the sets in ZooKeeper, in the
// life in which it became one, has everything that was committed.
func (w *world) candidateComplete(b *broker) {
	s := w.zk.state
	if w.spec.Promise == replication.Majority || !b.up || b.machine == nil || w.ghost.exceeded || w.ghost.unclean {
		return
	}
	for _, set := range [...][]replication.Member{s.isr, s.elr} {
		i := replication.Find(set, b.id)
		if i < 0 || set[i].BrokerEpoch != b.brokerEpoch && set[i].BrokerEpoch != replication.NoBrokerEpoch || w.ghost.excused[b.end] != everything {
			continue
		}
		if have := w.ghost.agreement(b); have < int64(len(w.ghost.committed)) {
			w.violate("I6", "broker %d is in ISR %v or ELR %v with a log that is the committed one up to %d only; the true high watermark is %d",
				b.id, ids(s.isr), ids(s.elr), have, len(w.ghost.committed))
		}
	}
}

// oneWriter is I8: a leader epoch has one writer.
func (g *ghost) oneWriter(b *broker, epoch int32) {
	for int(epoch) >= len(g.writers) {
		g.writers = append(g.writers, harness)
	}
	if by := g.writers[epoch]; by != harness && by != b.end {
		g.w.violate("I8", "brokers %d and %d both append in leader epoch %d", by.id(), b.id, epoch)
	}
	g.writers[epoch] = b.end
}

// epochsRise is I8's other half: epochs in ZooKeeper do not fall, and another
// leader has another epoch.
func (g *ghost) epochsRise(before, after *partitionState) {
	if after.leaderEpoch < before.leaderEpoch || after.leader != before.leader && after.leaderEpoch == before.leaderEpoch {
		g.w.violate("I8", "leader %d epoch %d follows leader %d epoch %d in ZooKeeper", after.leader, after.leaderEpoch, before.leader, before.leaderEpoch)
	}
	if after.controllerEpoch < before.controllerEpoch {
		g.w.violate("I8", "controller epoch %d follows %d in ZooKeeper", after.controllerEpoch, before.controllerEpoch)
	}
}

// noZombie is I9 as the ack is sent: where a later leader is in office, it has
// the record.
func (g *ghost) noZombie(b *broker, a *ack) {
	s := g.w.zk.state
	if !g.w.bound() || b.epoch >= s.leaderEpoch || s.leader == replication.NoBroker {
		return
	}
	if g.gaveUp() {
		a.excused = true // its own promise ended with that election
		return
	}
	if l := g.w.brokers[endOf(s.leader)]; l.up && l.role == replication.Leader && l.epoch == s.leaderEpoch && !a.in(l) {
		g.w.violate("I9", "broker %d acknowledges offset %d in epoch %d, and broker %d, leader of epoch %d, does not have it", b.id, a.offset, a.epoch, l.id, l.epoch)
	}
}

// onFetchServed is I9 seen from the follower: a leader serves no replica that
// knows a later one.
func (w *world) onFetchServed(b *broker, knows int32) {
	if knows > b.epoch {
		w.violate("I9", "broker %d, leader of epoch %d, serves a fetch of a replica that knows epoch %d", b.id, b.epoch, knows)
	}
}

// promiseKept is I9 seen from the disk: who promised a leader epoch to the
// controller remembers it, whatever happened to the power, where the promise was
// to be on stable storage.
func (g *ghost) promiseKept(b *broker) {
	if g.w.cfg.SyncedAcks && b.fence < g.promised[b.end] {
		g.w.violate("I9", "broker %d promised leader epoch %d and remembers %d", b.id, g.promised[b.end], b.fence)
	}
}

// honest is I11: what is acknowledged to acks=all is where the strategy says it
// is, on stable storage where that is asked for.
func (g *ghost) honest(b *broker, a *ack) {
	w := g.w
	switch w.spec.Promise {
	case replication.LeaderOnly:
		return
	case replication.Majority:
		need, have := max(len(w.replicas)/2+1, min(w.cfg.MinISR, len(w.replicas))), 0
		for _, id := range w.replicas {
			if r := w.brokers[endOf(id)]; w.has(r, a) || g.amnesiac[r.end] {
				have++
			}
		}
		if have < need {
			w.violate("I11", "broker %d acknowledges offset %d that %d replicas have; the quorum needs %d", b.id, a.offset, have, need)
		}
		return
	}
	maximal := b.maximal()
	if len(maximal) < min(w.cfg.MinISR, len(w.replicas)) {
		w.violate("I11", "broker %d acknowledges offset %d with the ISR %v; min.insync.replicas is %d", b.id, a.offset, ids(maximal), w.cfg.MinISR)
	}
	for _, m := range maximal {
		if r := w.brokers[endOf(m.Broker)]; !w.has(r, a) && !g.amnesiac[r.end] && g.excused[r.end] == everything && b.epoch == w.zk.state.leaderEpoch {
			w.violate("I11", "broker %d acknowledges offset %d that broker %d of the ISR %v does not have", b.id, a.offset, r.id, ids(maximal))
		}
	}
}

// has says whether the replica has the record as far as it counts.
func (w *world) has(r *broker, a *ack) bool {
	return a.in(r) && (!w.cfg.SyncedAcks || r.log.synced > a.offset)
}

// truthful is I13: the offset that is told is where the record is.
func (g *ghost) truthful(b *broker, to *waiter) {
	if to.offset >= b.log.end() || b.log.entries[to.offset].id != to.entry || g.entries[to.entry].offset != to.offset {
		g.w.violate("I13", "broker %d acknowledges a record at offset %d, where it is not", b.id, to.offset)
	}
}

// refused is I22: what was answered with an error that promises nothing was
// appended was not.
func (g *ghost) refused(value, correlation uint32) {
	e := g.values[value].entry
	if e != 0 && g.entries[e].correlation == correlation {
		g.w.violate("I22", "value %d was refused and is at offset %d", value, g.entries[e].offset)
	}
}
