package replica

import (
	"errors"
	"fmt"

	"tidemark/commitlog"
	"tidemark/replication"
)

// Apply brings partitions to the state the controller decided: it creates or
// claims logs of partitions that name this broker as a replica and publishes who
// leads. States older than what is known (lower leader and partition epoch) are
// skipped. It goes on after a partition that fails.
func (m *Manager) Apply(states []State) Results {
	results := make(Results, len(states))
	var wake []*Partition
	m.mu.Lock()
	for i := range states {
		if m.closed {
			results[i].Err = commitlog.ErrClosed
			continue
		}
		p, err := m.apply(&states[i])
		if err != nil {
			results[i].Err = fmt.Errorf("partition %s-%d: %w", states[i].Topic, states[i].Index, err)
		}
		if p != nil {
			wake = append(wake, p)
		}
	}
	m.mu.Unlock()
	for _, p := range wake {
		p.Changed.Wake()
	}
	return results
}

// apply brings one partition to its state and returns it if it is here.
func (m *Manager) apply(s *State) (*Partition, error) {
	if !contains(s.Replicas, m.o.BrokerID) {
		return nil, nil
	}
	if !ValidName(s.Topic) || s.Index < 0 {
		return nil, fmt.Errorf("%q is no topic name", s.Topic)
	}
	t, err := m.topicFor(s)
	if err != nil {
		return nil, err
	}
	p := t.Partition(s.Index)
	if p == nil {
		if p, err = m.open(t, s.Index); err != nil {
			return nil, err
		}
		p.become(s)
		t.set(s.Index, p)
		return p, nil
	}
	l := p.lead.Load()
	if s.LeaderEpoch < l.epoch || s.LeaderEpoch == l.epoch && s.PartitionEpoch < l.partitionEpoch {
		return nil, nil
	}
	p.become(s)
	return p, nil
}

// topicFor finds or enters the state's topic. A topic of the same name with
// another id is a former one: its replicas are deleted.
func (m *Manager) topicFor(s *State) (*Topic, error) {
	if t := m.Topic(s.Topic); t != nil {
		if t.ID == s.TopicID {
			return t, nil
		}
		former := t.Partitions()
		err := m.stop(former, true)
		for _, p := range former {
			p.Changed.Wake()
		}
		if err != nil {
			return nil, err
		}
	}
	c := m.o.Config(s.Topic)
	t := &Topic{Name: s.Topic, ID: s.TopicID}
	t.config.Store(&c)
	t.partitions.Store(&[]*Partition{})
	m.publish(func(x *index) { x.byName[t.Name], x.byID[t.ID] = t, t })
	return t, nil
}

// become publishes leadership; a new leader's first high watermark follows from
// the commit rule.
func (p *Partition) become(s *State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &leadership{
		leader: s.Leader, epoch: s.LeaderEpoch, partitionEpoch: s.PartitionEpoch,
		replicas: s.Replicas, isr: brokers(s.ISR),
	}
	before := p.lead.Load()
	if l.leader == p.self && (before == nil || before.epoch != l.epoch || before.leader != p.self) {
		if err := p.log.AssignEpoch(l.epoch, p.log.LogEndOffset()); err != nil {
			_ = p.failed("assign leader epoch in", err) // the log dir is offline now; the partition answers so
		}
	}
	p.lead.Store(l)
	if l.leader == p.self && p.Topic.Config().SyncedAcks() {
		p.flushTail()
	}
	p.advance(l)
}

// Stop ends the service of partitions and, with remove, deletes their logs.
// Unknown ones are skipped.
func (m *Manager) Stop(ids []ID, remove bool) error {
	var errs []error
	m.mu.Lock()
	var stopped []*Partition
	for _, id := range ids {
		if p := m.Partition(id.Topic, id.Partition); p != nil {
			stopped = append(stopped, p)
		} else if f := m.found[id]; f != nil && remove {
			errs = append(errs, m.removeFound(id, f))
		}
	}
	errs = append(errs, m.stop(stopped, remove))
	m.mu.Unlock()
	for _, p := range stopped {
		p.Changed.Wake()
	}
	return errors.Join(errs...)
}

// stop takes partitions off the map, then closes or deletes their logs. A deleted
// log leaves the checkpoints first: a later one of its name must not be trusted
// for what was known of it. Manager's mu is held.
func (m *Manager) stop(partitions []*Partition, remove bool) error {
	dirs := make(map[*logDir]bool)
	for _, p := range partitions {
		m.detach(p)
		dirs[p.dir] = true
	}
	if remove {
		for d := range dirs {
			d.checkpointAll()
		}
	}
	var errs []error
	for _, p := range partitions {
		end := p.log.Close
		if remove {
			end = func() error { return m.remove(p.log) }
		}
		if err := end(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.ID(), err))
		}
	}
	return errors.Join(errs...)
}

// detach ends the service of a partition; its log stays open.
func (m *Manager) detach(p *Partition) {
	p.mu.Lock()
	l := *p.lead.Load()
	l.stopped, l.leader = true, -1
	p.lead.Store(&l)
	p.mu.Unlock()
	p.Topic.set(p.Index, nil)
	if t := p.Topic; t.empty() && m.Topic(t.Name) == t {
		m.publish(func(x *index) {
			delete(x.byName, t.Name)
			delete(x.byID, t.ID)
		})
	}
	p.dir.forget(p)
}

// removeFound deletes a log that was found at start.
func (m *Manager) removeFound(id ID, f *foundLog) error {
	delete(m.found, id)
	f.dir.dropCheckpoints(id)
	f.dir.checkpointAll()
	return m.remove(f.log)
}

// remove deletes a log and leaves it to the background to wait for its readers: the
// controller waits for this call, and a consumer may take minutes for a response.
func (m *Manager) remove(l *commitlog.Log) error {
	release, err := l.Remove()
	m.background.Go(release)
	return err
}

// brokers are the members' ids.
func brokers(members []replication.Member) []int32 {
	out := make([]int32, len(members))
	for i := range members {
		out[i] = members[i].Broker
	}
	return out
}

func contains(list []int32, id int32) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}
