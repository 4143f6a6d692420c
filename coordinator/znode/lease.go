package znode

import (
	"sync/atomic"
	"time"
)

// Lease says until when this process may rely on its session: nobody can have taken
// the place of a broker whose session cannot have ended yet. The connection learns
// of the end only once it reaches a server again, which may be much later
// and a leader must not acknowledge meanwhile; the lease needs no news to run out.
type Lease struct {
	// until is in nanoseconds since base, which is monotonic.
	base  time.Time
	until atomic.Int64
}

// Holds reports whether the lease runs still. It is cheap: a leader asks before
// each acknowledgement.
func (l *Lease) Holds() bool { return int64(time.Since(l.base)) < l.until.Load() }

// Lease is the Client's lease, which is kept from the first call on until the Client is
// closed: it runs for two thirds of the granted session timeout from the sending of the last
// request that was answered, and is renewed every sixth.
func (c *Client) Lease() *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil {
		return c.lease
	}
	l := &Lease{base: time.Now()}
	c.lease = l
	if c.closed {
		return l
	}
	c.work.Go(func() {
		for {
			sent := time.Since(l.base)
			session := c.Session()
			if _, _, err := c.conn.Exists(c.path(controllerPath)); err == nil && session.Connected && c.Session().ID == session.ID {
				l.until.Store(int64(sent + c.SessionTimeout()*2/3))
			}
			t := time.NewTimer(c.SessionTimeout() / 6)
			select {
			case <-t.C:
			case <-c.ctx.Done():
				t.Stop()
				l.until.Store(0)
				return
			}
		}
	})
	return l
}
