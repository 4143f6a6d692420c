package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/znode"
)

// toldWithin is how long a creation waits for brokers other than its own to confirm
// that they know.
const toldWithin = time.Second

// CreateTopic creates a topic, or only checks that it could. When it returns, the
// own broker has been told of the partitions, and the others, if they answered
// within a second. An error after the topic was written leaves it there.
func (c *Controller) CreateTopic(ctx context.Context, r TopicRequest) (TopicInfo, error) {
	if err := ValidateTopicName(r.Name); err != nil {
		return TopicInfo{}, err
	}
	info, err := inOffice(c, ctx, func(ctx context.Context) (TopicInfo, error) { return c.createTopic(ctx, r) })
	if err != nil || r.ValidateOnly {
		return info, err
	}
	return info, c.awaitTold(ctx, toldWithin)
}

func (c *Controller) createTopic(ctx context.Context, r TopicRequest) (TopicInfo, error) {
	if err := c.checkNewName(ctx, r.Name); err != nil {
		return TopicInfo{}, err
	}
	partitions, err := c.place(r)
	if err != nil {
		return TopicInfo{}, err
	}
	info := TopicInfo{Name: r.Name, Partitions: partitions}
	if r.ValidateOnly {
		return info, nil
	}
	info.ID = znode.NewTopicID()
	t := znode.Topic{Name: r.Name, ID: info.ID, Partitions: partitions}
	if err := c.o.Client.CreateTopic(ctx, c.fence, t, r.Config); err != nil {
		if errors.Is(err, znode.ErrExists) {
			err = fmt.Errorf("%w: %s", ErrTopicExists, r.Name)
		}
		c.signal(topicsEvent) // it may be there: then it is taken in
		return TopicInfo{}, err
	}
	info.Partitions = cloneAssignment(partitions)
	c.configs.learned(znode.Topics, r.Name, cloneConfig(r.Config))
	for _, p := range c.adopt(t) {
		p.isNew = true
		c.dirty[p] = true
	}
	return info, c.settle(ctx)
}

func cloneAssignment(m map[int32][]int32) map[int32][]int32 {
	out := make(map[int32][]int32, len(m))
	for p, replicas := range m {
		out[p] = slices.Clone(replicas)
	}
	return out
}

func cloneConfig(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// checkNewName refuses a name that is taken, also by a topic still being
// deleted, and one that differs from another only by '.' for '_'.
func (c *Controller) checkNewName(ctx context.Context, name string) error {
	if t := c.topics[name]; t != nil && t.deletion == nil {
		return fmt.Errorf("%w: %s", ErrTopicExists, name)
	}
	for other := range c.topics {
		if other != name && collisionKey(other) == collisionKey(name) {
			return fmt.Errorf("%w: %s collides with %s, they differ only by '.' and '_'", ErrInvalidTopic, name, other)
		}
	}
	deletions, err := c.o.Client.TopicDeletions(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(deletions, name) {
		return fmt.Errorf("%w: %s is being deleted", ErrTopicExists, name)
	}
	return nil
}

// CreatePartitions grows a topic, or only checks that it could. It waits as
// CreateTopic does.
func (c *Controller) CreatePartitions(ctx context.Context, r PartitionsRequest) error {
	_, err := inOffice(c, ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.createPartitions(ctx, r) })
	if err != nil || r.ValidateOnly {
		return err
	}
	return c.awaitTold(ctx, toldWithin)
}

func (c *Controller) createPartitions(ctx context.Context, r PartitionsRequest) error {
	t := c.topics[r.Name]
	if t == nil || t.deletion != nil {
		return fmt.Errorf("%w: %s", ErrUnknownTopic, r.Name)
	}
	if t.reassigning() {
		return fmt.Errorf("grow topic %s: %w", r.Name, ErrReassignmentInProgress)
	}
	grown, fresh, err := c.grow(t, r)
	if err != nil {
		return fmt.Errorf("grow topic %s: %w", r.Name, err)
	}
	if r.ValidateOnly {
		return nil
	}
	c.stale[t.Name] = true
	if grown.Version, err = c.o.Client.SetTopic(ctx, c.fence, grown); err != nil {
		return err
	}
	delete(c.stale, t.Name)
	t.Topic = grown
	for _, index := range fresh {
		p := newPartition(t, index)
		p.isNew = true
		t.partitions[index] = p
		c.dirty[p] = true
	}
	return c.settle(ctx)
}
