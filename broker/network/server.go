package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"tidemark/internal/clock"
)

// Server is one listener with its connections.
type Server struct {
	o        Options
	handler  Handler
	early    EarlyHandler // handler, if it is one; else nil
	listener net.Listener
	budget   *budget
	stats    Stats
	refusals refusals
	stopping chan struct{} // closed by Shutdown
	running  sync.WaitGroup

	mu        sync.Mutex
	admission admission
	conns     map[*conn]struct{}
	nextID    uint64
	sweeper   clock.Timer
	stopped   bool
}

func serve(l net.Listener, o Options, h Handler) *Server {
	s := &Server{
		o: o, handler: h, listener: l,
		stopping:  make(chan struct{}),
		admission: admission{most: o.MaxConnections, mostPerIP: o.MaxConnectionsPerIP, perIP: map[netip.Addr]int{}},
		conns:     map[*conn]struct{}{},
	}
	s.early, _ = h.(EarlyHandler)
	s.budget = newBudget(o.InFlightBytes, &s.stats)
	s.mu.Lock()
	s.armSweeper()
	s.mu.Unlock()
	s.running.Add(1)
	go s.accept()
	return s
}

// accept takes connections until the listener closes. Want of descriptors makes
// it wait, longer each time, and hurts nobody who is connected.
func (s *Server) accept() {
	defer s.running.Done()
	rate := bucket{perSecond: s.o.ConnectionRate}
	var pause time.Duration
	for {
		for wait := rate.take(s.o.Clock.Now()); wait > 0; wait = rate.take(s.o.Clock.Now()) {
			if !s.sleep(wait) {
				return
			}
		}
		nc, err := s.listener.Accept()
		if err == nil {
			pause = 0
			s.admit(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.stats.AcceptErrors.Add(1)
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.o.Logger.Warn("accept failed", "error", err, "retry_in", pause)
		if !s.sleep(pause) {
			return
		}
	}
}

// sleep waits and reports false when the server stops meanwhile.
func (s *Server) sleep(d time.Duration) bool {
	due := make(chan struct{})
	t := s.o.Clock.AfterFunc(d, func() { close(due) })
	defer t.Stop()
	select {
	case <-due:
		return true
	case <-s.stopping:
		return false
	}
}

// admit starts a connection or closes it.
func (s *Server) admit(nc net.Conn) {
	ip := addressOf(nc.RemoteAddr())
	s.mu.Lock()
	refusal, ok := RefusedShutdown, false
	if !s.stopped {
		refusal, ok = s.admission.enter(ip)
	}
	if !ok {
		s.mu.Unlock()
		s.stats.Refused[refusal].Add(1)
		s.o.Logger.Log(context.Background(), s.refusals.level(refusal, s.o.Clock.Now()), "connection refused", "remote", nc.RemoteAddr(), "reason", refusal)
		_ = nc.Close() // nothing was sent
		return
	}
	s.nextID++
	c := newConn(s, nc, ip, s.nextID)
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.mu.Unlock()
	s.stats.Accepted.Add(1)
	s.stats.Connections.Add(1)
	go c.serve()
}

// left forgets a closed connection.
func (s *Server) left(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.admission.leave(c.ip)
	s.mu.Unlock()
	s.stats.Connections.Add(-1)
}

// sweepsPerTimeout is how finely timeouts are kept: one that is due is noticed
// within this part of the shortest.
const sweepsPerTimeout = 8

// armSweeper schedules the next look at the deadlines; s.mu is held. Looking at
// all connections now and then costs less than a timer change per request.
func (s *Server) armSweeper() {
	every := min(s.o.FrameTimeout, s.o.WriteTimeout)
	if s.o.IdleTimeout > 0 {
		every = min(every, s.o.IdleTimeout)
	}
	every = max(every/sweepsPerTimeout, time.Millisecond)
	s.sweeper = s.o.Clock.AfterFunc(every, s.sweep)
}

// sweep closes the connections that are overdue.
func (s *Server) sweep() {
	now := s.o.Clock.Now().UnixNano()
	var overdue []*conn
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return
	}
	for c := range s.conns {
		if _, is := c.overdue(now); is {
			overdue = append(overdue, c)
		}
	}
	s.armSweeper()
	s.mu.Unlock()
	for _, c := range overdue {
		if reason, is := c.overdue(now); is {
			c.close(reason, nil)
		}
	}
}

func (s *Server) shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopped
	s.stopped = true
	s.sweeper.Stop()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	if first {
		close(s.stopping)
		_ = s.listener.Close() // it only wakes Accept
	}
	for _, c := range conns {
		c.stop()
	}
	gone := make(chan struct{})
	go func() {
		s.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	for _, c := range conns {
		c.close(ClosedShutdown, nil)
	}
	<-gone
	return ctx.Err()
}
