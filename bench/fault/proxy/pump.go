package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pump carries one flow of one connection. run is confined to one goroutine; set
// may be called beside it.
type pump struct {
	queue queue
	kick  chan struct{} // holds one at most: the rule has changed
	done  <-chan struct{}
	buf   []byte

	mu       sync.Mutex
	src, dst *net.TCPConn // nil before the target is dialled
	rule     Rule
	changed  bool // since take
	// taken is closed once run goes by the present rule; nil where it does.
	taken chan struct{}
}

func newPump(src *net.TCPConn, seed uint64, done <-chan struct{}) *pump {
	return &pump{src: src, queue: newQueue(seed), kick: make(chan struct{}, 1), done: done}
}

func (p *pump) connect(src, dst *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.src, p.dst = src, dst
}

// longAgo makes a read under way return.
var longAgo = time.Unix(1, 0)

// set changes the rule and wakes run. What it returns is closed once run goes by
// the rule; nil means at once.
func (p *pump) set(r Rule) (taken <-chan struct{}) {
	p.mu.Lock()
	p.rule = r
	if p.taken == nil && p.dst != nil {
		p.taken = make(chan struct{})
	}
	taken = p.taken
	p.mu.Unlock()
	p.wake()
	return taken
}

// wake makes run look at its rule.
func (p *pump) wake() {
	p.mu.Lock()
	p.changed = true
	if p.src != nil {
		_ = p.src.SetReadDeadline(longAgo) // a closed one wakes by itself
	}
	p.mu.Unlock()
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

func (p *pump) current() Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule
}

// take returns the rule and lets reads wait again.
func (p *pump) take() Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = false
	p.settle()
	_ = p.src.SetReadDeadline(time.Time{}) // a closed one fails at the read
	return p.rule
}

// settle is called with mu held.
func (p *pump) settle() {
	if p.taken != nil {
		close(p.taken)
		p.taken = nil
	}
}

// readUntil bounds the next read by a time, unless the rule has changed.
func (p *pump) readUntil(t time.Time) (same bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.changed {
		_ = p.src.SetReadDeadline(t) // a closed one fails at the read
	}
	return !p.changed
}

// readBytes is what one read takes at most.
const readBytes = 64 << 10

// readSome reads up to n bytes into a buffer of the pump's own.
func (p *pump) readSome(n int) ([]byte, error) {
	if p.buf == nil {
		p.buf = make([]byte, readBytes)
	}
	n, err := p.src.Read(p.buf[:min(n, readBytes)])
	return p.buf[:n], err
}

// run forwards until the source ends, which it passes on, or something breaks.
func (p *pump) run() error {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dst = nil // whoever sets a rule from now on need not wait
		p.settle()
	}()
	for {
		rule := p.take()
		var err error
		switch {
		case rule.Mode == Hang:
			err = p.hang()
		case rule.shapes() || !p.queue.empty():
			err = p.shape(rule)
		default:
			_, err = io.Copy(p.dst, p.src) // splice(2) where there is one
			if err == nil {
				err = io.EOF
			}
		}
		switch {
		case err == nil, errors.Is(err, os.ErrDeadlineExceeded): // another rule
		case errors.Is(err, io.EOF):
			return p.dst.CloseWrite()
		default:
			return err
		}
	}
}

// hang returns when the rule has changed.
func (p *pump) hang() error {
	select {
	case <-p.kick:
		return nil
	case <-p.done:
		return net.ErrClosed
	}
}

// shape forwards by the queue's times until the rule changes. A rule that does not
// shape is done once the queue is empty.
func (p *pump) shape(r Rule) error {
	ended := false
	for {
		if err := p.writeDue(r); err != nil {
			return err
		}
		if p.queue.empty() {
			if ended {
				return io.EOF
			}
			if !r.shapes() {
				return nil
			}
		}
		if !p.readUntil(p.queue.due()) {
			return nil
		}
		if ended || p.queue.full() {
			if woken, err := p.rest(time.Until(p.queue.due())); woken || err != nil {
				return err
			}
			continue
		}
		data, err := p.readSome(queueBytes - p.queue.bytes)
		p.queue.put(data, r, time.Now())
		switch {
		case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
		case errors.Is(err, io.EOF):
			ended = true
		default:
			return err
		}
	}
}

// writeDue writes every piece whose time has come; all of them where the rule does
// not shape.
func (p *pump) writeDue(r Rule) error {
	for !p.queue.empty() && (!r.shapes() || !time.Now().Before(p.queue.due())) {
		if _, err := p.dst.Write(p.queue.pop()); err != nil {
			return err
		}
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if changed {
			return nil
		}
	}
	return nil
}

// rest waits, at most until the rule changes.
func (p *pump) rest(d time.Duration) (woken bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false, nil
	case <-p.kick:
		return true, nil
	case <-p.done:
		return true, net.ErrClosed
	}
}
