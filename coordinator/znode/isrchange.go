package znode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// AnnounceISRChange tells the controller of states that leaders wrote themselves,
// under isr.update=zookeeper. Many go into one node.
func (c *Client) AnnounceISRChange(ctx context.Context, partitions []TopicPartition) error {
	changed := make([]adminPartition, len(partitions))
	for i, tp := range partitions {
		changed[i] = adminPartition{Topic: tp.Topic, Partition: tp.Partition}
	}
	path := isrChangePath + "/" + isrChangePrefix
	err := c.retry(ctx, func() error {
		created, err := c.conn.Create(c.path(path), encodeAdmin(changed), zk.FlagSequence, worldACL())
		return c.traced("create", cmp.Or(created, path), 0, err)
	})
	return wrap("create", path, err)
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

// ErrISRUpdate means that a broker's isr.update is not the cluster's.
var ErrISRUpdate = errors.New("isr.update differs from the cluster's")

// AgreeISRUpdate makes value the cluster's isr.update where it has none yet, and
// refuses another one with ErrISRUpdate: leaders that write states themselves and
// a controller that does would undo each other's writes. A broker calls it before
// it registers.
func (c *Client) AgreeISRUpdate(ctx context.Context, value string) error {
	content := encodeObject([]field{{"version", 1}, {"isr.update", value}}, nil)
	for {
		data, _, err := c.get(ctx, isrUpdatePath)
		if errors.Is(err, ErrNotFound) {
			if err := c.createOnce(ctx, isrUpdatePath, content); err != nil && !errors.Is(err, ErrExists) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		o, err := parseObject(data)
		var have string
		if err == nil {
			err = o.take("isr.update", &have, true)
		}
		if err != nil {
			return &FormatError{Path: isrUpdatePath, Err: err}
		}
		if have != value {
			return fmt.Errorf("%w: it is %q, this broker has %q; all brokers of a cluster need the same (to change it, stop them all and delete %s)",
				ErrISRUpdate, have, value, isrUpdatePath)
		}
		return nil
	}
}
