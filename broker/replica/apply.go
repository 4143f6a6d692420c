package replica

import (
	"errors"
	"fmt"

	"tidemark/commitlog"
)

// Apply brings partitions to the state the controller decided: it creates or
// claims logs of partitions that name this broker as a replica and publishes who
// leads. States older than what is known (lower leader and partition epoch) are
// skipped. It goes on after a partition that fails and returns all errors.
func (m *Manager) Apply(states []State) error {
	var errs []error
	var wake []*Partition
	m.mu.Lock()
	for i := range states {
		if m.closed {
			errs = append(errs, commitlog.ErrClosed)
			break
		}
		p, err := m.apply(&states[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("partition %s-%d: %w", states[i].Topic, states[i].Index, err))
		}
		if p != nil {
			wake = append(wake, p)
		}
	}
	m.mu.Unlock()
	for _, p := range wake {
		p.Changed.Wake()
	}
	return errors.Join(errs...)
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
		for _, p := range t.Partitions() {
			if err := m.stop(p, true); err != nil {
				return nil, err
			}
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
		replicas: s.Replicas, isr: s.ISR,
	}
	before := p.lead.Load()
	if l.leader == p.self && (before == nil || before.epoch != l.epoch || before.leader != p.self) {
		if err := p.log.AssignEpoch(l.epoch, p.log.LogEndOffset()); err != nil {
			_ = p.failed("assign leader epoch in", err) // the log dir is offline now; the partition answers so
		}
	}
	p.lead.Store(l)
	p.advance(l)
	if l.leader == p.self && p.Topic.Config().SyncedAcks {
		p.flushSoon() // the tail from before counts once it is synced
	}
}

// Stop ends the service of partitions and, with remove, deletes their logs.
// Unknown ones are skipped.
func (m *Manager) Stop(ids []ID, remove bool) error {
	var errs []error
	m.mu.Lock()
	var wake []*Partition
	for _, id := range ids {
		if p := m.Partition(id.Topic, id.Partition); p != nil {
			errs = append(errs, m.stop(p, remove))
			wake = append(wake, p)
		} else if f := m.found[id]; f != nil && remove {
			delete(m.found, id)
			errs = append(errs, f.log.Delete())
		}
	}
	m.mu.Unlock()
	for _, p := range wake {
		p.Changed.Wake()
	}
	return errors.Join(errs...)
}

// stop takes the partition off the map, then closes or deletes its log. Manager's
// mu is held.
func (m *Manager) stop(p *Partition, remove bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := *p.lead.Load()
	l.stopped, l.leader = true, -1
	p.lead.Store(&l)
	p.Topic.set(p.Index, nil)
	if t := p.Topic; t.empty() && m.Topic(t.Name) == t {
		m.publish(func(x *index) {
			delete(x.byName, t.Name)
			delete(x.byID, t.ID)
		})
	}
	p.dir.forget(p)
	var err error
	if remove {
		err = p.log.Delete()
	} else {
		err = p.log.Close()
	}
	if err != nil {
		return fmt.Errorf("stop %s-%d: %w", p.Topic.Name, p.Index, err)
	}
	return nil
}

func contains(list []int32, id int32) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}
