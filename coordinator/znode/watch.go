package znode

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Place names something that can be watched.
type Place string

// The places that brokers and controllers watch.
const (
	PlaceBrokers       Place = brokerIDsPath
	PlaceTopics        Place = topicsPath
	PlaceDeletions     Place = deleteTopicsPath
	PlaceConfigChanges Place = configChangesPath
	PlaceISRChanges    Place = isrChangePath
	PlaceLogDirEvents  Place = logDirEventPath
	// PlaceConfigRequests is asked for by RequestConfig.
	PlaceConfigRequests Place = configRequestsPath
	// PlaceReassignments and PlacePreferred are single nodes; WatchNode watches
	// them.
	PlaceReassignments Place = reassignPath
	PlacePreferred     Place = preferredPath
)

// WatchChildren calls f once at the start and then after every change of the
// children of place, until ctx or the Client ends. The watch is armed before f
// is called, so what f reads is never older than the last change it will not
// hear of. f runs on the watch's own goroutine and several changes may make one
// call.
func (c *Client) WatchChildren(ctx context.Context, place Place, f func()) {
	c.watch(ctx, func() (<-chan zk.Event, error) {
		return c.childrenW(string(place))
	}, f)
}

// WatchNode is WatchChildren for a node's coming, going and content.
func (c *Client) WatchNode(ctx context.Context, place Place, f func()) {
	c.watch(ctx, func() (<-chan zk.Event, error) {
		_, _, events, err := c.existsW(string(place))
		return events, err
	}, f)
}

// WatchTopic is WatchNode for a topic's assignment.
func (c *Client) WatchTopic(ctx context.Context, name string, f func()) {
	c.WatchNode(ctx, Place(topicPath(name)), f)
}

// WatchController is WatchChildren for the office of controller: f is called
// after it is taken, given up or changed.
func (c *Client) WatchController(ctx context.Context, f func()) {
	c.watch(ctx, func() (<-chan zk.Event, error) {
		_, _, events, err := c.existsW(controllerPath)
		return events, err
	}, f)
}

func (c *Client) watch(ctx context.Context, arm func() (<-chan zk.Event, error), f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		for {
			events, err := arm()
			if err != nil {
				if errors.Is(err, zk.ErrClosing) || c.pause(ctx, err) != nil {
					return
				}
				continue
			}
			f()
			select {
			case <-events:
				// Fired, or the session is gone: both mean arm and look again.
			case <-ctx.Done():
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
}
