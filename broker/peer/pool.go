package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/clock"
)

// Errors of a Pool.
var (
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("connections to other brokers are closed")
	// ErrUnknownBroker: SetBrokers does not name the broker, or no longer with the
	// address that the call was meant for.
	ErrUnknownBroker = errors.New("no such live broker")
	// ErrNoAnswer: the time for the call is over. The connection is given up.
	ErrNoAnswer = errors.New("no answer in time")
)

// CallError is why a call got no answer.
type CallError struct {
	// Broker and Request say who was asked for what.
	Broker  int32
	Request string
	// Sent is true where the request may have arrived: what it asked for may have
	// been done.
	Sent bool
	Err  error
}

// Error is "LeaderAndISR to broker 2: why".
func (e *CallError) Error() string {
	return fmt.Sprintf("%s to broker %d: %v", e.Request, e.Broker, e.Err)
}

// Unwrap is Err.
func (e *CallError) Unwrap() error { return e.Err }

// Options configure a Pool. Zero values stand for the defaults.
type Options struct {
	// ClientID is what this broker calls itself in request headers.
	ClientID string
	// Clock measures the pauses between attempts to connect. Default Real.
	Clock clock.Clock
	// Dial connects to a broker; ctx has the time limit. Default TCP from
	// BindAddress, an IP address; empty leaves it to the system.
	Dial        func(ctx context.Context, to Broker) (net.Conn, error)
	BindAddress string
	// ControlTimeout bounds a call but a fetch (controller.socket.timeout.ms),
	// FetchTimeout a fetch (replica.socket.timeout.ms). Default 30 s.
	ControlTimeout, FetchTimeout time.Duration
	// ConnectTimeout bounds the making of a connection. Default 10 s.
	ConnectTimeout time.Duration
	// FirstBackoff and MaxBackoff are the pause after a first failure and the
	// longest one, twice as long each time. Default 50 ms and 1 s.
	FirstBackoff, MaxBackoff time.Duration
	// MaxFrame bounds a response. Default 1 GiB.
	MaxFrame int32
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Dial == nil {
		o.Dial = dialTCP(o.BindAddress)
	}
	for _, d := range []struct {
		value *time.Duration
		none  time.Duration
	}{
		{&o.ControlTimeout, 30 * time.Second}, {&o.FetchTimeout, 30 * time.Second}, {&o.ConnectTimeout, 10 * time.Second},
		{&o.FirstBackoff, 50 * time.Millisecond}, {&o.MaxBackoff, time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.none
		}
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = 1 << 30
	}
	return o
}

// Pool is this broker's connections to the others: one for each broker and
// purpose, made when it is first needed, so that a slow fetch keeps no word of
// the controller waiting. Calls of one purpose to one broker go one after the
// other, in any order; the methods block until the answer is there, its time is
// over, ctx ends or the pool is closed. A call that got no answer is not
// repeated, and its connection is closed; what it asked for may still be done,
// after what the next call asks for.
//
// A Pool is safe for concurrent use. It has no goroutine of its own.
type Pool struct {
	o         Options
	formatter *kmsg.RequestFormatter

	mu     sync.Mutex
	closed bool
	peers  map[int32]*remote
}

// remote is a broker that lives at one address.
type remote struct {
	Broker
	// gone ends, with ErrClosed or ErrUnknownBroker as its cause, when the broker
	// is not to be spoken to any more.
	gone  context.Context
	leave context.CancelCauseFunc
	lanes map[purpose]*lane // guarded by Pool.mu
}

// purpose tells connections to one broker apart. The number is of fetchers and
// of whatever else uses several connections.
type purpose struct {
	kind   purposeKind
	number int
}

type purposeKind uint8

const (
	orders    purposeKind = iota // the controller's
	proposals                    // of in-sync sets, to the controller
	asking                       // of what may take its time
	fences
	markers
	verifications
	fetches
)

// NewPool returns a pool that knows no broker.
func NewPool(o Options) *Pool {
	return &Pool{
		o: o.withDefaults(), formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID(o.ClientID)),
		peers: make(map[int32]*remote),
	}
}

// SetBrokers says which brokers live, and where. Calls to one that is not named
// any more, or with another address, end with ErrUnknownBroker.
func (p *Pool) SetBrokers(brokers []Broker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	next := make(map[int32]*remote, len(brokers))
	for _, b := range brokers {
		b.Rack = ""
		if r := p.peers[b.ID]; r != nil && r.Broker == b {
			next[b.ID] = r
			continue
		}
		r := &remote{Broker: b, lanes: make(map[purpose]*lane)}
		r.gone, r.leave = context.WithCancelCause(context.Background())
		next[b.ID] = r
	}
	for id, r := range p.peers {
		if next[id] != r {
			r.end(ErrUnknownBroker)
		}
	}
	p.peers = next
}

// Close ends all calls with ErrClosed and closes all connections.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.peers {
		r.end(ErrClosed)
	}
	clear(p.peers)
}

func (r *remote) end(why error) {
	r.leave(why)
	for _, l := range r.lanes {
		l.closeIdle()
	}
}

// lane finds the connection of a purpose.
func (p *Pool) lane(broker int32, use purpose) (*lane, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	r := p.peers[broker]
	if r == nil {
		return nil, ErrUnknownBroker
	}
	l := r.lanes[use]
	if l == nil {
		l = &lane{o: &p.o, to: r.Broker, gone: r.gone, turn: make(chan struct{}, 1)}
		r.lanes[use] = l
	}
	return l, nil
}
