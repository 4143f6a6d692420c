package controller

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tidemark/coordinator/znode"
)

// A replica that is none any more is stray until its broker says that it is deleted,
// however long the broker is away. It is noted before the assignment changes, so no
// controller forgets it; a note about a replica that is assigned still, or again, is
// not acted on.

// loadStrays reads the replicas that brokers still have.
func (c *Controller) loadStrays(ctx context.Context) error {
	strays, err := c.o.Client.Strays(ctx)
	var bad *znode.FormatError
	if errors.As(err, &bad) {
		c.log.Error("stray replicas are left alone", "error", err)
		return nil
	}
	c.strays = strays
	return err
}

// stray is the note about a topic, an empty one where there is none.
func (c *Controller) stray(t *topic) znode.Stray {
	for _, s := range c.strays {
		if s.ID == t.ID {
			return znode.Stray{Topic: s.Topic, ID: s.ID, Replicas: cloneAssignment(s.Replicas)}
		}
	}
	return znode.Stray{Topic: t.Name, ID: t.ID, Replicas: map[int32][]int32{}}
}

// noteStrays notes replicas that are about to be none any more, and forgets those that
// are about to be some again.
func (c *Controller) noteStrays(ctx context.Context, t *topic, gone, back map[int32][]int32) error {
	before := c.stray(t)
	next := znode.Stray{Topic: t.Name, ID: t.ID, Replicas: cloneAssignment(before.Replicas)}
	for index, brokers := range gone {
		next.Replicas[index] = slices.Sorted(slices.Values(union(next.Replicas[index], brokers)))
	}
	for index, brokers := range back {
		next.Replicas[index] = without(next.Replicas[index], brokers)
	}
	maps.DeleteFunc(next.Replicas, func(_ int32, brokers []int32) bool { return len(brokers) == 0 })
	if maps.EqualFunc(before.Replicas, next.Replicas, slices.Equal) {
		return nil
	}
	return c.setStray(ctx, next)
}

func (c *Controller) setStray(ctx context.Context, s znode.Stray) error {
	if err := c.o.Client.SetStray(ctx, c.fence, s); err != nil {
		return err
	}
	c.strays = slices.DeleteFunc(c.strays, func(old znode.Stray) bool { return old.ID == s.ID })
	if len(s.Replicas) > 0 {
		c.strays = append(c.strays, s)
	}
	return nil
}

// tellStrays has the brokers that are there delete their strays.
func (c *Controller) tellStrays(context.Context) error {
	for _, s := range c.strays {
		for _, index := range sortedKeys(s.Replicas) {
			for _, id := range s.Replicas[index] {
				if b := c.brokers[id]; b != nil {
					c.stopStray(b, s, index)
				}
			}
		}
	}
	return nil
}

func (c *Controller) stopStray(b *broker, s znode.Stray, index int32) {
	tp, epoch := TopicPartition{Topic: s.Topic, Partition: index}, EpochDuringDelete
	if t := c.topics[s.Topic]; t != nil && t.ID == s.ID && t.deletion == nil {
		p := t.partitions[index]
		if p == nil || slices.Contains(p.replicas, b.ID) {
			return
		}
		epoch = p.state.LeaderEpoch
	}
	b.sender.remove(key{s.ID, tp}, StopPartition{TopicPartition: tp, TopicID: s.ID, LeaderEpoch: epoch, Delete: true}, func(err error) {
		if err != nil {
			return // its directory is offline: the next life of the broker is asked again
		}
		c.post(func() { c.strayGone(b, s.ID, index) })
	})
}

// strayGone takes a replica that is deleted out of the list.
func (c *Controller) strayGone(b *broker, id znode.TopicID, index int32) {
	if !c.elected.Load() || c.brokers[b.ID] != b {
		return
	}
	for _, s := range c.strays {
		if s.ID != id {
			continue
		}
		next := znode.Stray{Topic: s.Topic, ID: s.ID, Replicas: cloneAssignment(s.Replicas)}
		next.Replicas[index] = without(next.Replicas[index], []int32{b.ID})
		if len(next.Replicas[index]) == 0 {
			delete(next.Replicas, index)
		}
		c.settled(0, "note that a stray replica is gone", c.setStray(c.term, next))
		return
	}
}
