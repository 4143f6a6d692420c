package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"tidemark/protocol/wire"
)

// lane is the connection to a broker for one purpose, with the exchange that is
// under way on it.
type lane struct {
	o    *Options
	to   Broker
	gone context.Context // of the remote
	// turn holds a token while somebody uses what is below.
	turn chan struct{}

	conn        net.Conn // nil while there is none
	correlation int32
	out, in     []byte
	failures    int       // since the last answer
	next        time.Time // when to connect again
}

// exchange is one request and its answer.
type exchange struct {
	request string
	// correlation is the id of the request, where it is not the lane's to choose.
	correlation int32
	// encode appends the frame of the request.
	encode func(to []byte, correlation int32) []byte
	// decode takes the body of the answer, which lies in the lane's memory.
	decode func(body []byte) error
	// take, where it is set, reads the whole answer itself, in place of decode.
	take func(from io.Reader, correlation int32) error
}

// keepBytes is the largest buffer that a lane keeps for its next exchange.
const keepBytes = 1 << 20

// do has its turn, connects where need be, sends and receives.
func (l *lane) do(ctx context.Context, x exchange) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(l.gone, cancel)
	defer stop()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return l.failed(ctx, x, false, ctx.Err())
	}
	defer l.pass()
	if err := l.connect(ctx); err != nil {
		return l.failed(ctx, x, false, err)
	}
	sent, err := l.converse(ctx, x)
	if err != nil {
		l.hangUp()
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			l.backOff()
		}
		return l.failed(ctx, x, sent, err)
	}
	l.failures = 0
	return nil
}

// failed says what ended the call: what ended ctx, rather than what the
// connection made of it.
func (l *lane) failed(ctx context.Context, x exchange, sent bool, err error) error {
	switch {
	case l.gone.Err() != nil:
		err = context.Cause(l.gone)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return &CallError{Broker: l.to.ID, Request: x.request, Sent: sent, Err: err}
}

// pass gives the turn to the next caller.
func (l *lane) pass() {
	if cap(l.out) > keepBytes {
		l.out = nil
	}
	if cap(l.in) > keepBytes {
		l.in = nil
	}
	<-l.turn
	if l.gone.Err() != nil {
		l.closeIdle()
	}
}

// closeIdle closes the connection unless somebody uses it, who closes it then.
func (l *lane) closeIdle() {
	select {
	case l.turn <- struct{}{}:
		l.hangUp()
		<-l.turn
	default:
	}
}

func (l *lane) hangUp() {
	if l.conn != nil {
		_ = l.conn.Close() // nothing that was answered can be lost by it
		l.conn = nil
	}
}

// connect leaves a connection behind: the one that there is, unless the peer
// closed it meanwhile, or a new one as soon as the pause is over.
func (l *lane) connect(ctx context.Context) error {
	if l.conn != nil && !closedByPeer(l.conn) {
		return nil
	}
	l.hangUp()
	if err := l.pause(ctx); err != nil {
		return err
	}
	dialing, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	conn, err := l.o.Dial(dialing, l.to)
	if err != nil {
		if ctx.Err() == nil {
			l.backOff()
		}
		return err
	}
	l.conn = conn
	return nil
}

// backOff has the next attempt to connect wait, twice as long as the one before.
func (l *lane) backOff() {
	pause := l.o.MaxBackoff
	if l.failures < 20 {
		pause = min(pause, l.o.FirstBackoff<<l.failures)
	}
	l.failures++
	l.next = l.o.Clock.Now().Add(pause)
}

func (l *lane) pause(ctx context.Context) error {
	wait := l.next.Sub(l.o.Clock.Now())
	if wait <= 0 {
		return ctx.Err()
	}
	over := make(chan struct{})
	timer := l.o.Clock.AfterFunc(wait, func() { close(over) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		timer.Stop()
		return ctx.Err()
	}
}

// converse sends the request and reads the answer. sent says whether any of it
// went out.
func (l *lane) converse(ctx context.Context, x exchange) (sent bool, err error) {
	conn := l.conn
	armed := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !armed() && err == nil {
			err = ctx.Err() // the deadline may have been set: the connection is of no use
		}
	}()
	l.correlation++
	if x.correlation != 0 {
		l.correlation = x.correlation
	}
	l.out = x.encode(l.out[:0], l.correlation)
	n, err := conn.Write(l.out)
	if err != nil {
		return n > 0, err
	}
	if x.take != nil {
		return true, x.take(conn, l.correlation)
	}
	body, err := l.receive()
	if err != nil {
		return true, err
	}
	return true, x.decode(body)
}

// receive reads a response frame and returns its body.
func (l *lane) receive() (body []byte, err error) {
	l.in, err = wire.ReadFrame(l.conn, l.o.MaxFrame, l.in[:0])
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	r := wire.Reader{Src: l.in, Flexible: true}
	got := r.Int32()
	if err := answers(got, l.correlation); err != nil && !r.Bad {
		return nil, err
	}
	r.Tags(nil)
	if r.Bad {
		return nil, fmt.Errorf("%w: header of a response", ErrMalformed)
	}
	return r.Src, nil
}

// answers says whether a response is to the request.
func answers(response, request int32) error {
	if response == request {
		return nil
	}
	return fmt.Errorf("%w: response %d to request %d", ErrMalformed, response, request)
}
