package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is one connection through the mesh. Its flows are the pumps out, from the
// opener to the target, and back.
type conn struct {
	mesh      *Mesh
	flow      Flow // opener to target
	out, back *pump
	done      chan struct{} // closed at the first reset

	mu             sync.Mutex
	opener, target *net.TCPConn // target is nil until it is dialled
	over           bool         // done is closed
	kept           *net.TCPConn // the end that lives on where the other is gone
	halved         Flow         // the flow that kept sends, while there is one
}

func newConn(m *Mesh, opener *net.TCPConn, f Flow, seed uint64) *conn {
	c := &conn{mesh: m, flow: f, opener: opener, done: make(chan struct{})}
	c.out, c.back = newPump(opener, seed, c.done), newPump(nil, seed+1, c.done)
	return c
}

func (c *conn) carries(f Flow) bool { return f == c.flow || f == c.flow.Back() }

// apply makes a rule of one flow hold. What it returns is closed once it does; nil
// means at once.
func (c *conn) apply(f Flow, r Rule) (taken <-chan struct{}) {
	if !c.carries(f) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
	case c.kept != nil:
		if f == c.halved && r.Mode != HalfOpen {
			c.resetLocked()
		}
	case r.Mode == Reset:
		c.resetLocked()
	case r.Mode == HalfOpen:
		c.halve(f)
	default:
		if f == c.flow {
			return c.out.set(r)
		}
		if c.target == nil {
			defer c.out.wake() // await reads there
		}
		return c.back.set(r)
	}
	return nil
}

// halve resets the receiver of a flow and keeps its sender. Called with mu held.
func (c *conn) halve(f Flow) {
	sender, receiver := c.opener, c.target
	if f != c.flow {
		sender, receiver = receiver, sender
	}
	if sender == nil { // the target does not know of the connection yet
		c.resetLocked()
		return
	}
	c.kept, c.halved = sender, f
	if receiver != nil {
		reset(receiver)
	}
	c.out.set(Rule{}) // so that both find out
	c.back.set(Rule{})
}

func (c *conn) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resetLocked()
}

func (c *conn) resetLocked() {
	if c.over {
		return
	}
	c.over = true
	close(c.done)
	reset(c.opener)
	if c.target != nil {
		reset(c.target)
	}
}

// reset closes so that the other side gets a reset in place of an end.
func reset(s *net.TCPConn) {
	_ = s.SetLinger(0) // a connection that is gone already needs no reset
	_ = s.Close()
}

// fail ends a connection one of whose flows has broken, unless one end is to live on.
func (c *conn) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.resetLocked()
	}
}

// serve runs the connection to its end.
func (c *conn) serve() {
	defer c.reset() // what is closed already is not changed by it
	head, ok := c.await()
	if !ok {
		c.swallow()
		return
	}
	if !c.dial() {
		c.swallow()
		return
	}
	c.out.queue.put(head, Rule{}, time.Time{})
	back := make(chan struct{})
	go func() {
		defer close(back)
		if c.back.run() != nil {
			c.fail()
		}
	}()
	if c.out.run() != nil {
		c.fail()
	}
	<-back
	c.swallow()
	c.end()
}

// end closes both ends in the ordinary way.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	close(c.done)
	_ = c.opener.Close() // both ways have been ended before
	_ = c.target.Close()
}

// await returns once both flows pass, with what the opener has sent meanwhile. It
// returns false where there is nothing to dial for: the opener has gone, or one end
// is kept alone.
func (c *conn) await() (head []byte, ok bool) {
	for {
		c.mu.Lock()
		alone := c.kept != nil || c.over
		c.mu.Unlock()
		if alone {
			return nil, false
		}
		out, back := c.out.take(), c.back.current() // in this order: a later change of either wakes the read
		if out.Mode != Hang && back.Mode != Hang {
			return head, true
		}
		if len(head) == queueBytes {
			select {
			case <-c.out.kick:
			case <-c.back.kick:
			case <-c.done:
			}
			continue
		}
		n, err := c.out.readSome(queueBytes - len(head))
		head = append(head, n...)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, false
		}
	}
}

// dialWithin is how long a target may take to accept.
const dialWithin = 10 * time.Second

// dial connects to the target, from the opener's address.
func (c *conn) dial() bool {
	from := c.opener.RemoteAddr().(*net.TCPAddr)
	d := net.Dialer{Timeout: dialWithin, LocalAddr: &net.TCPAddr{IP: from.IP}, Control: unpaced}
	s, err := d.DialContext(c.mesh.ctx, "tcp", c.mesh.target(c.flow))
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.kept != nil {
		reset(s.(*net.TCPConn))
		return false
	}
	c.target = s.(*net.TCPConn)
	c.out.connect(c.opener, c.target)
	c.back.connect(c.target, c.opener)
	return true
}

// swallow reads what the end that is kept sends, if one is, until it is reset.
func (c *conn) swallow() {
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept == nil {
		return
	}
	_ = kept.SetReadDeadline(time.Time{}) // a closed one fails below
	_, _ = io.Copy(io.Discard, kept)      // whichever way it ends, it has ended
}
