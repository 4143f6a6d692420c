package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"tidemark/coordinator/znode"
)

// settleRounds bounds one call of settle: what has not come to rest by then goes on
// at the next tick, after other events had their turn.
const settleRounds = 10

// settle brings every partition that something changed for to the state that it
// should have: the states are decided, written many at a time, read back where
// somebody else wrote them, and decided again until nothing is to be changed. Then
// brokers are told. A partition that is due to change is told to nobody: it could
// give a leader that bounced its old epoch back.
func (c *Controller) settle(ctx context.Context) error {
	defer func() { c.specs = nil }()
	for range settleRounds {
		c.specs = map[string]strategy{}
		if err := c.rereadStates(ctx); err != nil {
			return err
		}
		due, states := c.decideDirty()
		if len(due) == 0 {
			c.release()
			return nil
		}
		if err := c.writeStates(ctx, due, states); err != nil {
			return err
		}
	}
	c.log.Warn("partitions do not come to rest", "partitions", len(c.dirty))
	c.release()
	return nil
}

// unrestLimit is how long a partition that does not come to rest keeps senders from
// beginning: in calls of settle, of which there is one every tick.
const unrestLimit = 25

// release lets senders begin with everything that their brokers have, or, where that
// takes too long, with what there is.
func (c *Controller) release() {
	if c.unrest++; len(c.dirty) == 0 {
		c.unrest = 0
	}
	if len(c.dirty) > 0 && c.unrest < unrestLimit {
		return
	}
	for _, b := range c.brokers {
		b.sender.release(len(c.passed)+len(c.dirty) == 0)
	}
}

func (c *Controller) sortedDirty() []*partition {
	return slices.SortedFunc(maps.Keys(c.dirty), func(a, b *partition) int {
		return cmp.Or(cmp.Compare(a.topic.Name, b.topic.Name), cmp.Compare(a.index, b.index))
	})
}

// decideDirty tells who is at rest, and returns who is not with the state it should
// have.
func (c *Controller) decideDirty() (due []*partition, states []znode.PartitionState) {
	for _, b := range c.brokers {
		b.sender.gather(true)
		defer b.sender.gather(false)
	}
	for _, p := range c.sortedDirty() {
		if p.topic.deletion != nil {
			delete(c.dirty, p)
			continue
		}
		if next := c.decide(p); next != nil {
			due, states = append(due, p), append(states, *next)
			continue
		}
		p.unclean = false
		if p.held {
			continue
		}
		delete(c.dirty, p)
		c.tell(p)
	}
	return due, states
}

func (c *Controller) rereadStates(ctx context.Context) error {
	var unknown []*partition
	for _, p := range c.sortedDirty() {
		if p.reread {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	held := map[*partition]bool{}
	for _, p := range unknown {
		held[p] = p.held
	}
	if err := c.readStates(ctx, unknown); err != nil {
		return err
	}
	for _, p := range unknown {
		p.held = held[p]
	}
	return nil
}

// writeStates writes the states of partitions; who has a node already, and who gets
// one. Those that somebody else wrote are to be read again.
func (c *Controller) writeStates(ctx context.Context, partitions []*partition, states []znode.PartitionState) error {
	var fresh []*partition
	var creations []znode.NewPartition
	var old []*partition
	var writes []znode.StateWrite
	for i, p := range partitions {
		p.reread = true // until the outcome is known
		if p.exists {
			old = append(old, p)
			writes = append(writes, znode.StateWrite{TopicPartition: p.tp(), State: states[i]})
			continue
		}
		p.state = states[i]
		fresh = append(fresh, p)
		creations = append(creations, znode.NewPartition{TopicPartition: p.tp(), State: states[i]})
	}
	var n moved
	defer n.log(c.log)
	if len(creations) > 0 {
		if err := c.o.Client.CreatePartitions(ctx, c.fence, creations); err != nil {
			return c.topicsGone(err, fresh)
		}
		for _, p := range fresh {
			p.exists, p.reread, p.state.Version = true, false, 0
			n.count(znode.NoLeader, p.state.Leader)
			c.traceElected(p, znode.NoLeader)
		}
	}
	results, err := c.o.Client.SetPartitionStates(ctx, c.fence, writes)
	if err != nil {
		return err
	}
	for i, p := range old {
		if results[i].Err == nil {
			before := p.state
			p.state, p.reread = results[i].State, false
			n.count(before.Leader, p.state.Leader)
			if before.LeaderEpoch != p.state.LeaderEpoch {
				c.traceElected(p, before.Leader)
			}
		}
		if errors.Is(results[i].Err, znode.ErrNotFound) {
			c.signal(topicsEvent)
		}
	}
	return nil
}

// moved counts what became of leaders in one round of writes.
type moved struct{ elected, lost int }

func (n *moved) count(before, now int32) {
	switch {
	case now == before:
	case now == znode.NoLeader:
		n.lost++
	default:
		n.elected++
	}
}

func (n *moved) log(to *slog.Logger) {
	if n.elected > 0 {
		to.Info("leaders were elected", "partitions", n.elected)
	}
	if n.lost > 0 {
		to.Info("partitions lost their leader and have no other yet", "partitions", n.lost)
	}
}

// topicsGone passes over new partitions whose topic was removed in the meantime.
func (c *Controller) topicsGone(err error, fresh []*partition) error {
	if !errors.Is(err, znode.ErrNotFound) {
		return err
	}
	for _, p := range fresh {
		delete(c.dirty, p)
		c.stale[p.topic.Name] = true
	}
	c.signal(topicsEvent)
	return nil
}

// tell passes a state on to every live broker that has not heard of it.
func (c *Controller) tell(p *partition) {
	view := p.view()
	for id, b := range c.brokers {
		b.sender.put(p.key(), view, slices.Contains(p.replicas, id), p.topic.Version)
	}
	if p.state.Leader != znode.NoLeader {
		for _, b := range c.brokers {
			b.sender.unfence(p.key())
		}
	}
}

// tellAgain repeats a state to one broker, which seems not to know it.
func (c *Controller) tellAgain(p *partition, id int32) {
	if b := c.brokers[id]; b != nil && !c.dirty[p] && !p.held {
		b.sender.again(p.key(), p.view(), slices.Contains(p.replicas, id), p.topic.Version)
	}
}
