package replica

import (
	"fmt"
	"slices"

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
			results[i] = commitlog.ErrClosed
			continue
		}
		p, err := m.apply(&states[i])
		if err != nil {
			results[i] = fmt.Errorf("partition %s-%d: %w", states[i].Topic, states[i].Index, err)
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
	if !slices.Contains(s.Replicas, m.o.BrokerID) {
		return nil, nil
	}
	if !ValidName(s.Topic) || s.Index < 0 {
		return nil, fmt.Errorf("%q is no topic name", s.Topic)
	}
	p, err := m.partitionFor(s)
	if err != nil {
		return nil, err
	}
	return p, p.become(s)
}

// partitionFor finds or opens the state's partition.
func (m *Manager) partitionFor(s *State) (*Partition, error) {
	t, err := m.topicFor(s)
	if err != nil {
		return nil, err
	}
	if p := t.Partition(s.Index); p != nil {
		return p, nil
	}
	p, err := m.open(t, s.Index)
	if err != nil {
		return nil, err
	}
	t.set(s.Index, p)
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

// become gives the machine its role and publishes it, where it is news.
func (p *Partition) become(s *State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stepping.Lock()
	defer p.stepping.Unlock()
	if p.offline() {
		return ErrStorage
	}
	before := p.machine.Status()
	if s.ControllerEpoch < p.controllerEpoch {
		return nil
	}
	p.controllerEpoch = s.ControllerEpoch
	if p.mayNotLead(s) {
		return fmt.Errorf("%w: records are gone that were on stable storage: it follows another leader before it leads", ErrStorage)
	}
	if p.following.lowered = p.following.lowered || p.dir.lower(p); !p.following.lowered {
		return fmt.Errorf("%w: a checkpoint says more than the log has, and cannot be written", ErrStorage)
	}
	ev := replication.Event{
		Kind: replication.BecomeFollower, Now: p.manager.now(), Broker: s.Leader, ControllerEpoch: s.ControllerEpoch, LeaderEpoch: s.LeaderEpoch,
		PartitionEpoch: s.PartitionEpoch, ISR: slices.Clone(s.ISR), ELR: slices.Clone(s.ELR), Replicas: Members(s.Replicas...),
	}
	if s.Leader == p.self {
		ev.Kind = replication.BecomeLeader
		if s.LeaderEpoch > before.LeaderEpoch && s.LeaderEpoch >= before.FencedEpoch {
			if err := p.log.AssignEpoch(s.LeaderEpoch, p.log.LogEndOffset()); err != nil {
				return p.failed("assign leader epoch in", err)
			}
		}
	}
	p.copies = len(s.Replicas) > 1
	p.tellSynced()
	if p.traced != nil && s.LeaderEpoch > before.LeaderEpoch && s.LeaderEpoch >= before.FencedEpoch {
		p.traced.heard(s)
	}
	p.step(&ev)
	p.leaveFetcher()
	p.publish(s, &before)
	p.renew(s)
	p.judge(s)
	p.changed = false // Apply wakes.
	return nil
}

// publish makes a state that was news known; mu and stepping are held.
func (p *Partition) publish(s *State, before *replication.Status) {
	after, last := p.machine.Status(), p.lead.Load()
	if after.LeaderEpoch == before.LeaderEpoch && after.PartitionEpoch == before.PartitionEpoch {
		return
	}
	l := &leadership{
		leader: s.Leader, epoch: s.LeaderEpoch, partitionEpoch: s.PartitionEpoch, replicas: s.Replicas, isr: brokers(s.ISR),
		since: s.LeaderEpoch, epochStart: after.EpochStart, brokerEpoch: p.manager.brokerEpoch(),
	}
	if after.Role == replication.Leader {
		if before.Role == replication.Leader {
			l.since = last.since // Who waits waits on.
		} else {
			p.tooFewBelow.Store(0)
			p.trust.begin(p.log.LogEndOffset())
		}
		p.ackedLeader.Store(after.AckedLeader)
		p.ackedAll.Store(after.AckedAll)
	}
	p.lead.Store(l)
	p.refreshAdmits()
}

// renew notes that a leader was told to lead on in the present registration, where that
// was all the news; stepping is held.
func (p *Partition) renew(s *State) {
	l := *p.lead.Load()
	if now := p.manager.brokerEpoch(); l.leader == p.self && s.LeaderEpoch == l.epoch && l.brokerEpoch != now {
		l.brokerEpoch = now
		p.lead.Store(&l)
	}
}

// ApplyAll is Apply of a controller that names every partition of this broker: those
// that it does not name are stopped, and their logs stay.
func (m *Manager) ApplyAll(states []State) Results {
	named := make(map[ID]bool, len(states))
	for i := range states {
		named[ID{Topic: states[i].Topic, Partition: states[i].Index}] = true
	}
	var strays []ID
	for _, p := range m.partitions() {
		if !named[p.ID()] {
			m.o.Logger.Warn("replica is not assigned here any more and is stopped; its log stays", "partition", p.ID().String())
			strays = append(strays, p.ID())
		}
	}
	results := m.Apply(states)
	if err := m.Stop(strays, false); err != nil {
		m.o.Logger.Error("stray replicas could not be stopped", "error", err)
	}
	return results
}

// brokers are the members' ids.
func brokers(members []replication.Member) []int32 {
	out := make([]int32, len(members))
	for i := range members {
		out[i] = members[i].Broker
	}
	return out
}
