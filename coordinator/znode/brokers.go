package znode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// storeLate is by how much a session may end late: on a tick of the store, and as much
// later as the store stood still.
const storeLate = 10 * time.Second

// RegisterBroker creates the broker's ephemeral node and returns its broker
// epoch, the czxid of the node. It must be called again when the session's id
// changes. A node left by one of this Client's own dead sessions is replaced
// (KAFKA-7165). A node of another session is waited out for as long as a session
// can last, since it may be that of a crashed predecessor; a live owner then makes
// ErrBrokerIDInUse.
func (c *Client) RegisterBroker(ctx context.Context, b Broker) (epoch int64, err error) {
	path := brokerPath(b.ID)
	content := encodeBroker(b)
	deadline := time.Now().Add(c.SessionTimeout() + max(c.SessionTimeout()/2, storeLate))
	for {
		session := c.Session()
		c.mu.Lock()
		c.registeredIn = session.ID
		c.mu.Unlock()
		epoch, err := c.createBroker(path, content)
		if err == nil || !retriable(err) && !errors.Is(err, zk.ErrNodeExists) {
			return epoch, wrap("create", path, err)
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			if err := c.pause(ctx, err); err != nil {
				return 0, wrap("create", path, err)
			}
			continue
		}
		epoch, done, err := c.settleBroker(ctx, path, content, session.ID, deadline)
		if err != nil {
			return 0, fmt.Errorf("register broker %d: %w", b.ID, err)
		}
		if done {
			return epoch, nil
		}
	}
}

// createBroker creates the node and learns its czxid in one multi: the answer to
// a create carries none.
func (c *Client) createBroker(path string, content []byte) (int64, error) {
	create := c.createOp(path, content)
	create.Flags = zk.FlagEphemeral
	results, _, err := c.multi(create, c.setOp(path, content, 0))
	if err != nil {
		return 0, err
	}
	return results[1].Stat.Czxid, nil
}

// settleBroker looks at the node that is in the way: it is ours after all, or it
// is removed, or waited for.
func (c *Client) settleBroker(ctx context.Context, path string, content []byte, session int64, deadline time.Time) (epoch int64, done bool, err error) {
	var found bool
	var stat *zk.Stat
	var gone <-chan zk.Event
	err = c.retry(ctx, func() error {
		found, stat, gone, err = c.existsW(path)
		return err
	})
	if err != nil || !found {
		return 0, false, err
	}
	if c.ours(stat.EphemeralOwner) {
		data, current, err := c.get(ctx, path)
		if errors.Is(err, ErrNotFound) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		if current.EphemeralOwner == session && session == c.Session().ID && bytes.Equal(data, content) {
			return current.Czxid, true, nil
		}
		if !c.ours(current.EphemeralOwner) {
			return 0, false, nil
		}
		err = c.retry(ctx, func() error { return c.conn.Delete(c.path(path), current.Version) })
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
			err = nil
		}
		return 0, false, wrap("delete", path, err)
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0, false, fmt.Errorf("%w: session %#x holds it", ErrBrokerIDInUse, stat.EphemeralOwner)
	}
	c.log.Info("broker id is registered by another session; waiting for that session to end",
		"path", path, "owner", fmt.Sprintf("%#x", stat.EphemeralOwner), "for", left.Round(time.Millisecond))
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-gone:
	case <-t.C:
	case <-ctx.Done():
		return 0, false, ctx.Err()
	case <-c.ctx.Done():
		return 0, false, ErrClosed
	}
	return 0, false, nil
}

// KeepRegistered registers the broker, as self describes it then, again whenever the
// Client has a new session, until ctx or the Client ends, and reports each new broker
// epoch, or why there is none yet, from its own goroutine. The first registration is the
// caller's, by RegisterBroker.
func (c *Client) KeepRegistered(ctx context.Context, self func() Broker, registered func(epoch int64, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	session := c.registeredIn
	c.work.Go(func() {
		for {
			changed := c.SessionChanged()
			now := c.Session()
			if now.Connected && now.ID != session {
				epoch, err := c.RegisterBroker(ctx, self())
				if ctx.Err() != nil || c.ctx.Err() != nil {
					return
				}
				registered(epoch, err)
				if err == nil {
					session = now.ID
				} else if c.pause(ctx, err) != nil {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
}

// UnregisterBroker removes the broker's node at once, for a shutdown that keeps
// the session.
func (c *Client) UnregisterBroker(ctx context.Context, id BrokerID) error {
	return c.remove(ctx, brokerPath(id))
}

// Broker returns one live broker, or ErrNotFound.
func (c *Client) Broker(ctx context.Context, id BrokerID) (Broker, error) {
	data, stat, err := c.get(ctx, brokerPath(id))
	if err != nil {
		return Broker{}, err
	}
	b, err := decodeBroker(id, data)
	if err != nil {
		return Broker{}, &FormatError{Path: brokerPath(id), Err: err}
	}
	b.Epoch = stat.Czxid
	return b, nil
}

// Brokers returns the live brokers in order of id. A node whose name is no
// broker id, or that cannot be read, is passed over.
func (c *Client) Brokers(ctx context.Context) ([]Broker, error) {
	names, err := c.children(ctx, brokerIDsPath)
	if err != nil {
		return nil, err
	}
	var brokers []Broker
	for _, name := range names {
		id, err := parseID(name)
		if err != nil {
			c.log.Warn("node is no broker id", "path", brokerIDsPath+"/"+name)
			continue
		}
		b, err := c.Broker(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue // it left between the two reads
		}
		var bad *FormatError
		if errors.As(err, &bad) {
			c.log.Error("broker is passed over", "error", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		brokers = append(brokers, b)
	}
	slices.SortFunc(brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return brokers, nil
}
