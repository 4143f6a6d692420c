package controller

import (
	"context"
	"fmt"

	"tidemark/coordinator/znode"
)

// deletion is a topic's that is under way: its replicas are being stopped.
type deletion struct {
	// pending are brokers that have not stopped a replica yet, by partition; gone
	// those that left without having done so.
	pending map[int32]map[int32]bool
	gone    map[int32][]int32
}

// abandon goes on without a broker; its replicas are stray until it is back.
func (d *deletion) abandon(id int32) {
	if d == nil {
		return
	}
	for index, brokers := range d.pending {
		if brokers[id] {
			delete(brokers, id)
			d.gone[index] = append(d.gone[index], id)
		}
	}
}

func (d *deletion) done() bool {
	for _, brokers := range d.pending {
		if len(brokers) > 0 {
			return false
		}
	}
	return true
}

// DeleteTopic deletes the topic of that name and returns once its nodes are gone, and
// brokers know as they do after CreateTopic.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error {
	_, err := c.deleteTopic(ctx, func() *topic { return c.topics[name] }, fmt.Errorf("%w: %s", ErrUnknownTopic, name))
	return err
}

// DeleteTopicID deletes the topic with that id and returns its name.
func (c *Controller) DeleteTopicID(ctx context.Context, id znode.TopicID) (name string, err error) {
	return c.deleteTopic(ctx, func() *topic {
		for _, t := range c.topics {
			if t.ID == id {
				return t
			}
		}
		return nil
	}, fmt.Errorf("%w: %s", ErrUnknownTopicID, id))
}

func (c *Controller) deleteTopic(ctx context.Context, find func() *topic, unknown error) (name string, err error) {
	type begun struct {
		name string
		gone context.Context
		term context.Context
	}
	b, err := inOffice(c, ctx, func(ctx context.Context) (begun, error) {
		t := find()
		if t == nil || t.deletion != nil {
			return begun{}, unknown
		}
		// The request is durable first: a deletion, once begun, is finished. It stays
		// while the topic is watched, so the end of the watch is the end of the topic.
		if err := c.o.Client.RequestTopicDeletion(ctx, t.Name); err != nil {
			return begun{}, err
		}
		return begun{t.Name, t.known, c.term}, c.followDeletions(ctx)
	})
	if err != nil {
		return b.name, err
	}
	select {
	case <-b.gone.Done():
		if b.term.Err() != nil {
			return b.name, ErrNotController
		}
		return b.name, c.awaitTold(ctx, toldWithin)
	case <-ctx.Done():
		return b.name, ctx.Err()
	}
}

// followDeletions begins every deletion that was asked for, and ends those whose
// replicas are stopped.
func (c *Controller) followDeletions(ctx context.Context) error {
	names, err := c.o.Client.TopicDeletions(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		t := c.topics[name]
		if t == nil {
			if err := c.deleteUnknown(ctx, name); err != nil {
				return err
			}
			continue
		}
		if t.deletion == nil {
			if t.reassigning() {
				c.log.Info("deletion waits for a reassignment", "topic", name)
				continue
			}
			if err := c.beginDeletion(ctx, t); err != nil {
				return err
			}
		}
	}
	for _, name := range sortedKeys(c.topics) {
		if t := c.topics[name]; t.deletion != nil && t.deletion.done() {
			if err := c.endDeletion(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteUnknown removes the nodes of a topic that is not there, or that nobody can
// read.
func (c *Controller) deleteUnknown(ctx context.Context, name string) error {
	if !c.passed[name] {
		if t, err := c.o.Client.Topic(ctx, name); err == nil {
			if t, err = c.checkTopic(ctx, name, t); err == nil {
				// It just came: it is taken in, and deleted in order.
				c.signal(deletionsEvent)
				return c.readStates(ctx, c.adopt(t))
			}
		}
	}
	if err := c.o.Client.DeleteTopic(ctx, c.fence, name); err != nil {
		return err
	}
	delete(c.passed, name)
	return nil
}

// beginDeletion tells all brokers that the topic is gone, and those with replicas to
// delete them.
func (c *Controller) beginDeletion(ctx context.Context, t *topic) error {
	t.deletion = &deletion{map[int32]map[int32]bool{}, map[int32][]int32{}}
	for _, index := range sortedKeys(t.partitions) {
		p := t.partitions[index]
		delete(c.dirty, p)
		for _, b := range c.brokers {
			b.sender.vanish(p.key(), p.view())
		}
		t.deletion.pending[index] = map[int32]bool{}
		for _, id := range p.replicas {
			if c.brokers[id] == nil {
				t.deletion.gone[index] = append(t.deletion.gone[index], id)
				continue
			}
			t.deletion.pending[index][id] = true
			c.stopDeleted(t, p, id)
		}
	}
	c.log.Info("topic is being deleted", "topic", t.Name)
	if t.deletion.done() {
		return c.endDeletion(ctx, t)
	}
	return nil
}

func (c *Controller) stopDeleted(t *topic, p *partition, id int32) {
	d := t.deletion
	s := c.brokers[id].sender
	s.remove(p.key(), StopPartition{TopicPartition: p.tp(), TopicID: t.ID, LeaderEpoch: EpochDuringDelete, Delete: true}, func(err error) {
		c.post(func() {
			if b := c.brokers[id]; b == nil || b.sender != s || !d.pending[p.index][id] {
				return // it left meanwhile: the replica is stray
			}
			delete(d.pending[p.index], id)
			if err != nil {
				d.gone[p.index] = append(d.gone[p.index], id)
			}
			if d.done() {
				c.signal(deletionsEvent)
			}
		})
	})
}

// endDeletion notes who has a replica still, and removes the nodes. The request goes
// last, so that whoever is controller next takes up what was cut short.
func (c *Controller) endDeletion(ctx context.Context, t *topic) error {
	if err := c.noteStrays(ctx, t, t.deletion.gone, nil); err != nil {
		return err
	}
	if err := c.o.Client.DeleteTopic(ctx, c.fence, t.Name); err != nil {
		return err
	}
	c.drop(t)
	c.log.Info("topic deleted", "topic", t.Name)
	return c.tellStrays(ctx)
}
