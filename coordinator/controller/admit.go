package controller

import (
	"context"
	"slices"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// AlterPartition takes leaders' proposals for their ISR and answers each, in
// order (KafkaController.alterPartition). The error is ErrNotController,
// ErrStaleBrokerEpoch or that of a write whose outcome is unknown.
func (c *Controller) AlterPartition(ctx context.Context, id int32, brokerEpoch int64, proposals []Proposal) ([]Outcome, error) {
	return inOffice(c, ctx, func(ctx context.Context) ([]Outcome, error) {
		if _, epoch := c.live(id); epoch == replication.NoBrokerEpoch || epoch != brokerEpoch {
			return nil, ErrStaleBrokerEpoch // an earlier life of the leader
		}
		// What an event changed comes first: a proposal is looked at where the state is
		// as it should be.
		if err := c.settle(ctx); err != nil {
			return nil, err
		}
		return c.admitAll(ctx, id, proposals)
	})
}

func (c *Controller) admitAll(ctx context.Context, id int32, proposals []Proposal) ([]Outcome, error) {
	outcomes := make([]Outcome, len(proposals))
	var writing []*partition
	var states []znode.PartitionState
	var which []int
	if err := c.catchUpWith(ctx, proposals); err != nil {
		return nil, err
	}
	for i, r := range proposals {
		p := c.proposed(r)
		if p == nil {
			outcomes[i].Err = ErrUnknownPartition
			continue
		}
		if slices.Contains(writing, p) {
			outcomes[i] = Outcome{ErrNotApplied, p.view()}
			continue
		}
		next, err := c.admit(p, id, r)
		if next != nil {
			writing, states, which = append(writing, p), append(states, *next), append(which, i)
			continue
		}
		outcomes[i] = Outcome{err, p.view()}
	}
	if err := c.writeStates(ctx, writing, states); err != nil {
		for _, p := range writing {
			c.dirty[p] = true
		}
		return nil, err
	}
	for i, p := range writing {
		c.dirty[p] = true
		if p.reread { // somebody else wrote it
			outcomes[which[i]] = Outcome{ErrStaleState, p.view()}
			continue
		}
		outcomes[which[i]] = Outcome{nil, p.view()}
		if p.reassigning() {
			c.signal(tickEvent) // it may have waited for this
		}
	}
	return outcomes, nil
}

func (c *Controller) proposed(r Proposal) *partition {
	if r.TopicID.IsZero() {
		return c.find(TopicPartition{Topic: r.Topic, Partition: r.Partition})
	}
	for _, t := range c.topics {
		if t.ID == r.TopicID && t.deletion == nil {
			return t.partitions[r.Partition]
		}
	}
	return nil
}

// catchUpWith reads the states again of which a leader knows more than this
// controller, which must not call it stale: the leader would wait for news that
// nobody has.
func (c *Controller) catchUpWith(ctx context.Context, proposals []Proposal) error {
	behind := false
	for _, r := range proposals {
		if p := c.proposed(r); p != nil && (r.PartitionEpoch > p.state.Version || r.LeaderEpoch > p.state.LeaderEpoch) {
			p.reread, c.dirty[p], behind = true, true, true
		}
	}
	if !behind {
		return nil
	}
	return c.settle(ctx)
}

// admit checks one proposal against what the controller knows; next is the state to
// be written, nil where the proposal is answered at once.
func (c *Controller) admit(p *partition, id int32, r Proposal) (next *znode.PartitionState, err error) {
	s := p.state
	if s.Leader == id && s.LeaderEpoch == r.LeaderEpoch && s.Version == r.PartitionEpoch+1 && slices.Equal(s.ISR, r.ISR) {
		return nil, nil // applied by a request whose answer got lost
	}
	if r.PartitionEpoch > s.Version || r.LeaderEpoch > s.LeaderEpoch {
		return nil, ErrUnknownOutcome
	}
	if s.Leader != id || s.LeaderEpoch != r.LeaderEpoch || s.Version != r.PartitionEpoch {
		c.tellAgain(p, id)
		return nil, ErrStaleState
	}
	if p.held || c.dirty[p] {
		return nil, ErrUnknownOutcome // it is about to change
	}
	if candidates := c.candidates(p); len(r.ISR) == 0 || !candidates.Admits(r.ISR) {
		return nil, ErrIneligibleReplica
	}
	next = &znode.PartitionState{}
	*next = s
	next.ISR, next.Recovering, next.ControllerEpoch = slices.Clone(r.ISR), r.Recovering, c.fence.Epoch
	next.ELR = c.nextELR(p, s, next.ISR)
	return next, nil
}

// nextELR are the eligible leaders beside a new ISR, where any are kept.
func (c *Controller) nextELR(p *partition, before znode.PartitionState, isr []replication.Member) []replication.Member {
	with := c.strategy(p.topic.Name)
	if !with.spec.KeepsELR(with.cfg.ELR) {
		return nil
	}
	return replication.NextELR(before.ISR, before.ELR, isr, with.cfg.MinISR, len(p.replicas))
}
