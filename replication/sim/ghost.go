package sim

import (
	"time"

	"tidemark/replication"
)

// ghost is what no broker knows and the checker does: everything that was ever
// appended, acknowledged, committed or seen.
type ghost struct {
	w *world
	// values are the producers' records, entries every append of one.
	values  []valueInfo
	entries []entryInfo
	acked   []ack
	// highestAcked is the highest offset acknowledged to acks=all, -1 for none,
	// and ackedChain the hash of the log up to it.
	highestAcked int64
	ackedChain   uint64
	// committed is the log below the true high watermark, as hashes by offset.
	committed []uint64
	// seen are the entries that consumers read, by offset.
	seen []uint32
	// matching are, by offset, the hashes of every log that held an entry there.
	matching []matching
	// writers are who leads a leader epoch.
	writers []endpoint
	// amnesiac: the replica lost records, and its log has not reached lostEnd
	// since.
	amnesiac [maxBrokers]bool
	lostEnd  [maxBrokers]int64
	// promised are the leader epochs that replicas promised in answers to
	// FenceReplica.
	promised [maxBrokers]int32
	// excused is up to where a replica's log is held against the committed one,
	// after an election that was allowed to lose records.
	excused [maxBrokers]int64
	// exceeded: the faults exceeded the promise; declared counts the elections
	// after which records were given up.
	exceeded, unclean bool
	declared          int
	declaredEpoch     int32
}

type valueInfo struct {
	acks  int8
	entry uint32 // of its latest append, 0 for none
}

type entryInfo struct {
	value  uint32
	offset int64
	epoch  int32
	by     endpoint
	acked  bool
	// correlation is the producer's try.
	correlation uint32
}

// ack is one acknowledged record.
type ack struct {
	entry  uint32
	offset int64
	epoch  int32
	chain  uint64
	acks   int8
	at     time.Duration
	// excused: faults since exceeded the promise.
	excused bool
}

type matching struct {
	epoch int32
	chain uint64
	more  []matching
}

const everything = int64(1) << 62

func (g *ghost) init(w *world) {
	g.w, g.highestAcked = w, -1
	g.values = append(g.values, valueInfo{})   // value 0 is a control batch
	g.entries = append(g.entries, entryInfo{}) // entry 0 is none
	for i := range g.excused {
		g.excused[i], g.promised[i] = everything, replication.NoEpoch
	}
}

func (g *ghost) newValue(acks int8) uint32 {
	g.values = append(g.values, valueInfo{acks: acks})
	return uint32(len(g.values) - 1)
}

func (g *ghost) nextEntry() uint32 { return uint32(len(g.entries)) }

// append notes an append at a leader and gives it its id.
func (g *ghost) append(b *broker, e entry, value, correlation uint32) uint32 {
	id := g.nextEntry()
	g.entries = append(g.entries, entryInfo{value: value, offset: b.log.end(), epoch: e.epoch, by: b.end, correlation: correlation})
	g.values[value].entry = id
	g.oneWriter(b, e.epoch)
	if b.zkc.session != 0 && e.epoch < g.w.zk.state.leaderEpoch {
		g.w.reach[ReachZombieAppend]++
	}
	return id
}

// forgot notes what a power cut or a wipe took from a replica.
func (g *ghost) forgot(b *broker, end int64) {
	if b.log.end() < end {
		g.amnesiac[b.end] = true
		g.lostEnd[b.end] = max(g.lostEnd[b.end], end)
	}
	g.truncated(b, b.log.end())
}

// truncated notes that a log was cut.
func (g *ghost) truncated(b *broker, end int64) {
	g.w.touched |= 1 << b.end
}

// holds says whether the replica's disk has all that was committed and every
// acknowledged record.
func (g *ghost) holds(b *broker) bool {
	acked, committed := g.highestAcked+1, int64(len(g.committed))
	if end := b.log.end(); end < acked || end < committed {
		return false
	}
	return b.log.chainAt(acked) == g.ackedChain && (committed == 0 || b.log.chainAt(committed) == g.committed[committed-1])
}

// remembers ends a replica's amnesia once its log is the committed one again.
func (g *ghost) remembers(b *broker) {
	if g.amnesiac[b.end] && b.log.end() >= g.lostEnd[b.end] && g.holds(b) {
		g.amnesiac[b.end], g.lostEnd[b.end] = false, 0
	}
}

