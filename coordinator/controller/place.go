package controller

import (
	"fmt"
	"math"
	"slices"

	"tidemark/coordinator/controller/election"
	"tidemark/coordinator/znode"
)

// MaxPartitions bounds one topic: its assignment is one znode, and ZooKeeper's
// frames end at 1 MiB.
const MaxPartitions = 10_000

// place checks or makes the assignment of a new topic.
func (c *Controller) place(r TopicRequest) (map[int32][]int32, error) {
	if len(r.Assignment) > 0 {
		return c.checkAssignment(r.Assignment)
	}
	live := c.liveBrokers()
	switch {
	case r.Partitions < 1 || r.Partitions > MaxPartitions:
		return nil, fmt.Errorf("%w: %d, want 1 to %d", ErrInvalidPartitions, r.Partitions, MaxPartitions)
	case r.ReplicationFactor < 1:
		return nil, fmt.Errorf("%w: %d", ErrInvalidReplicationFactor, r.ReplicationFactor)
	case int(r.ReplicationFactor) > len(live):
		return nil, fmt.Errorf("%w: %d, but %d brokers are live", ErrInvalidReplicationFactor, r.ReplicationFactor, len(live))
	}
	lists, err := election.AssignReplicas(election.Placement{
		Brokers: live, Racks: c.racks(), Count: r.Partitions, Replicas: int(r.ReplicationFactor),
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
	if len(assignment) > MaxPartitions {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrInvalidPartitions, len(assignment), MaxPartitions)
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
	live := c.liveBrokers()
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

// grow returns the topic with its new partitions, and their numbers.
func (c *Controller) grow(t *topic, r PartitionsRequest) (znode.Topic, []int32, error) {
	grown := t.Topic
	have := int32(len(t.Partitions))
	if r.Count <= have || r.Count > MaxPartitions {
		return grown, nil, fmt.Errorf("%w: %d, want %d to %d", ErrInvalidPartitions, r.Count, have+1, MaxPartitions)
	}
	lists := r.Assignment
	factor := len(t.Partitions[0])
	if lists == nil {
		live := c.liveBrokers()
		if factor > len(live) {
			return grown, nil, fmt.Errorf("%w: %d, but %d brokers are live", ErrInvalidReplicationFactor, factor, len(live))
		}
		// New partitions go on where the old ones ended (AdminZkClient.addPartitions).
		start := max(slices.Index(live, t.Partitions[0][0]), 0)
		var err error
		lists, err = election.AssignReplicas(election.Placement{
			Brokers: live, Racks: c.racks(), First: have, Count: r.Count - have, Replicas: factor, Start: start, Shift: start,
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
