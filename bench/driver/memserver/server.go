// Package memserver is the ceiling that a client is measured against: a server
// that answers produce requests without keeping their records, and fetches from
// a few batches it remembers, over and over. It speaks just enough of Kafka's
// protocol for the drivers and promises nothing else: no validation, no disk,
// no second broker.
package memserver

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/loopback"
	"tidemark/protocol/wire"
)

// maxFrame bounds a request.
const maxFrame = 128 << 20

// Listen opens a listener for Serve and Run, whose connections are made as a broker's.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	of := net.ListenConfig{Control: loopback.Control(loopback.Unpaced)}
	return of.Listen(ctx, "tcp", address)
}

// Server serves one listener until Close.
type Server struct {
	listener net.Listener
	host     string
	port     int32
	group    sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	topics map[string]*topic
	closed bool
	// grown is closed and replaced whenever records arrive.
	grown chan struct{}
}

// Serve starts a server on l, which it owns from then on.
func Serve(l net.Listener) (*Server, error) {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("listener %s is not TCP", l.Addr())
	}
	s := &Server{listener: l, host: address.IP.String(), port: int32(address.Port),
		conns: map[net.Conn]bool{}, topics: map[string]*topic{}, grown: make(chan struct{})}
	s.group.Add(1)
	go s.accept()
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends every connection and waits for its goroutine.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.listener.Close()
	for c := range s.conns {
		_ = c.Close() // its goroutine reports nothing either
	}
	close(s.grown)
	s.grown = make(chan struct{})
	s.mu.Unlock()
	s.group.Wait()
	return err
}

func (s *Server) accept() {
	defer s.group.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[conn] = true
		s.group.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.group.Done()
			_ = s.serve(conn) // a client that went away or spoke nonsense
			_ = conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		}()
	}
}

// serve answers one connection, one request after the other.
func (s *Server) serve(conn net.Conn) error {
	var frame, out []byte
	for {
		var err error
		if frame, err = wire.ReadFrame(conn, maxFrame, frame); err != nil {
			return err
		}
		var reply net.Buffers
		if reply, out, err = s.answer(frame, out[:0]); err != nil {
			return err
		}
		if len(reply) == 0 {
			continue // acks=0
		}
		if _, err := reply.WriteTo(conn); err != nil {
			return err
		}
	}
}

// answer handles one request frame. The reply's parts may alias out and the
// server's batches; none means that the client expects no answer.
func (s *Server) answer(frame, out []byte) (net.Buffers, []byte, error) {
	h, body, err := wire.ParseHeader(frame)
	if err != nil {
		return nil, out, err
	}
	correlation := frame[4:8]
	if h.Key == wire.KeyAPIVersions {
		return s.apiVersions(h.Version, correlation), out, nil
	}
	a := find(h.Key)
	if a == nil || h.Version < a.min || h.Version > a.max {
		return nil, out, fmt.Errorf("request %d version %d is not served", h.Key, h.Version)
	}
	request := kmsg.RequestForKey(h.Key)
	request.SetVersion(h.Version)
	if err := request.ReadFrom(body); err != nil {
		return nil, out, fmt.Errorf("request %d version %d: %w", h.Key, h.Version, err)
	}
	if fetch, ok := request.(*kmsg.FetchRequest); ok {
		return s.fetch(fetch, correlation, out)
	}
	response := a.handle(s, request)
	if response == nil {
		return nil, out, nil
	}
	response.SetVersion(h.Version)
	out = append(out, 0, 0, 0, 0)
	out = append(out, correlation...)
	if response.IsFlexible() {
		out = append(out, 0)
	}
	out = response.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return net.Buffers{out}, out, nil
}

func (s *Server) apiVersions(version int16, correlation []byte) net.Buffers {
	r := kmsg.NewPtrApiVersionsResponse()
	if r.SetVersion(version); version > 3 {
		r.SetVersion(0)
		r.ErrorCode = int16(wire.UnsupportedVersion) // ask again with what the list says
	}
	r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(kmsg.ApiVersions), MaxVersion: 3})
	for _, a := range apis {
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: a.key, MinVersion: a.min, MaxVersion: a.max})
	}
	out := append(make([]byte, 4, 128), correlation...) // this answer's header never has tags
	out = r.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return net.Buffers{out}
}

// Run serves on l until ctx is done.
func Run(ctx context.Context, l net.Listener) error {
	s, err := Serve(l)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}

// waitGrowth returns when records arrived, the server closed, or the time is up.
func (s *Server) waitGrowth(grown <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-grown:
	case <-t.C:
	}
}
