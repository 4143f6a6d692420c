package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/coordinator/znode"
)

// AlterReassignments begins, replaces or cancels reassignments and answers each, in
// order: nil, ErrUnknownPartition, ErrInvalidAssignment or ErrNoReassignment. It does
// not wait for their ends.
func (c *Controller) AlterReassignments(ctx context.Context, r []Reassignment) ([]error, error) {
	return inOffice(c, ctx, func(ctx context.Context) ([]error, error) {
		if err := c.settle(ctx); err != nil {
			return nil, err
		}
		return c.reassign(ctx, r)
	})
}

// reassign begins what can be begun, topic by topic.
func (c *Controller) reassign(ctx context.Context, r []Reassignment) ([]error, error) {
	answers := make([]error, len(r))
	changes := map[*topic][]change{}
	for i, want := range r {
		p := c.find(want.TopicPartition)
		switch {
		case p == nil:
			answers[i] = ErrUnknownPartition
			continue
		case c.dirty[p] || p.held:
			answers[i] = fmt.Errorf("%w: its state is being changed; try again", ErrReassignmentInProgress)
			continue
		case want.Replicas == nil && !p.reassigning():
			answers[i] = ErrNoReassignment
			continue
		}
		target := want.Replicas
		if target == nil {
			target = p.origin()
		} else if err := c.checkTarget(p, target); err != nil {
			answers[i] = err
			continue
		}
		if slices.ContainsFunc(changes[p.topic], func(ch change) bool { return ch.p == p }) {
			answers[i] = fmt.Errorf("%w: the partition is named twice", ErrInvalidAssignment)
			continue
		}
		if slices.Equal(target, p.replicas) && !p.reassigning() {
			continue // it is there
		}
		changes[p.topic] = append(changes[p.topic], c.begin(p, slices.Clone(target)))
	}
	for _, name := range sortedKeys(c.topics) {
		if err := c.carryOut(ctx, c.topics[name], changes[c.topics[name]]); err != nil {
			return nil, err
		}
	}
	c.signal(tickEvent) // what needs no copying ends at once
	return answers, nil
}

// checkTarget wants live brokers, each once. Who is a replica already may be dead.
func (c *Controller) checkTarget(p *partition, target []int32) error {
	if len(target) == 0 {
		return fmt.Errorf("%w: no replica", ErrInvalidAssignment)
	}
	for i, id := range target {
		switch {
		case id < 0 || slices.Contains(target[:i], id):
			return fmt.Errorf("%w: broker %d is negative or listed twice", ErrInvalidAssignment, id)
		case c.brokers[id] == nil && !slices.Contains(p.replicas, id):
			return fmt.Errorf("%w: broker %d is not live", ErrInvalidAssignment, id)
		}
	}
	return nil
}

// ListReassignments lists the reassignments under way; nil partitions mean all.
func (c *Controller) ListReassignments(ctx context.Context, partitions []TopicPartition) ([]Ongoing, error) {
	return inOffice(c, ctx, func(context.Context) ([]Ongoing, error) {
		var out []Ongoing
		for _, p := range c.all() {
			if !p.reassigning() || partitions != nil && !slices.Contains(partitions, p.tp()) {
				continue
			}
			t := p.topic
			out = append(out, Ongoing{p.tp(), slices.Clone(p.replicas), slices.Clone(t.Adding[p.index]), slices.Clone(t.Removing[p.index])})
		}
		return out, nil
	})
}

// followReassignments begins what /admin/reassign_partitions asks for, as Kafka's
// older tools wrote it, and remembers it until it is done.
func (c *Controller) followReassignments(ctx context.Context) error {
	wanted, err := c.o.Client.Reassignments(ctx)
	var bad *znode.FormatError
	if errors.As(err, &bad) {
		c.log.Error("request to reassign is dropped", "error", err)
		return c.o.Client.DropReassignments(ctx, c.fence)
	}
	if err != nil {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	var begin []Reassignment
	for tp, replicas := range wanted {
		p := c.find(tp)
		if p == nil || !slices.Equal(p.target(), replicas) {
			begin = append(begin, Reassignment{tp, replicas})
		}
	}
	answers, err := c.reassign(ctx, begin)
	if err != nil {
		return err
	}
	for i, err := range answers {
		if err != nil && !errors.Is(err, ErrReassignmentInProgress) {
			c.log.Error("partition is not reassigned", "topic", begin[i].Topic, "partition", begin[i].Partition, "error", err)
			delete(wanted, begin[i].TopicPartition)
		}
	}
	c.wanted = wanted
	return c.o.Client.FinishReassignments(ctx, c.fence, func(tp TopicPartition) bool { return wanted[tp] == nil })
}

// finishWanted takes what is done out of /admin/reassign_partitions, which goes with
// the last.
func (c *Controller) finishWanted(ctx context.Context) error {
	done := false
	for tp, replicas := range c.wanted {
		p := c.find(tp)
		if p == nil || !p.reassigning() && slices.Equal(p.replicas, replicas) {
			delete(c.wanted, tp)
			done = true
		}
	}
	if !done {
		return nil
	}
	return c.o.Client.FinishReassignments(ctx, c.fence, func(tp TopicPartition) bool { return c.wanted[tp] == nil })
}
