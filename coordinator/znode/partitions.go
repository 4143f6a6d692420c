package znode

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// PartitionState returns one partition's leader and ISR, or ErrNotFound.
func (c *Client) PartitionState(ctx context.Context, tp TopicPartition) (PartitionState, error) {
	path := statePath(tp)
	data, stat, err := c.get(ctx, path)
	if err != nil {
		return PartitionState{}, err
	}
	s, err := decodeState(data)
	if err != nil {
		return PartitionState{}, &FormatError{Path: path, Err: err}
	}
	s.Version = stat.Version
	return s, nil
}

// SetPartitionState rewrites a partition's state at the version it was read at
// and returns the new version, the next partition epoch.
func (c *Client) SetPartitionState(ctx context.Context, f Fence, tp TopicPartition, s PartitionState) (version int32, err error) {
	return c.fencedSet(ctx, f, statePath(tp), encodeState(s), s.Version)
}

// NewPartition is a partition whose state is to be created.
type NewPartition struct {
	TopicPartition
	State PartitionState
}

// CreatePartitions writes the state of new partitions and the nodes above it,
// many to a multi. A partition whose state exists is passed over, so a creation
// cut short can be repeated.
func (c *Client) CreatePartitions(ctx context.Context, f Fence, partitions []NewPartition) error {
	partitions = slices.Clone(partitions)
	slices.SortFunc(partitions, func(a, b NewPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for len(partitions) > 0 {
		n, err := c.createSome(ctx, f, partitions)
		if err == nil {
			partitions = partitions[n:]
			continue
		}
		// Two writers may both create a parent; look again what is missing.
		if !retriable(err) && !errors.Is(err, zk.ErrNodeExists) {
			return wrap("create", statePath(partitions[0].TopicPartition), err)
		}
		if err := c.pause(ctx, err); err != nil {
			return wrap("create", statePath(partitions[0].TopicPartition), err)
		}
	}
	return nil
}

// createSome creates as many as one multi holds, of one topic, and returns how
// many of partitions are done.
func (c *Client) createSome(ctx context.Context, f Fence, partitions []NewPartition) (int, error) {
	topic := partitions[0].Topic
	var ops []any
	parent, err := c.exists(ctx, partitionsPath(topic))
	if err != nil {
		return 0, err
	}
	present := map[string]bool{}
	if !parent {
		ops = append(ops, c.createOp(partitionsPath(topic), nil))
	} else {
		names, err := c.children(ctx, partitionsPath(topic))
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			present[name] = true
		}
	}
	n, size := 0, 0
	for _, p := range partitions {
		content := encodeState(p.State)
		size += len(content) + 2*(len(c.chroot)+len(statePath(p.TopicPartition))) + 128
		if p.Topic != topic || len(ops)+2 > multiOps || n > 0 && size > multiBytes {
			break
		}
		n++
		if present[formatID(p.Partition)] {
			found, err := c.exists(ctx, statePath(p.TopicPartition))
			if err != nil {
				return 0, err
			}
			if found {
				continue
			}
		} else {
			ops = append(ops, c.createOp(partitionPath(p.TopicPartition), nil))
		}
		ops = append(ops, c.createOp(statePath(p.TopicPartition), content))
	}
	if len(ops) == 0 {
		return n, nil
	}
	_, _, err = c.fenced(f, ops...)
	return n, err
}
