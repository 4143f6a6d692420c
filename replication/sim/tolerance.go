package sim

import "tidemark/replication"

// What each setting promises to survive (the table at the head of the list of
// faults), as a question about the disks: does somebody whom the setting will
// elect, or ask, still hold every acknowledged record?

// bearable says whether a safe run may do this to the broker now.
func (w *world) bearable(kind FaultKind, b *broker) bool {
	switch {
	case kind != PowerCut && kind != Wipe && kind != FsyncFail:
		return true
	case kind != Wipe && w.cfg.SyncedAcks:
		return true // what counted was synced
	case !w.bound():
		return false // promises nothing after it, so there would be nothing to check
	}
	return w.promised(b)
}

// promised says whether the promise still stands, and would stand without the
// disk of one more broker (nil for none).
func (w *world) promised(without *broker) bool {
	nothing := w.ghost.highestAcked < 0 && len(w.ghost.committed) == 0
	if nothing && w.spec.Promise != replication.Majority {
		return true
	}
	switch w.spec.Promise {
	case replication.LeaderOnly:
		return true
	case replication.Majority:
		return w.quorumPromised(without)
	}
	s := w.zk.state
	return w.keeps(s.isr, without) || w.spec.KeepsELR(w.options.ELR) && w.keeps(s.elr, without)
}

// keeps says whether a member holds every acknowledged record.
func (w *world) keeps(set []replication.Member, without *broker) bool {
	for _, m := range set {
		if b := w.brokers[endOf(m.Broker)]; b != without && w.ghost.holds(b) {
			return true
		}
	}
	return false
}

// quorumPromised: every majority that can be asked has a holder. A replica with
// an empty or unknown disk is not asked.
func (w *world) quorumPromised(without *broker) bool {
	if without != nil && !w.cfg.SyncedAcks {
		return false // one power cut and a pause are enough
	}
	asked, holders := 0, 0
	for _, id := range w.replicas {
		b := w.brokers[endOf(id)]
		i := replication.Find(w.zk.state.isr, id)
		if b == without || i < 0 || w.zk.state.isr[i].Dir != dirID(b.log.directory) {
			continue
		}
		asked++
		if w.ghost.holds(b) {
			holders++
		}
	}
	majority := len(w.replicas)/2 + 1
	return asked >= majority && asked-holders < majority
}
