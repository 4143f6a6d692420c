package replica

import "tidemark/replication"

// Leave has what this broker leads take no more records, for good: it is about to stop.
// An append that was under way is over when it returns.
//
// A leader that appended on while others are elected would acknowledge to acks=1, and
// under async to everybody, what no follower will fetch any more.
func (m *Manager) Leave() {
	for _, p := range m.partitions() {
		p.mu.Lock()
		p.leaving = true
		p.mu.Unlock()
	}
}

// Unfetched counts the partitions that this broker leads and of which a follower in
// sync has not fetched all.
func (m *Manager) Unfetched() (n int) {
	for _, p := range m.partitions() {
		if p.unfetched() {
			n++
		}
	}
	return n
}

func (p *Partition) unfetched() bool {
	s := p.Status()
	if s.Offline || s.Role != replication.Leader {
		return false
	}
	for _, f := range s.Followers {
		if f.InSync && f.LogEndOffset < s.LogEndOffset {
			return true
		}
	}
	return false
}
