package znode

import (
	"encoding/binary"
	"net"
	"time"
)

// The server says in its first answer on a connection how long the session lasts, which
// need not be what was asked for. The library keeps it to itself, so it is read on its way.

// connectAnswer is the length of the answer's beginning: frame length, protocol version
// and session timeout in milliseconds, four bytes each.
const connectAnswer = 12

// granting is a connection that tells the session timeout the server grants.
type granting struct {
	net.Conn
	seen    [connectAnswer]byte
	n       int
	within  time.Duration // how long the server may take to say so
	granted func(time.Duration)
}

// SetReadDeadline implements net.Conn. The library waits ten times as long for the first
// answer as for any other: a server that stands still would cost the session, although
// others serve.
func (g *granting) SetReadDeadline(t time.Time) error {
	if limit := time.Now().Add(g.within); g.n < connectAnswer && t.After(limit) {
		t = limit
	}
	return g.Conn.SetReadDeadline(t)
}

// Read implements net.Conn. The library reads with one goroutine.
func (g *granting) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if g.n < connectAnswer {
		if g.n += copy(g.seen[g.n:], b[:n]); g.n == connectAnswer {
			if ms := int32(binary.BigEndian.Uint32(g.seen[8:])); ms > 0 { // else the session is over
				g.granted(time.Duration(ms) * time.Millisecond)
			}
		}
	}
	return n, err
}

func (c *Client) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := c.o.Dialer(network, address, timeout)
	if err != nil {
		return nil, err
	}
	conn = &granting{Conn: conn, within: c.SessionTimeout() * 2 / 3, granted: func(d time.Duration) { c.granted.Store(int64(d)) }}
	return &rewatching{Conn: conn, watched: c.watched.Load, within: c.SessionTimeout() / 6, set: make(chan struct{})}, nil
}

// SessionTimeout is how long the server keeps the session without hearing of it; what was
// asked for, before it said so.
func (c *Client) SessionTimeout() time.Duration {
	if d := c.granted.Load(); d > 0 {
		return time.Duration(d)
	}
	return c.o.SessionTimeout
}
