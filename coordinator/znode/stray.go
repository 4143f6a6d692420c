package znode

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Stray are replicas of a topic that are none any more and whose brokers did not delete
// them: /admin/stray_replicas/<topic id>, a node of our own.
type Stray struct {
	Topic string
	ID    TopicID
	// Replicas maps a partition to the brokers that have it still.
	Replicas map[int32][]BrokerID
}

func strayNode(id TopicID) string { return strayPath + "/" + id.String() }

func encodeStray(s Stray) []byte {
	return encodeObject([]field{{"version", 1}, {"topic", s.Topic}, {"partitions", encodeReplicas(s.Replicas)}}, nil)
}

// SetStray notes the replicas, in place of those noted before; none removes the
// node.
func (c *Client) SetStray(ctx context.Context, f Fence, s Stray) error {
	path := strayNode(s.ID)
	if len(s.Replicas) == 0 {
		return c.fencedDelete(ctx, f, []string{path})
	}
	data := encodeStray(s)
	for {
		found, err := c.exists(ctx, path)
		if err != nil {
			return err
		}
		var op any = c.createOp(path, data)
		if found {
			op = c.setOp(path, data, -1)
		}
		_, failed, err := c.fenced(f, op)
		switch {
		case err == nil:
			return nil
		case failed == 0 && (errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode)):
			continue // it came or went since we looked
		case !retriable(err):
			return wrap("write", path, err)
		}
		if err := c.pause(ctx, err); err != nil {
			return wrap("write", path, err)
		}
	}
}

// Strays lists all of them.
func (c *Client) Strays(ctx context.Context) ([]Stray, error) {
	names, err := c.children(ctx, strayPath)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var strays []Stray
	for _, name := range names {
		id, err := ParseTopicID(name)
		if err != nil {
			c.log.Warn("node is no topic id", "path", strayPath+"/"+name)
			continue
		}
		data, _, err := c.get(ctx, strayNode(id))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := decodeStray(id, data)
		if err != nil {
			return nil, &FormatError{Path: strayNode(id), Err: err}
		}
		strays = append(strays, s)
	}
	return strays, nil
}

func decodeStray(id TopicID, data []byte) (Stray, error) {
	s := Stray{ID: id}
	o, err := parseObject(data)
	if err != nil {
		return s, err
	}
	var replicas map[string][]BrokerID
	if err := errors.Join(o.take("topic", &s.Topic, true), o.take("partitions", &replicas, true)); err != nil {
		return s, err
	}
	s.Replicas, err = decodeReplicas(replicas)
	return s, err
}
