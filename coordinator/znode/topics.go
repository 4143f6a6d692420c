package znode

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// TopicNames lists the topics, in order of name.
func (c *Client) TopicNames(ctx context.Context) ([]string, error) {
	names, err := c.children(ctx, topicsPath)
	slices.Sort(names)
	return names, err
}

// Topic returns a topic's assignment, or ErrNotFound.
func (c *Client) Topic(ctx context.Context, name string) (Topic, error) {
	data, stat, err := c.get(ctx, topicPath(name))
	if err != nil {
		return Topic{}, err
	}
	t, err := decodeTopic(name, data)
	if err != nil {
		return Topic{}, &FormatError{Path: topicPath(name), Err: err}
	}
	t.Version = stat.Version
	return t, nil
}

// CreateTopic writes a new topic and its configuration, in one multi under the
// controller's fence. The topic's id must be a fresh one: it tells our node from
// another's when the outcome was unknown. ErrExists means that the topic exists.
func (c *Client) CreateTopic(ctx context.Context, f Fence, t Topic, config map[string]string) error {
	path, cfg := topicPath(t.Name), configPath(Topics, t.Name)
	for uncertain := false; ; {
		leftover, err := c.exists(ctx, cfg)
		if err != nil {
			return err
		}
		var writeConfig any = c.createOp(cfg, encodeConfig(config, nil))
		if leftover {
			// Of a deletion that was cut short; the new topic starts afresh.
			writeConfig = c.setOp(cfg, encodeConfig(config, nil), -1)
		}
		_, failed, err := c.fenced(f, c.createOp(path, encodeTopic(t)), writeConfig)
		switch {
		case err == nil:
			return nil
		case failed == 0 && errors.Is(err, zk.ErrNodeExists):
			if uncertain {
				if found, rerr := c.Topic(ctx, t.Name); rerr == nil && found.ID == t.ID {
					return nil
				}
			}
			return wrap("create", path, err)
		case failed == 1 && (errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode)):
			continue // the configuration came or went since we looked
		case !retriable(err):
			return wrap("create", path, err)
		}
		uncertain = uncertain || unknownOutcome(err)
		if err := c.pause(ctx, err); err != nil {
			return wrap("create", path, err)
		}
	}
}

// SetTopic rewrites a topic's assignment at the version it was read at and
// returns the new version.
func (c *Client) SetTopic(ctx context.Context, f Fence, t Topic) (version int32, err error) {
	return c.fencedSet(ctx, f, topicPath(t.Name), encodeTopic(t), t.Version)
}

// fencedSet is setOnce under a fence.
func (c *Client) fencedSet(ctx context.Context, f Fence, path string, data []byte, version int32) (int32, error) {
	return c.fencedSetAfter(ctx, f, path, data, version, false)
}

// fencedSetAfter is fencedSet where an earlier attempt may have been applied.
func (c *Client) fencedSetAfter(ctx context.Context, f Fence, path string, data []byte, version int32, uncertain bool) (int32, error) {
	return c.writeAt(ctx, path, data, version, uncertain, func() (int32, error) {
		results, _, err := c.fenced(f, c.setOp(path, data, version))
		if err != nil {
			return 0, err
		}
		return results[0].Stat.Version, nil
	})
}

// RequestTopicDeletion asks the controller, whoever it is, to delete a topic.
func (c *Client) RequestTopicDeletion(ctx context.Context, name string) error {
	return c.ensure(ctx, deleteTopicPath(name))
}

// TopicDeletions lists the topics whose deletion was asked for.
func (c *Client) TopicDeletions(ctx context.Context) ([]string, error) {
	names, err := c.children(ctx, deleteTopicsPath)
	slices.Sort(names)
	return names, err
}

// DeleteTopic removes a topic's nodes, its configuration and at last the
// request to delete it, so that a deletion cut short is taken up again.
func (c *Client) DeleteTopic(ctx context.Context, f Fence, name string) error {
	paths, err := c.subtree(ctx, topicPath(name))
	if err != nil {
		return err
	}
	config, err := c.subtree(ctx, configPath(Topics, name))
	if err != nil {
		return err
	}
	paths = append(append(paths, config...), deleteTopicPath(name))
	return c.fencedDelete(ctx, f, paths)
}

// subtree lists a node and everything below it, children before parents; nothing
// if it does not exist.
func (c *Client) subtree(ctx context.Context, root string) ([]string, error) {
	names, err := c.children(ctx, root)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var paths []string
	for _, name := range names {
		below, err := c.subtree(ctx, root+"/"+name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	return append(paths, root), nil
}

// multiOps and multiBytes bound one multi well below ZooKeeper's 1 MiB frame.
const (
	multiOps   = 500
	multiBytes = 512 << 10
)

// fencedDelete removes nodes in order, many to a multi; missing ones are passed
// over.
func (c *Client) fencedDelete(ctx context.Context, f Fence, paths []string) error {
	for len(paths) > 0 {
		n := min(len(paths), multiOps)
		ops := make([]any, n)
		size := 0
		for i, p := range paths[:n] {
			if size += len(p) + len(c.chroot) + 32; size > multiBytes {
				ops, n = ops[:i], i
				break
			}
			ops[i] = c.deleteOp(p)
		}
		_, failed, err := c.fenced(f, ops...)
		switch {
		case err == nil:
			paths = paths[n:]
		case failed >= 0 && errors.Is(err, zk.ErrNoNode):
			paths = slices.Delete(slices.Clone(paths), failed, failed+1)
		case !retriable(err):
			return wrap("delete", paths[max(failed, 0)], err)
		default:
			if err := c.pause(ctx, err); err != nil {
				return wrap("delete", paths[0], err)
			}
		}
	}
	return nil
}
