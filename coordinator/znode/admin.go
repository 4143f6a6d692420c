package znode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// adminPartition is one entry of a node that names partitions: who writes it asks the
// controller for something, and the controller removes it when that is done.
type adminPartition struct {
	Topic     string     `json:"topic"`
	Partition int32      `json:"partition"`
	Replicas  []BrokerID `json:"replicas,omitempty"`
}

func decodeAdmin(data []byte) ([]adminPartition, error) {
	o, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	var partitions []adminPartition
	if err := o.take("partitions", &partitions, true); err != nil {
		return nil, err
	}
	for _, p := range partitions {
		if err := checkReplicas(p.Replicas); err != nil {
			return nil, fmt.Errorf("%s-%d: %w", p.Topic, p.Partition, err)
		}
	}
	return partitions, nil
}

func encodeAdmin(partitions []adminPartition) []byte {
	return encodeObject([]field{{"version", 1}, {"partitions", append([]adminPartition{}, partitions...)}}, nil)
}

// readAdmin returns what the node asks for; nothing and version −1 where it is not
// there.
func (c *Client) readAdmin(ctx context.Context, path string) ([]adminPartition, int32, error) {
	data, stat, err := c.get(ctx, path)
	if errors.Is(err, ErrNotFound) {
		return nil, -1, nil
	}
	if err != nil {
		return nil, 0, err
	}
	partitions, err := decodeAdmin(data)
	if err != nil {
		return nil, 0, &FormatError{Path: path, Err: err}
	}
	return partitions, stat.Version, nil
}

// Reassignments returns what /admin/reassign_partitions asks for, as Kafka's tools
// before AlterPartitionReassignments wrote it.
func (c *Client) Reassignments(ctx context.Context) (map[TopicPartition][]BrokerID, error) {
	partitions, _, err := c.readAdmin(ctx, reassignPath)
	out := map[TopicPartition][]BrokerID{}
	for _, p := range partitions {
		out[TopicPartition{p.Topic, p.Partition}] = p.Replicas
	}
	return out, err
}

// FinishReassignments takes partitions out of /admin/reassign_partitions and
// removes it with the last.
func (c *Client) FinishReassignments(ctx context.Context, f Fence, done func(TopicPartition) bool) error {
	for {
		partitions, version, err := c.readAdmin(ctx, reassignPath)
		if err != nil || version < 0 {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(partitions), func(p adminPartition) bool {
			return done(TopicPartition{p.Topic, p.Partition})
		})
		switch {
		case len(left) == 0:
			return c.fencedDelete(ctx, f, []string{reassignPath})
		case len(left) == len(partitions):
			return nil
		}
		_, err = c.fencedSet(ctx, f, reassignPath, encodeAdmin(left), version)
		if !errors.Is(err, ErrVersion) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
}

// RequestReassignments writes /admin/reassign_partitions, as Kafka's older tools
// do; ErrExists means that another one is under way.
func (c *Client) RequestReassignments(ctx context.Context, want map[TopicPartition][]BrokerID) error {
	var partitions []adminPartition
	for tp, replicas := range want {
		partitions = append(partitions, adminPartition{tp.Topic, tp.Partition, replicas})
	}
	slices.SortFunc(partitions, func(a, b adminPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return c.createOnce(ctx, reassignPath, encodeAdmin(partitions))
}

// PreferredElections returns what /admin/preferred_replica_election asks for;
// found is false where there is no such node.
func (c *Client) PreferredElections(ctx context.Context) (partitions []TopicPartition, found bool, err error) {
	asked, version, err := c.readAdmin(ctx, preferredPath)
	for _, p := range asked {
		partitions = append(partitions, TopicPartition{p.Topic, p.Partition})
	}
	return partitions, version >= 0, err
}

// RequestPreferredElection writes /admin/preferred_replica_election.
func (c *Client) RequestPreferredElection(ctx context.Context, partitions []TopicPartition) error {
	asked := make([]adminPartition, len(partitions))
	for i, tp := range partitions {
		asked[i] = adminPartition{Topic: tp.Topic, Partition: tp.Partition}
	}
	return c.createOnce(ctx, preferredPath, encodeAdmin(asked))
}

// FinishPreferredElections removes /admin/preferred_replica_election.
func (c *Client) FinishPreferredElections(ctx context.Context, f Fence) error {
	return c.fencedDelete(ctx, f, []string{preferredPath})
}

// DropReassignments removes /admin/reassign_partitions whatever it holds, for one
// that nobody can read.
func (c *Client) DropReassignments(ctx context.Context, f Fence) error {
	return c.fencedDelete(ctx, f, []string{reassignPath})
}
