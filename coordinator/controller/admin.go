package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"tidemark/coordinator/controller/election"
	"tidemark/coordinator/znode"
)

// maxPartitions bounds one topic: its assignment is one znode, and ZooKeeper's
// frames end at 1 MiB.
const maxPartitions = 10_000

// CreateTopic creates a topic, or only checks that it could. When it returns,
// the Sink has been told of the partitions. An error after the topic was written
// leaves it there.
func (c *Controller) CreateTopic(ctx context.Context, r TopicRequest) (info TopicInfo, err error) {
	if err := ValidateTopicName(r.Name); err != nil {
		return TopicInfo{}, err
	}
	err = c.inOffice(ctx, func(ctx context.Context) error {
		info, err = c.createTopic(ctx, r)
		return err
	})
	return info, err
}

func (c *Controller) createTopic(ctx context.Context, r TopicRequest) (TopicInfo, error) {
	if err := c.checkNewName(ctx, r.Name); err != nil {
		return TopicInfo{}, err
	}
	partitions, err := c.place(r)
	if err != nil {
		return TopicInfo{}, fmt.Errorf("create topic %s: %w", r.Name, err)
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
		return TopicInfo{}, err
	}
	created := &topic{Topic: t, states: map[int32]znode.PartitionState{}}
	if err := c.bringUp(ctx, created, sortedKeys(partitions)); err != nil {
		c.signal(topicsEvent) // the node is there: finish it later
		return TopicInfo{}, err
	}
	c.topics[r.Name] = created
	info.Partitions = cloneAssignment(partitions)
	c.o.Sink.ConfigChanged(znode.Topics, r.Name, cloneConfig(r.Config))
	return info, c.apply(created.all(true))
}

