package controller

import (
	"slices"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// strategy is what decides for the partitions of a topic.
type strategy struct {
	spec replication.Spec
	cfg  replication.Config
}

func (c *Controller) strategy(topic string) strategy {
	s, ok := c.specs[topic]
	if !ok {
		s.spec, s.cfg = c.o.Replication(topic)
		if c.specs != nil {
			c.specs[topic] = s
		}
	}
	return s
}

// decide is the state that should be, nil where it is already. The strategy's
// election says all of it: who leads, who left the ISR, and whose answer it waits
// for. Replicas whose answer it wants are fenced at the epoch that a new leader
// would have.
func (c *Controller) decide(p *partition) *znode.PartitionState {
	s, with := p.state, c.strategy(p.topic.Name)
	if p.move != replication.NoBroker {
		if next := c.moveLeader(p, with); next != nil {
			return next
		}
	}
	if p.fenceEpoch != s.LeaderEpoch+1 {
		p.fenceEpoch, p.fenced, p.answers = s.LeaderEpoch+1, false, nil
	}
	cfg := with.cfg
	if p.unclean && s.Leader == znode.NoLeader {
		cfg.UncleanElection = true
	}
	d := with.spec.Elect(c.candidates(p), cfg)
	if d.Leader == replication.NoBroker {
		for _, id := range d.Fence {
			c.fenceReplica(p, id)
		}
	}
	if p.exists && d.Leader == s.Leader && slices.Equal(d.ISR, s.ISR) && slices.Equal(d.ELR, s.ELR) {
		return nil
	}
	if p.exists && d.Leader == replication.NoBroker && len(d.Fence) == 0 && c.leads(p) {
		return nil // it shuts down, and nobody else may lead: until it is gone it does
	}
	next := s
	next.Leader, next.ISR, next.ELR, next.Recovering = d.Leader, d.ISR, d.ELR, d.Unclean
	if p.exists {
		next.LeaderEpoch++
	}
	next.ControllerEpoch = c.fence.Epoch
	if d.Leader != s.Leader {
		c.log.Debug("election", "topic", p.topic.Name, "partition", p.index, "leader", d.Leader, "was", s.Leader, "why", d.Why, "unclean", d.Unclean)
	}
	return &next
}

// leads says whether the leader is about to shut down, in the life that it was
// elected in, and leads still.
func (c *Controller) leads(p *partition) bool {
	b := c.brokers[p.state.Leader]
	i := replication.Find(p.state.ISR, p.state.Leader)
	return b != nil && i >= 0 && p.state.ISR[i].BrokerEpoch == b.Epoch && c.leaving[b.ID] == b.Epoch && p.offline[b.ID] != b.Epoch
}

func (c *Controller) candidates(p *partition) replication.Candidates {
	s := p.state
	out := replication.Candidates{ISR: s.ISR, ELR: s.ELR, New: p.neverLed(), LastLeader: s.Leader}
	if p.fenced {
		out.LastLeader = replication.NoBroker
	}
	for _, id := range p.replicas {
		out.Replicas = append(out.Replicas, c.candidate(p, id))
	}
	return out
}

func (c *Controller) candidate(p *partition, id int32) replication.Candidate {
	candidate := replication.Candidate{
		Broker: id, BrokerEpoch: replication.NoBrokerEpoch, CleanEpoch: replication.NoBrokerEpoch,
		LastEpoch: replication.NoEpoch, LogEndOffset: replication.NoOffset,
	}
	live, epoch := c.live(id)
	if !live || p.offline[id] == epoch {
		return candidate
	}
	b := c.brokers[id]
	candidate.Live, candidate.BrokerEpoch, candidate.CleanEpoch = true, epoch, b.CleanEpoch
	if len(b.LogDirs) == 1 {
		candidate.Dir = b.LogDirs[0]
	}
	if a, ok := p.answers[id]; ok && a.brokerEpoch == epoch {
		candidate.Answered, candidate.LastEpoch, candidate.LogEndOffset, candidate.Dir = true, a.LastEpoch, a.LogEndOffset, a.Dir
	}
	return candidate
}

// moveLeader elects somebody else although the leader lives: a preferred leader, or
// because the leader's replica is removed. Only where every member of the ISR has
// what was acknowledged can the controller choose.
func (c *Controller) moveLeader(p *partition, with strategy) *znode.PartitionState {
	to := p.move
	p.move = replication.NoBroker
	if !c.mayMove(p, with, to) {
		return nil
	}
	next := p.state
	next.Leader, next.ControllerEpoch, next.Recovering = to, c.fence.Epoch, false
	next.LeaderEpoch++
	return &next
}

func (c *Controller) mayMove(p *partition, with strategy, to int32) bool {
	i := replication.Find(p.state.ISR, to)
	live, epoch := c.live(to)
	chosen := with.spec.Promise == replication.InSync || with.spec.Promise == replication.WholeSet
	return i >= 0 && live && p.offline[to] != epoch && p.state.ISR[i].BrokerEpoch == epoch && to != p.state.Leader &&
		p.state.Leader != znode.NoLeader && chosen
}
