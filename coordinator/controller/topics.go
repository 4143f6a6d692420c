package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/coordinator/controller/election"
	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// topic is what the controller knows of one; states has every partition.
type topic struct {
	znode.Topic
	states map[int32]znode.PartitionState
}

func (t *topic) state(p int32, isNew bool) PartitionState {
	s := t.states[p]
	return PartitionState{
		TopicPartition: TopicPartition{Topic: t.Name, Partition: p}, TopicID: t.ID,
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, ISR: slices.Clone(s.ISR), Replicas: slices.Clone(t.Partitions[p]),
		PartitionEpoch: s.Version, ControllerEpoch: s.ControllerEpoch, IsNew: isNew,
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func (c *Controller) topicNames() []string { return sortedKeys(c.topics) }

func (c *Controller) allStates() []PartitionState {
	var out []PartitionState
	for _, name := range c.topicNames() {
		t := c.topics[name]
		for _, p := range sortedKeys(t.states) {
			out = append(out, t.state(p, false))
		}
	}
	return out
}

// loadTopics reads the topics that are not known yet. One that cannot be read
// is passed over, loudly: it must not take the others with it.
func (c *Controller) loadTopics(ctx context.Context) error {
	names, err := c.o.Client.TopicNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if c.topics[name] != nil {
			continue
		}
		var bad *znode.FormatError
		err := ValidateTopicName(name)
		if err == nil {
			_, err = c.loadTopic(ctx, name)
		}
		switch {
		case err == nil, errors.Is(err, znode.ErrNotFound):
		case errors.Is(err, ErrInvalidTopic), errors.As(err, &bad), errors.Is(err, ErrInvalidAssignment):
			c.log.Error("topic is left alone", "topic", name, "error", err)
		default:
			return err
		}
	}
	return nil
}

// loadTopic reads a topic, gives it an id where it has none, and brings its
// partitions without a state into being. It returns those.
func (c *Controller) loadTopic(ctx context.Context, name string) (created []int32, err error) {
	zt, err := c.o.Client.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &topic{Topic: zt, states: map[int32]znode.PartitionState{}}
	for p, replicas := range t.Partitions {
		if len(replicas) == 0 {
			return nil, fmt.Errorf("%w: partition %d of %s has no replica", ErrInvalidAssignment, p, name)
		}
	}
	if t.ID.IsZero() {
		t.ID = znode.NewTopicID()
		if t.Version, err = c.o.Client.SetTopic(ctx, c.fence, t.Topic); err != nil {
			return nil, err
		}
	}
	for _, p := range sortedKeys(t.Partitions) {
		s, err := c.o.Client.PartitionState(ctx, TopicPartition{Topic: name, Partition: p})
		switch {
		case errors.Is(err, znode.ErrNotFound):
			created = append(created, p)
		case err != nil:
			return nil, err
		default:
			s.ISR = slices.DeleteFunc(s.ISR, func(m replication.Member) bool { return !slices.Contains(t.Partitions[p], m.Broker) })
			t.states[p] = s
		}
	}
	if err := c.bringUp(ctx, t, created); err != nil {
		return nil, err
	}
	c.topics[name] = t
	return created, nil
}

// bringUp writes the first state of new partitions.
func (c *Controller) bringUp(ctx context.Context, t *topic, partitions []int32) error {
	var fresh []znode.NewPartition
	for _, p := range partitions {
		d := election.Initial(t.Partitions[p], c.live())
		if d.Leader == election.NoLeader {
			// Nobody can be in sync with nothing: the first replica will be.
			d.ISR = t.Partitions[p][:1]
		}
		s := znode.PartitionState{Leader: d.Leader, ISR: znode.Members(d.ISR...), ControllerEpoch: c.fence.Epoch}
		t.states[p] = s
		fresh = append(fresh, znode.NewPartition{TopicPartition: TopicPartition{Topic: t.Name, Partition: p}, State: s})
	}
	return c.o.Client.CreatePartitions(ctx, c.fence, fresh)
}

// followTopics takes in topics that somebody else created, and stops those whose
// node somebody removed.
func (c *Controller) followTopics(ctx context.Context) error {
	if !c.elected.Load() {
		return nil
	}
	names, err := c.o.Client.TopicNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.topicNames() {
		if !slices.Contains(names, name) {
			c.log.Warn("topic vanished without a request to delete it", "topic", name)
			if err := c.stop(c.topics[name]); err != nil {
				return err
			}
			delete(c.topics, name)
		}
	}
	known := maps.Clone(c.topics)
	if err := c.loadTopics(ctx); err != nil {
		return err
	}
	var states []PartitionState
	for _, name := range c.topicNames() {
		if known[name] != nil {
			continue
		}
		if err := c.tellConfig(ctx, znode.Topics, name); err != nil {
			return err
		}
		for _, p := range sortedKeys(c.topics[name].states) {
			states = append(states, c.topics[name].state(p, true))
		}
	}
	return c.apply(states)
}

func (c *Controller) stop(t *topic) error {
	var partitions []TopicPartition
	for _, p := range sortedKeys(t.Partitions) {
		partitions = append(partitions, TopicPartition{Topic: t.Name, Partition: p})
	}
	if err := c.o.Sink.(LocalSink).StopPartitions(partitions, true); err != nil {
		return fmt.Errorf("stop topic %s: %w", t.Name, err)
	}
	return nil
}

// followDeletions carries out every request to delete a topic.
func (c *Controller) followDeletions(ctx context.Context) error {
	if !c.elected.Load() {
		return nil
	}
	names, err := c.o.Client.TopicDeletions(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		if err := c.finishDeletion(ctx, name); err != nil {
			if errors.Is(err, znode.ErrFenced) {
				return err
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// finishDeletion stops a topic and removes its nodes. The request goes last, so
// that whoever is controller next takes up what was cut short.
func (c *Controller) finishDeletion(ctx context.Context, name string) error {
	if c.topics[name] == nil && ValidateTopicName(name) == nil {
		// A topic that just came may not have been taken in yet.
		_, err := c.loadTopic(ctx, name)
		var bad *znode.FormatError
		if errors.As(err, &bad) || errors.Is(err, ErrInvalidAssignment) {
			c.topics[name] = &topic{Topic: znode.Topic{Name: name}} // unreadable, but its nodes can go
		} else if err != nil && !errors.Is(err, znode.ErrNotFound) {
			return err
		}
	}
	if t := c.topics[name]; t != nil {
		if err := c.stop(t); err != nil {
			return err
		}
	}
	if err := c.o.Client.DeleteTopic(ctx, c.fence, name); err != nil {
		return err
	}
	if c.topics[name] != nil {
		delete(c.topics, name)
		c.log.Info("topic deleted", "topic", name)
	}
	return nil
}