// joins ends a replica's excuse once it follows the lineage that gave records up
// and has nothing of another in its log. A leader that was replaced before it took
// office follows nobody: what it appends until it hears of its successor is a
// lineage of its own, and begins where the records were lost.
func (g *ghost) joins(b *broker) {
	if b.role == replication.Leader && b.epoch != g.w.zk.state.leaderEpoch {
		return
	}
	at := g.excused[b.end]
	if at != everything && b.epoch >= g.declaredEpoch && (b.log.end() <= at || g.agreement(b) == b.log.end()) {
		g.excused[b.end] = everything
	}
}

// reckon excuses what was acknowledged so far where nobody who counts holds it
// any more.
func (g *ghost) reckon() {
	if g.w.promised(nil) {
		g.exceeded = false
		return
	}
	g.exceeded = true
	for i := range g.acked {
		g.acked[i].excused = true
	}
}

// gaveUp says that records were given up, or will be by the next leader that takes
// office.
func (g *ghost) gaveUp() bool { return g.declared > 0 || g.exceeded || g.unclean }

// declare gives up what the new leader does not have: an unclean election, or
// one after faults that exceeded the promise.
func (g *ghost) declare(leader *broker) {
	g.declared++
	g.declaredEpoch = leader.epoch
	g.unclean, g.exceeded = false, false
	cut := g.agreement(leader)
	for i := range g.acked {
		if a := &g.acked[i]; a.offset >= cut {
			a.excused = true
		}
	}
	g.committed = g.committed[:cut]
	if int64(len(g.seen)) > cut {
		g.seen = g.seen[:cut]
	}
	if g.highestAcked >= cut {
		g.highestAcked, g.ackedChain = cut-1, leader.log.chainAt(cut)
	}
	for _, b := range g.w.brokers {
		if b != leader {
			g.excused[b.end] = min(g.excused[b.end], cut)
		}
	}
}

// agreement is up to where the replica's log is the committed one.
func (g *ghost) agreement(b *broker) int64 {
	end := min(int64(len(g.committed)), b.log.end())
	for end > 0 && b.log.chainAt(end) != g.committed[end-1] {
		end--
	}
	return end
}

// onAck notes an acknowledgement as it is sent.
func (w *world) onAck(b *broker, to *waiter) {
	g := &w.ghost
	a := ack{entry: to.entry, offset: to.offset, epoch: to.epoch, acks: to.acks, at: w.now}
	g.truthful(b, to)
	if to.offset < b.log.end() {
		a.chain = b.log.chainAt(to.offset + 1)
	}
	g.entries[to.entry].acked = true
	if to.acks == -1 {
		g.honest(b, &a)
		g.noZombie(b, &a)
		if to.offset > g.highestAcked && !a.excused {
			g.highestAcked, g.ackedChain = to.offset, a.chain
		}
	}
	g.acked = append(g.acked, a)
}

// onStateWritten looks at every state that ZooKeeper took.
func (w *world) onStateWritten(before, after *partitionState) {
	g := &w.ghost
	w.touched = all
	g.epochsRise(before, after)
	if after.leaderEpoch > before.leaderEpoch || after.leader != before.leader {
		w.traceLeader(before, after)
	}
	if len(after.isr) == 1 {
		w.reach[ReachISROne]++
	}
	switch {
	case after.leader == replication.NoBroker:
		w.reach[ReachNoLeader]++
	case after.leaderEpoch > before.leaderEpoch:
		if after.unclean {
			w.reach[ReachUncleanElection]++
			// An election that calls itself unclean may lose records only where that
			// is allowed; asking everybody who may have lost some must find them.
			g.unclean = w.options.Unclean || !w.bound()
		}
		if replication.Contains(before.elr, after.leader) {
			w.reach[ReachELRElection]++
		}
		if after.leader == before.leader || after.leader == before.lastLeader && before.leader == replication.NoBroker {
			w.reach[ReachReelectedSame]++
		}
	}
	if g.anyAmnesiac() {
		g.reckon()
	}
}

func (g *ghost) anyAmnesiac() bool { return g.amnesiac != [maxBrokers]bool{} }

// onOffice looks at a leader as it takes office, before it acts.
func (w *world) onOffice(b *broker, s *partitionState) {
	g := &w.ghost
	w.chase(b)
	if s.leaderEpoch != w.zk.state.leaderEpoch { // it was replaced before it began
		if at := g.agreement(b); g.gaveUp() && at < int64(len(g.committed)) {
			g.excused[b.end] = min(g.excused[b.end], at)
		}
		return
	}
	if b.hw < int64(len(g.committed)) {
		w.reach[ReachHWBelowTrue]++
	}
	if g.unclean || g.exceeded && g.agreement(b) < int64(len(g.committed)) {
		g.declare(b)
	}
	g.unclean = false
	g.leaderComplete(b, s)
}
