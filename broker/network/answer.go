package network

import (
	"time"

	"tidemark/internal/invariant"
	"tidemark/protocol/wire"
)

// requestState is how far the answer of a request is.
type requestState int8

const (
	stateWaiting requestState = iota
	stateReady
	stateSilent // nothing to send
	stateFailed // the connection closes here
)

const (
	// maxCoalesced is how many responses may wait for one another.
	maxCoalesced = 16
	// coalesceBelow is the size from which a response does not wait for the
	// next request, nor for one of that size to arrive.
	coalesceBelow = 64 << 10
	// slowHandle is the time in Handle from which answers are not deferred:
	// the next request may take as long.
	slowHandle = 200 * time.Microsecond
)

// answer takes the outcome of r, once.
func (c *conn) answer(r *Request, state requestState, resp *wire.Response, build func() *wire.Response, err error) {
	took := c.server.o.Clock.Now().Sub(r.Received)
	c.server.o.Observe(r.Header.Key, took)
	c.mu.Lock()
	if r.state != stateWaiting {
		c.mu.Unlock()
		invariant.Check(false, "request %d of %s was answered twice", r.Header.CorrelationID, c.info.Remote)
	}
	frame := r.frame
	r.state, r.reply, r.build, r.err = state, resp, build, err
	r.frame, r.Body = nil, nil
	closed := c.closed
	var write bool
	switch {
	case closed:
	case r == c.current:
		// Another writer may send r as soon as mu is free: it is looked at now.
		c.eager = took > slowHandle || build != nil || resp != nil && resp.Len() > coalesceBelow
	default:
		write = c.becomeWriter()
	}
	if write {
		// The reader has not left, so the count is not zero.
		c.server.running.Add(1)
		go func() {
			defer c.server.running.Done()
			c.drain()
		}()
	}
	c.mu.Unlock()
	if frame != nil {
		frame.release()
	}
	if closed && resp != nil {
		resp.Release()
	}
	if state == stateFailed && !closed {
		c.stop()
	}
}

// releaseBody gives r's frame back while r waits.
func (c *conn) releaseBody(r *Request) {
	c.mu.Lock()
	frame := r.frame
	r.frame, r.Body = nil, nil
	c.mu.Unlock()
	if frame != nil {
		frame.release()
	}
}

// flush sends what is ready unless someone is at it.
func (c *conn) flush() {
	c.unsent = 0
	c.mu.Lock()
	write := c.becomeWriter()
	c.mu.Unlock()
	if write {
		c.drain()
	}
}

// becomeWriter reports whether something is ready and nobody sends it; the
// caller then must call drain. c.mu is held.
func (c *conn) becomeWriter() bool {
	if c.writing || c.closed || len(c.pending) == 0 || c.pending[0].state == stateWaiting {
		return false
	}
	c.writing = true
	return true
}

// drain sends ready responses in order until the oldest request still waits.
func (c *conn) drain() {
	for {
		batch := c.takeReady()
		if len(batch) == 0 {
			return
		}
		failure := c.collect(batch)
		err := c.send()
		switch {
		case err != nil:
			c.close(ClosedError, err)
		case failure != nil:
			c.close(ClosedFailed, failure.err)
		}
	}
}

// takeReady removes the answered requests at the head. With none, or after the
// close, it ends the caller's time as writer.
func (c *conn) takeReady() []*Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.pending) && n < maxCoalesced && c.pending[n].state != stateWaiting {
		n++
	}
	c.batch = append(c.batch[:0], c.pending[:n]...)
	kept := copy(c.pending, c.pending[n:])
	clear(c.pending[kept:])
	c.pending = c.pending[:kept]
	if n == 0 {
		c.writing = false
	}
	c.space.Broadcast()
	return c.batch
}

// collect gathers the responses of batch up to the first failure, which it
// returns, and releases what comes after that.
func (c *conn) collect(batch []*Request) (failure *Request) {
	c.ready = c.ready[:0]
	for i, r := range batch {
		batch[i] = nil
		if failure == nil && r.build != nil {
			if r.reply = r.build(); r.reply == nil {
				r.state, r.err = stateFailed, errNoResponse
			}
		}
		switch {
		case r.state == stateFailed && failure == nil:
			failure = r
		case r.reply == nil:
		case failure != nil:
			r.reply.Release()
		default:
			c.ready = append(c.ready, r.reply)
		}
	}
	return failure
}

// send writes c.ready and releases it.
func (c *conn) send() error {
	if len(c.ready) == 0 {
		return nil
	}
	var size int64
	for _, resp := range c.ready {
		size += resp.Len()
	}
	c.writeDue.Store(c.due(c.server.o.WriteTimeout + transferTime(size)))
	n, err := c.out.Write(c.ready)
	c.writeDue.Store(0)
	c.server.stats.SentBytes.Add(n)
	c.server.stats.FallbackBytes.Add(c.out.TakeFallbackBytes())
	for i, resp := range c.ready {
		resp.Release()
		c.ready[i] = nil
	}
	return err
}
