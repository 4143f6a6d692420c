package znode

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// Session tells where a Client stands.
type Session struct {
	// ID is the session's id, 0 before the first and after an expiry. Another
	// id means that every ephemeral node of the earlier session is gone or
	// will be.
	ID int64
	// Connected tells that a server answers now.
	Connected bool
}

// Session returns the present state. It is read from the connection, never
// counted from events, so no lost event can falsify it.
func (c *Client) Session() Session {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return Session{}
	}
	return Session{ID: conn.SessionID(), Connected: conn.State() == zk.StateHasSession}
}

// SessionChanged returns a channel that is closed at the next change of the
// session. Take the channel first, then read Session: no change is missed.
func (c *Client) SessionChanged() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// sessionEvent is called on the library's goroutines and must not block.
func (c *Client) sessionEvent(ev zk.Event) {
	if ev.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil && ev.State == zk.StateHasSession {
		c.past[c.conn.SessionID()] = true
	}
	close(c.changed)
	c.changed = make(chan struct{})
	c.log.Debug("zookeeper session", "state", ev.State.String(), "server", ev.Server)
}

// ours reports whether a session belongs or belonged to this Client.
func (c *Client) ours(session int64) bool {
	if session == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.past[session] || session == c.conn.SessionID()
}

func (c *Client) awaitSession(ctx context.Context) error {
	for {
		changed := c.SessionChanged()
		if s := c.Session(); s.Connected {
			c.mu.Lock()
			c.past[s.ID] = true
			c.mu.Unlock()
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Server is the address of the server that the Client talks to, or talked to
// last.
func (c *Client) Server() string { return c.conn.Server() }
