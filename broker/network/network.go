// Package network moves Kafka requests from sockets to a Handler and responses
// back (Kafka's SocketServer). It promises that
//
//   - responses leave a connection in the order of its requests, whatever order
//     and goroutine they are answered in;
//   - a request that waits holds no goroutine, and its connection is read on;
//   - the common request, answered inside Handle, is read, handled and answered
//     on one goroutine, and responses that are ready together leave in one
//     system call;
//   - a long request that is all there may be received in memory of the Handler's
//     (EarlyHandler);
//   - nothing grows with what a peer announces: memory, requests, connections
//     and patience are bounded, and at a bound the connection is not read from,
//     which is what the peer's TCP then feels.
//
// It knows frames and request headers, not what requests mean. There is no TLS
// and no authentication yet.
package network

import (
	"context"
	"log/slog"
	"net"
	"time"

	"tidemark/internal/clock"
	"tidemark/protocol/wire"
)

// Handler answers requests.
type Handler interface {
	// Handle is called on the connection's read goroutine, one request of a
	// connection at a time. It must see to exactly one call of Reply,
	// ReplyWith, NoReply or Fail, before it returns or later and from any
	// goroutine. It should not block: the connection is not read meanwhile.
	Handle(*Request)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(*Request)

// Handle calls f.
func (f HandlerFunc) Handle(r *Request) { f(r) }

// Options bounds a Server. Zero values take the defaults named.
type Options struct {
	// MaxFrame is the greatest frame in bytes; 100 MiB.
	MaxFrame int32
	// MaxConnections bounds open connections; 4,096. A further one is closed.
	MaxConnections int
	// MaxConnectionsPerIP bounds those of one address; MaxConnections.
	MaxConnectionsPerIP int
	// ConnectionRate is how many connections are accepted per second, with
	// bursts of as many; no limit.
	ConnectionRate int
	// QueuedRequestsPerConn bounds unanswered requests of a connection; 64.
	QueuedRequestsPerConn int
	// InFlightBytes is the memory for requests being received or answered,
	// over all connections; 256 MiB. One frame at a time may go beyond it.
	InFlightBytes int64
	// IdleTimeout closes a connection without requests; 10 minutes, < 0 never.
	IdleTimeout time.Duration
	// FrameTimeout is the patience with a frame that has begun, plus a second
	// per 256 KiB; 30 s.
	FrameTimeout time.Duration
	// WriteTimeout is the patience with a peer that does not read, likewise.
	WriteTimeout time.Duration
	// SendBuffer and ReceiveBuffer are SO_SNDBUF and SO_RCVBUF; 0 or less
	// leaves them to the kernel.
	SendBuffer, ReceiveBuffer int
	// LoopbackCongestion names the congestion control of connections within
	// this machine; empty leaves them the system's.
	LoopbackCongestion string
	// Logger gets what happens to connections; nil discards it.
	Logger *slog.Logger
	// Observe, if not nil, is told of each answer: the request's key and the
	// time from its last byte to its answer being ready.
	Observe func(key int16, took time.Duration)
	// Clock drives the timeouts; the real one.
	Clock clock.Clock
}

// minRate is the slowest transfer, in bytes per second, that outlives a timeout.
const minRate = 256 << 10

func (o Options) withDefaults() Options {
	setDefault(&o.MaxFrame, 100<<20)
	setDefault(&o.MaxConnections, 4096)
	setDefault(&o.MaxConnectionsPerIP, o.MaxConnections)
	setDefault(&o.QueuedRequestsPerConn, 64)
	setDefault(&o.InFlightBytes, 256<<20)
	setDefault(&o.IdleTimeout, 10*time.Minute)
	setDefault(&o.FrameTimeout, 30*time.Second)
	setDefault(&o.WriteTimeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(int16, time.Duration) {}
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Conn is what a Handler may know of a connection.
type Conn struct {
	// ID is unique within the Server.
	ID uint64
	// Remote and Local are the two addresses.
	Remote, Local net.Addr

	c    *conn
	done chan struct{}
}

// AfterClose calls f once the connection is closed, never on the caller's
// goroutine. It serves what waits without a goroutine. stop takes f back and
// reports whether that was in time.
func (c *Conn) AfterClose(f func()) (stop func() bool) { return c.c.afterClose(f) }

// Done is closed when the connection is; what waits for its sake can give up.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Request is one request. Its fields are the Handler's to read until it calls
// Reply, ReplyWith, NoReply or Fail.
type Request struct {
	// Header is the parsed request header.
	Header wire.Header
	// Body is the rest of the frame. It is pooled memory that may be written
	// to, and is gone with the answer.
	Body []byte
	// Received is when the frame was complete.
	Received time.Time
	// Conn is where it came from.
	Conn *Conn

	c     *conn
	frame *buffer
	state requestState // guarded by c.mu
	reply *wire.Response
	build func() *wire.Response
	err   error
}

// AfterClose is Conn.AfterClose.
func (r *Request) AfterClose(f func()) (stop func() bool) { return r.c.afterClose(f) }

// ReleaseBody gives the frame's memory back before the answer; Body is gone
// with it. For requests that wait long.
func (r *Request) ReleaseBody() { r.c.releaseBody(r) }

// Reply answers the request; resp is the connection's from now on, which
// releases it.
func (r *Request) Reply(resp *wire.Response) { r.c.answer(r, stateReady, resp, nil, nil) }

// ReplyWith answers the request with what build returns, called when the
// response's turn to be sent has come, on a goroutine of the connection that
// may wait for the peer. It is for answers that read a log: whoever completes a
// parked fetch neither reads nor writes for it. A nil response closes the
// connection. Body is gone when build runs; build does not run if the
// connection is closed before.
func (r *Request) ReplyWith(build func() *wire.Response) { r.c.answer(r, stateReady, nil, build, nil) }

// NoReply ends a request that gets no response, as with acks=0.
func (r *Request) NoReply() { r.c.answer(r, stateSilent, nil, nil, nil) }

// Fail closes the connection once the requests before this one are answered.
func (r *Request) Fail(err error) { r.c.answer(r, stateFailed, nil, nil, err) }

// Serve accepts connections on l until Shutdown.
func Serve(l net.Listener, o Options, h Handler) *Server { return serve(l, o.withDefaults(), h) }

// Addr is the address listened on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Stats is what the server counted; live.
func (s *Server) Stats() *Stats { return &s.stats }

// Shutdown stops accepting and reading, lets received requests be answered, and
// closes every connection. When ctx ends first the rest is closed unanswered
// and the context's error returned. All goroutines are gone on return.
func (s *Server) Shutdown(ctx context.Context) error { return s.shutdown(ctx) }
