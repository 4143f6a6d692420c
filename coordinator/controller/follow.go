package controller

import (
	"context"
	"errors"
	"slices"

	"tidemark/coordinator/znode"
)

// followTopics takes in topics that somebody else created or grew, and stops those
// whose node somebody removed.
func (c *Controller) followTopics(ctx context.Context) error {
	names, err := c.o.Client.TopicNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(c.topics) {
		if t := c.topics[name]; !slices.Contains(names, name) && t.deletion == nil {
			c.log.Warn("topic vanished without a request to delete it", "topic", name)
			if err := c.beginDeletion(ctx, t); err != nil {
				return err
			}
		}
	}
	if err := c.rereadTopics(ctx); err != nil {
		return err
	}
	if err := c.loadTopics(ctx); err != nil {
		return err
	}
	c.signal(deletionsEvent) // one of them may have been asked to go already
	return nil
}

// rereadTopics brings topics up to date whose node may be another than is known.
func (c *Controller) rereadTopics(ctx context.Context) error {
	var names []string
	for _, name := range sortedKeys(c.stale) {
		if t := c.topics[name]; t != nil && t.deletion == nil {
			names = append(names, name)
		}
	}
	results, err := c.o.Client.Topics(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		t, r := c.topics[name], results[i]
		switch {
		case errors.Is(r.Err, znode.ErrNotFound):
			c.signal(topicsEvent)
		case r.Err != nil:
			c.log.Error("topic is left as it was", "topic", name, "error", r.Err)
		case r.Topic.Version != t.Version:
			if err := c.refreshTopic(ctx, t, r.Topic); err != nil {
				return err
			}
		}
		for _, p := range t.partitions {
			if p.held {
				p.held = false
				c.dirty[p] = true
			}
		}
	}
	clear(c.stale)
	return c.tellStrays(ctx)
}

// refreshTopic takes a topic over as it stands: its assignment, and partitions that
// it has grown.
func (c *Controller) refreshTopic(ctx context.Context, t *topic, zt znode.Topic) error {
	if zt.ID != t.ID && !zt.ID.IsZero() {
		// Deleted and created again without us: two topics, one after the other.
		c.drop(t)
		return c.readStates(ctx, c.adopt(zt))
	}
	zt.ID = t.ID
	t.Topic = zt
	var fresh []*partition
	for _, index := range sortedKeys(zt.Partitions) {
		p := t.partitions[index]
		if len(zt.Partitions[index]) == 0 {
			continue
		}
		if p == nil {
			p = newPartition(t, index)
			t.partitions[index] = p
			fresh = append(fresh, p)
			c.log.Info("topic has grown", "topic", t.Name, "partition", index)
		}
		p.replicas = zt.Partitions[index]
		c.dirty[p] = true
	}
	return c.readStates(ctx, fresh)
}

// drop forgets a topic.
func (c *Controller) drop(t *topic) {
	if t.unwatch != nil {
		t.unwatch()
	}
	for _, p := range t.partitions {
		delete(c.dirty, p)
	}
	if c.topics[t.Name] == t {
		delete(c.topics, t.Name)
	}
}

// retryStale reads again what an attempt left unknown.
func (c *Controller) retryStale(ctx context.Context) error {
	if len(c.stale) > 0 {
		if err := c.rereadTopics(ctx); err != nil {
			return err
		}
	}
	return c.advanceAll(ctx)
}
