package znode

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// AnnounceISRChange tells the controller of states that leaders wrote themselves,
// under isr.update=zookeeper. Many go into one node.
func (c *Client) AnnounceISRChange(ctx context.Context, partitions []TopicPartition) error {
	changed := make([]adminPartition, len(partitions))
	for i, tp := range partitions {
		changed[i] = adminPartition{Topic: tp.Topic, Partition: tp.Partition}
	}
	_, err := c.createSequential(ctx, isrChangePath+"/"+isrChangePrefix, encodeAdmin(changed))
	return err
}

// ISRChanges returns the announced partitions, and the nodes that announce them for
// FinishISRChanges. A node that cannot be read announces nothing.
func (c *Client) ISRChanges(ctx context.Context) (partitions []TopicPartition, nodes []string, err error) {
	names, err := c.children(ctx, isrChangePath)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, isrChangePrefix) {
			continue
		}
		path := isrChangePath + "/" + name
		changed, version, err := c.readAdmin(ctx, path)
		var bad *FormatError
		switch {
		case errors.As(err, &bad):
			c.log.Warn("unreadable announcement", "path", path, "error", err)
		case err != nil:
			return nil, nil, err
		case version < 0:
			continue
		}
		nodes = append(nodes, path)
		for _, p := range changed {
			partitions = append(partitions, TopicPartition{p.Topic, p.Partition})
		}
	}
	return partitions, nodes, nil
}

// FinishISRChanges removes announcements that were acted on.
func (c *Client) FinishISRChanges(ctx context.Context, f Fence, nodes []string) error {
	return c.fencedDelete(ctx, f, nodes)
}
