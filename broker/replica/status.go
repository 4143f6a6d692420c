package replica

import (
	"sync/atomic"
	"time"

	"tidemark/replication"
)

// Status is one partition's state for people, metrics and tests.
type Status struct {
	replication.Status
	ID
	// Now is when the followers' LastCaughtUp are to be compared with.
	Now      time.Duration
	TopicID  [16]byte
	Strategy string
	// Replicas are the assigned ones.
	Replicas []int32
	// SizeBytes is the log's, Path its log directory, Dir that one's id.
	SizeBytes int64
	Path      string
	Dir       replication.DirID
	// Offline: the log directory failed, or the replica gave itself up.
	Offline bool
	// Fetcher says in words what a follower's fetcher does for it; "" where none
	// does.
	Fetcher string
	// DurabilityDebt is Partition.DurabilityDebt.
	DurabilityDebt int64
}

// Statuses describes every partition, by topic and index.
func (m *Manager) Statuses() []Status {
	var out []Status
	for _, p := range m.partitions() {
		out = append(out, p.Status())
	}
	return out
}

// Status describes the partition.
func (p *Partition) Status() Status {
	s := Status{
		ID: p.ID(), TopicID: p.Topic.ID, Strategy: p.strategy, Replicas: p.lead.Load().replicas, SizeBytes: p.log.Size(),
		Path: p.dir.path, Dir: p.dir.id, Offline: p.offline(), DurabilityDebt: p.DurabilityDebt(),
	}
	p.stepping.Lock()
	defer p.stepping.Unlock()
	s.Status, s.Now = p.machine.Status(), p.manager.now()
	s.Synced = min(max(s.Synced, p.log.RecoveryPoint()), s.LogEndOffset)
	if a := p.following.asked; a != nil {
		s.Fetcher = a.state()
	}
	return s
}

// Counters are what happened to in-sync sets since the start.
type Counters struct{ ISRShrinks, ISRExpands int64 }

type counters struct{ shrinks, expands atomic.Int64 }

func (c *counters) note(before, after int) {
	switch {
	case after < before:
		c.shrinks.Add(1)
	case after > before:
		c.expands.Add(1)
	}
}

// Counters returns the counts.
func (m *Manager) Counters() Counters {
	return Counters{ISRShrinks: m.counters.shrinks.Load(), ISRExpands: m.counters.expands.Load()}
}