func (t *topic) all(isNew bool) []PartitionState {
	var out []PartitionState
	for _, p := range sortedKeys(t.states) {
		out = append(out, t.state(p, isNew))
	}
	return out
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
	if c.topics[name] != nil {
		return fmt.Errorf("%w: %s", ErrTopicExists, name)
	}
	for _, other := range c.topicNames() {
		if collisionKey(other) == collisionKey(name) {
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

// place checks or makes the assignment of a new topic.
func (c *Controller) place(r TopicRequest) (map[int32][]int32, error) {
	if len(r.Assignment) > 0 {
		return c.checkAssignment(r.Assignment)
	}
	live := c.live()
	switch {
	case r.Partitions < 1 || r.Partitions > maxPartitions:
		return nil, fmt.Errorf("%w: %d, want 1 to %d", ErrInvalidPartitions, r.Partitions, maxPartitions)
	case r.ReplicationFactor < 1:
		return nil, fmt.Errorf("%w: %d", ErrInvalidReplicationFactor, r.ReplicationFactor)
	case int(r.ReplicationFactor) > len(live):
		return nil, fmt.Errorf("%w: %d, but %d brokers are live", ErrInvalidReplicationFactor, r.ReplicationFactor, len(live))
	}
	lists, err := election.AssignReplicas(election.Placement{
		Brokers: live, Count: r.Partitions, Replicas: int(r.ReplicationFactor),
		Start: c.o.Pick(len(live)), Shift: c.o.Pick(len(live)),
	})
	if err != nil {
		return nil, err
	}
	out := map[int32][]int32{}
	for p, replicas := range lists {
		out[int32(p)] = replicas
	}
	return out, nil
}

// checkAssignment wants partitions 0 to n−1, each with as many replicas as the
// first.
func (c *Controller) checkAssignment(assignment map[int32][]int32) (map[int32][]int32, error) {
	if len(assignment) > maxPartitions {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrInvalidPartitions, len(assignment), maxPartitions)
	}
	for i := range len(assignment) {
		p := int32(i)
		replicas, ok := assignment[p]
		if !ok {
			return nil, fmt.Errorf("%w: partition %d is missing", ErrInvalidAssignment, p)
		}
		if err := c.checkReplicas(replicas, len(assignment[0])); err != nil {
			return nil, fmt.Errorf("%w: partition %d: %w", ErrInvalidAssignment, p, err)
		}
	}
	return cloneAssignment(assignment), nil
}

func (c *Controller) checkReplicas(replicas []int32, want int) error {
	if len(replicas) == 0 || len(replicas) > math.MaxInt16 || len(replicas) != want {
		return fmt.Errorf("%d replicas, want %d", len(replicas), max(want, 1))
	}
	live := c.live()
	for i, r := range replicas {
		if slices.Contains(replicas[:i], r) {
			return fmt.Errorf("broker %d is listed twice", r)
		}
		if !slices.Contains(live, r) {
			return fmt.Errorf("broker %d is not live", r)
		}
	}
	return nil
}

// CreatePartitions grows a topic, or only checks that it could.
func (c *Controller) CreatePartitions(ctx context.Context, r PartitionsRequest) error {
	return c.inOffice(ctx, func(ctx context.Context) error {
		t := c.topics[r.Name]
		if t == nil {
			return fmt.Errorf("%w: %s", ErrUnknownTopic, r.Name)
		}
		grown, fresh, err := c.grow(t, r)
		if err != nil {
			return fmt.Errorf("grow topic %s: %w", r.Name, err)
		}
		if r.ValidateOnly {
			return nil
		}
		if grown.Version, err = c.o.Client.SetTopic(ctx, c.fence, grown); err != nil {
			return err
		}
		t.Topic = grown
		if err := c.bringUp(ctx, t, fresh); err != nil {
			return err
		}
		var states []PartitionState
		for _, p := range fresh {
			states = append(states, t.state(p, true))
		}
		return c.apply(states)
	})
}

// grow returns the topic with its new partitions, and their numbers.
func (c *Controller) grow(t *topic, r PartitionsRequest) (znode.Topic, []int32, error) {
	grown := t.Topic
	have := int32(len(t.Partitions))
	if r.Count <= have || r.Count > maxPartitions {
		return grown, nil, fmt.Errorf("%w: %d, want %d to %d", ErrInvalidPartitions, r.Count, have+1, maxPartitions)
	}
	lists := r.Assignment
	factor := len(t.Partitions[0])
	if lists == nil {
		live := c.live()
		if factor > len(live) {
			return grown, nil, fmt.Errorf("%w: %d, but %d brokers are live", ErrInvalidReplicationFactor, factor, len(live))
		}
		// New partitions go on where the old ones ended (AdminZkClient.addPartitions).
		start := max(slices.Index(live, t.Partitions[0][0]), 0)
		var err error
		lists, err = election.AssignReplicas(election.Placement{
			Brokers: live, First: have, Count: r.Count - have, Replicas: factor, Start: start, Shift: start,
		})
		if err != nil {
			return grown, nil, err
		}
	}
	if len(lists) != int(r.Count-have) {
		return grown, nil, fmt.Errorf("%w: %d lists for %d new partitions", ErrInvalidAssignment, len(lists), r.Count-have)
	}
	grown.Partitions = cloneAssignment(t.Partitions)
	var fresh []int32
	for i, replicas := range lists {
		p := have + int32(i)
		if err := c.checkReplicas(replicas, factor); err != nil {
			return grown, nil, fmt.Errorf("%w: partition %d: %w", ErrInvalidAssignment, p, err)
		}
		grown.Partitions[p] = slices.Clone(replicas)
		fresh = append(fresh, p)
	}
	return grown, fresh, nil
}

// DeleteTopic deletes the topic of that name and returns once it is gone.
func (c *Controller) DeleteTopic(ctx context.Context, name string) error {
	return c.inOffice(ctx, func(ctx context.Context) error { return c.deleteTopic(ctx, name) })
}

// DeleteTopicID deletes the topic with that id and returns its name.
func (c *Controller) DeleteTopicID(ctx context.Context, id znode.TopicID) (name string, err error) {
	err = c.inOffice(ctx, func(ctx context.Context) error {
		for _, candidate := range c.topicNames() {
			if c.topics[candidate].ID == id {
				name = candidate
				return c.deleteTopic(ctx, name)
			}
		}
		return fmt.Errorf("%w: %s", ErrUnknownTopicID, id)
	})
	return name, err
}

func (c *Controller) deleteTopic(ctx context.Context, name string) error {
	if c.topics[name] == nil {
		return fmt.Errorf("%w: %s", ErrUnknownTopic, name)
	}
	// The request is durable first: a deletion, once begun, is finished.
	if err := c.o.Client.RequestTopicDeletion(ctx, name); err != nil {
		return err
	}
	return c.finishDeletion(ctx, name)
}
