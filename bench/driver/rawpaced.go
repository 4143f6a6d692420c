package driver

import (
	"context"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"tidemark/bench/schedule"
)

// paced is a producer that sends when a send is due and takes answers in between,
// both from one thread and past the runtime's poller: between an answer's arrival and
// its time, and between a due time and its send, there is one wake-up at most.
type paced struct {
	*producer
	feed   Feed
	fd     int
	pacer  *schedule.Pacer
	window []flight
	head   int // the oldest flight
	flying int
	held   int64
	vector [2][]byte // what of a request is still to be written
}

// paced runs the sends of a feed that does not saturate.
func (p *producer) paced(ctx context.Context, f Feed) (flying int, err error) {
	fd, err := schedule.Detach(p.conn.(*net.TCPConn))
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing is buffered in it
	q := &paced{producer: p, feed: f, fd: fd, window: make([]flight, p.options.Load.InFlight)}
	err = q.run(ctx)
	return q.flying, err
}

func (p *paced) run(ctx context.Context) error {
	p.pacer = schedule.NewPacer()
	defer p.pacer.Close()
	for ctx.Err() == nil {
		due, ok := p.feed.Due()
		if !ok {
			break
		}
		if err := p.until(due); err != nil {
			return err
		}
		if p.flying == len(p.window) {
			if err := p.settleTo(ctx, len(p.window)-1); err != nil {
				return err
			}
			p.held = schedule.Now()
		}
		if err := p.send(due); err != nil {
			return err
		}
	}
	return p.settleTo(ctx, 0)
}

// until takes the answers that come before t.
func (p *paced) until(t int64) error {
	for p.pacer.WaitRead(t, p.fd) < t {
		if err := p.take(); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long the sender waits for answers before it looks whether it
// should stop.
const patience = 20_000_000 // ns

// settleTo takes answers until no more than most requests are unanswered.
func (p *paced) settleTo(ctx context.Context, most int) error {
	for p.flying > most {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.pacer.SleepRead(patience, p.fd)
		if err := p.take(); err != nil {
			return err
		}
	}
	return nil
}

// take settles the answers that are there.
func (p *paced) take() error {
	n, err := unix.Read(p.fd, p.in[p.inLen:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err == nil && n == 0:
		err = io.ErrUnexpectedEOF
		fallthrough
	case err != nil:
		return fmt.Errorf("read produce answers: %w", err)
	}
	p.inLen += n
	now := schedule.Now()
	for p.inLen >= p.answer.size && p.flying > 0 {
		if err := p.settle(p.feed, &p.window[p.head], now); err != nil {
			return err
		}
		p.head = (p.head + 1) % len(p.window)
		p.flying--
	}
	return nil
}

// send writes one request.
func (p *paced) send(due int64) error {
	fl := &p.window[(p.head+p.flying)%len(p.window)]
	bufs := p.load(fl, due, p.vector[:0])
	fl.sent = schedule.Now()
	p.feed.Sent(due, fl.sent, Send{p.pool.records, fl.wire, p.held})
	p.flying++
	return p.write(bufs)
}

// write writes bufs, and takes answers as long as the socket has no room.
func (p *paced) write(bufs [][]byte) error {
	for len(bufs) > 0 {
		n, err := unix.SendmsgBuffers(p.fd, bufs, nil, nil, 0)
		switch err {
		case nil:
			bufs = after(bufs, n)
			continue
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			return fmt.Errorf("write a produce request: %w", err)
		}
		p.pacer.SleepWrite(patience, p.fd)
		if err := p.take(); err != nil {
			return err
		}
		p.held = schedule.Now()
	}
	return nil
}

// after is what is left of bufs behind their first n bytes.
func after(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}
