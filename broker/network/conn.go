package network

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tidemark/internal/loopback"
	"tidemark/protocol/wire"
)

var (
	errHalted     = errors.New("reading has ended")
	errNoResponse = errors.New("no response could be built")
)

// conn is one connection. Its reader goroutine reads and handles; whoever finds
// responses ready and nobody writing becomes the writer. mu orders requests and
// says who writes; nothing is called and nothing blocks under it.
type conn struct {
	server *Server
	nc     net.Conn
	raw    syscall.RawConn // nil unless reads can be tried without blocking
	ip     netip.Addr
	info   Conn
	halt   chan struct{} // closed when reading must end: stop or close

	in input // the reader's

	// When patience ends with the next request, with the rest of a frame and
	// with a response, in nanoseconds of the epoch; 0 while not waited for.
	idleDue, frameDue, writeDue atomic.Int64

	unsent int  // answers left to the reader to send; the reader's
	eager  bool // the last answer in Handle is not to be deferred; guarded by mu

	mu      sync.Mutex
	space   sync.Cond // pending shrank, or closed
	pending []*Request
	current *Request // in Handle; its answer is the reader's to send
	writing bool     // someone is in drain
	halted  bool     // reading must end
	closed  bool
	after   []*func() // what AfterClose asked for

	// The writer's.
	out   *wire.ResponseWriter
	batch []*Request
	ready []*wire.Response
}

func newConn(s *Server, nc net.Conn, ip netip.Addr, id uint64) *conn {
	c := &conn{server: s, nc: nc, ip: ip, halt: make(chan struct{}), out: wire.NewResponseWriter(nc)}
	c.info = Conn{ID: id, Remote: nc.RemoteAddr(), Local: nc.LocalAddr(), c: c, done: make(chan struct{})}
	c.space.L = &c.mu
	if t, ok := nc.(*net.TCPConn); ok {
		// What cannot be tuned or tried still works as a plain stream.
		if s.o.SendBuffer > 0 {
			_ = t.SetWriteBuffer(s.o.SendBuffer)
		}
		if s.o.ReceiveBuffer > 0 {
			_ = t.SetReadBuffer(s.o.ReceiveBuffer)
		}
		if raw, err := t.SyscallConn(); err == nil {
			c.raw = raw
		}
		loopback.SetCongestion(t, s.o.LoopbackCongestion)
	}
	c.in.init(c)
	return c
}

// serve is the reader goroutine.
func (c *conn) serve() {
	defer c.server.running.Done()
	reason, err := c.readRequests()
	c.flush()
	c.mu.Lock()
	// A peer that is gone waits for nothing; one that only sent nonsense, or a
	// shutdown, leaves answers to be sent.
	gone := reason == ClosedByPeer || reason == ClosedError
	for (len(c.pending) > 0 && !gone || c.writing) && !c.closed {
		c.space.Wait()
	}
	c.mu.Unlock()
	c.close(reason, err)
	c.in.drop()
	c.server.left(c)
}

// readRequests reads and handles until the connection ends, and says why.
func (c *conn) readRequests() (reason Reason, err error) {
	for {
		if !c.waitForSpace() {
			return ClosedShutdown, nil
		}
		if c.in.offering {
			taken, err := c.offer()
			if err != nil {
				return c.readEnd(err)
			}
			if taken {
				continue
			}
		}
		frame, body, err := c.in.next()
		if err != nil {
			return c.readEnd(err)
		}
		c.in.offering = false
		r := &Request{Received: c.server.o.Clock.Now(), Conn: &c.info, c: c, frame: frame}
		c.server.stats.ReceivedBytes.Add(int64(len(body)) + lengthBytes)
		if r.Header, r.Body, err = wire.ParseHeader(body); err != nil {
			frame.release()
			return ClosedHeader, err
		}
		c.enqueue(r)
		c.server.handler.Handle(r)
		c.handled()
	}
}

// enqueue makes r the last that waits for its answer, and the one in Handle.
func (c *conn) enqueue(r *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, r)
	c.current = r
}

// handled ends the reader's care for a request: what is ready is sent now, unless the
// next request may already be there and is small, so that their responses can
// leave together. The reader sends them at the latest when it has to wait.
func (c *conn) handled() {
	c.mu.Lock()
	c.current = nil
	c.unsent++
	now := c.eager || c.unsent >= maxCoalesced
	c.mu.Unlock()
	if now || c.in.coming() > coalesceBelow {
		c.flush()
	}
}

// readEnd names the reason for the end of reading.
func (c *conn) readEnd(err error) (Reason, error) {
	var frame *frameError
	switch {
	case errors.As(err, &frame):
		return ClosedFrame, err
	case errors.Is(err, errHalted):
		return ClosedShutdown, nil
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return ClosedByPeer, nil
	}
	return ClosedError, err
}

// waitForSpace waits until another request may be read, and reports false when
// none may any more.
func (c *conn) waitForSpace() bool {
	most := c.server.o.QueuedRequestsPerConn
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) >= most && !c.halted {
		if c.becomeWriter() {
			c.mu.Unlock()
			c.drain()
			c.mu.Lock()
			continue
		}
		c.space.Wait()
	}
	return !c.halted
}

// stop ends reading; what is pending is still answered.
func (c *conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted {
		return
	}
	c.halted = true
	close(c.halt)
	c.space.Broadcast()
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // wakes the reader; a closed connection needs no waking
}

// close ends the connection at once, from any goroutine. Answers that come
// later are dropped.
func (c *conn) close(reason Reason, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	if !c.halted {
		c.halted = true
		close(c.halt)
	}
	var dropped []*wire.Response
	for _, r := range c.pending {
		if r.reply != nil {
			dropped = append(dropped, r.reply)
		}
	}
	after := c.after
	c.pending, c.after = nil, nil
	c.space.Broadcast()
	c.mu.Unlock()
	c.server.stats.Closed[reason].Add(1)
	close(c.info.done)
	_ = c.nc.Close() // the peer is being left anyway
	for _, resp := range dropped {
		resp.Release()
	}
	for _, f := range after {
		(*f)()
	}
	c.server.o.Logger.Debug("connection closed", "remote", c.info.Remote, "reason", reason, "error", err)
}

func (c *conn) afterClose(f func()) (stop func() bool) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.after = append(c.after, &f)
	}
	c.mu.Unlock()
	if closed {
		go f()
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, other := range c.after {
			if other == &f {
				c.after = slices.Delete(c.after, i, i+1)
				return true
			}
		}
		return false
	}
}

// due is the instant d from now, as kept in idleDue and its like.
func (c *conn) due(d time.Duration) int64 { return c.server.o.Clock.Now().Add(d).UnixNano() }

// overdue tells whether the connection has to close at now, and why.
func (c *conn) overdue(now int64) (reason Reason, is bool) {
	passed := func(due int64) bool { return due != 0 && now >= due }
	switch idle := c.idleDue.Load(); {
	case passed(c.writeDue.Load()):
		return ClosedSlowReader, true
	case passed(c.frameDue.Load()):
		return ClosedSlowFrame, true
	case passed(idle) && c.idle():
		return ClosedIdle, true
	case passed(idle):
		c.idleDue.CompareAndSwap(idle, now+int64(c.server.o.IdleTimeout))
	}
	return 0, false
}

// idle reports whether nothing is being answered: a parked fetch is work.
func (c *conn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0
}

// transferTime is the patience with n bytes on top of a timeout.
func transferTime(n int64) time.Duration {
	return time.Duration(n) * time.Second / minRate
}
