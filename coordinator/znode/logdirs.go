package znode

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// AnnounceLogDirFailure tells the controller that a log directory of the broker
// failed; which replicas that took offline the controller asks the broker.
func (c *Client) AnnounceLogDirFailure(ctx context.Context, broker BrokerID) error {
	content := encodeObject([]field{{"version", 1}, {"broker", broker}, {"event", 1}}, nil)
	_, err := c.createSequential(ctx, logDirEventPath+"/"+logDirEventPrefix, content)
	return err
}

// LogDirEvents returns the brokers that announced a failure, and the nodes that say so
// for FinishLogDirEvents. A node that cannot be read announces nothing.
func (c *Client) LogDirEvents(ctx context.Context) (brokers []BrokerID, nodes []string, err error) {
	names, err := c.children(ctx, logDirEventPath)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, logDirEventPrefix) {
			continue
		}
		path := logDirEventPath + "/" + name
		data, _, err := c.get(ctx, path)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, path)
		o, err := parseObject(data)
		var broker BrokerID
		if err == nil {
			err = o.take("broker", &broker, true)
		}
		if err != nil {
			c.log.Warn("unreadable announcement", "path", path, "error", err)
			continue
		}
		if !slices.Contains(brokers, broker) {
			brokers = append(brokers, broker)
		}
	}
	return brokers, nodes, nil
}

// FinishLogDirEvents removes announcements that were acted on.
func (c *Client) FinishLogDirEvents(ctx context.Context, f Fence, nodes []string) error {
	return c.fencedDelete(ctx, f, nodes)
}
