package zkserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/coordinator/zkserver/tree"
)

const (
	// readAhead is the size of the first read of a frame, and the least step by
	// which its buffer grows with the bytes that came.
	readAhead = 4 << 10
	// maxInFlight requests without a reply, or pauseBytes of unsent replies,
	// make a connection's reader wait. With them go at most maxBytes, unless
	// watch events pile up: then the connection is closed.
	maxInFlight = 32
	pauseBytes  = 1 << 20
	maxBytes    = (maxInFlight + 2) << 20
)

var connIDs atomic.Int64

// conn is one client connection: a reader that hands frames to the loop, and a
// writer that sends what the loop made.
type conn struct {
	id     int64
	server *Server
	net    net.Conn

	// Owned by the loop.
	session int64 // 0 before the handshake
	timeout int32
	who     []tree.Identity
	pending []byte // replies held back until the sync
	handled int    // requests that pending answers
	ending  bool   // close once pending is sent

	mu       sync.Mutex // guards the following
	moved    *sync.Cond // out got shorter, or the connection closed
	out      []byte     // ready to be sent
	sending  int        // bytes taken by the writer
	inFlight int        // requests handed to the loop, their replies not in out yet
	finish   bool       // close once out is sent
	isClosed bool
	wake     chan struct{} // capacity 1: out or finish changed
	closed   chan struct{}
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		id: connIDs.Add(1), server: s, net: nc,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	c.moved = sync.NewCond(&c.mu)
	if ap, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil {
		c.who = []tree.Identity{{Scheme: "ip", ID: ap.Addr().Unmap().WithZone("").String()}}
	}
	return c
}

// close ends the connection at once; safe to repeat and from any goroutine.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return
	}
	c.isClosed = true
	close(c.closed)
	_ = c.net.Close() // nothing is left to be saved
	c.moved.Broadcast()
}

// readLoop takes frames off the wire until the connection ends.
func (c *conn) readLoop() {
	err := c.readFrames()
	c.close()
	s := c.server
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		s.o.Logger.Debug("connection ended", "remote", c.net.RemoteAddr(), "error", err)
	}
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.submit(task{conn: c, kind: taskGone})
}

func (c *conn) readFrames() error {
	s := c.server
	in := bufio.NewReaderSize(c.net, readAhead)
	for first := true; ; first = false {
		if !c.awaitRoom() {
			return net.ErrClosed
		}
		deadline := time.Time{}
		if first {
			deadline = time.Now().Add(s.o.FrameTimeout)
		}
		if err := c.net.SetReadDeadline(deadline); err != nil {
			return err
		}
		var head [4]byte
		if _, err := io.ReadFull(in, head[:1]); err != nil {
			return err
		}
		if err := c.net.SetReadDeadline(time.Now().Add(s.o.FrameTimeout)); err != nil {
			return err
		}
		if _, err := io.ReadFull(in, head[1:]); err != nil {
			return err
		}
		if first && isFourLetterWord(head) {
			s.submit(task{conn: c, kind: taskWord, body: head[:]})
			// The answer ends the connection; whatever else comes is not read.
			<-c.closed
			return nil
		}
		length := int(int32(binary.BigEndian.Uint32(head[:])))
		if length < 0 || length > s.o.MaxFrame {
			return fmt.Errorf("frame of %d bytes, the limit is %d", length, s.o.MaxFrame)
		}
		body, err := readBody(in, length)
		if err != nil {
			return err
		}
		kind := taskRequest
		if first {
			kind = taskConnect
		}
		if !s.submit(task{conn: c, kind: kind, body: body}) {
			return net.ErrClosed
		}
	}
}

// readBody reads a frame. The buffer grows with what arrives, never by what was
// claimed.
func readBody(r io.Reader, length int) ([]byte, error) {
	buf := make([]byte, 0, min(length, readAhead))
	for len(buf) < length {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(length, 2*cap(buf)))
			copy(grown, buf)
			buf = grown
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// awaitRoom waits until there is room for one more request: the client has taken
// enough of its replies.
func (c *conn) awaitRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.isClosed && (len(c.out)+c.sending > pauseBytes || c.inFlight >= maxInFlight) {
		c.moved.Wait()
	}
	c.inFlight++
	return !c.isClosed
}

// send passes on what the loop made: the replies to that many requests, and
// events. finish closes the connection after it.
func (c *conn) send(data []byte, replies int, finish bool) {
	c.mu.Lock()
	c.out = append(c.out, data...)
	c.finish = c.finish || finish
	c.inFlight -= replies
	tooMuch := len(c.out)+c.sending > maxBytes
	c.moved.Broadcast()
	c.mu.Unlock()
	if tooMuch {
		c.server.o.Logger.Warn("client does not read its events", "remote", c.net.RemoteAddr())
		c.close()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// writeLoop sends what is ready, all of it in one write.
func (c *conn) writeLoop() {
	defer c.close()
	var buf []byte
	for {
		select {
		case <-c.wake:
		case <-c.closed:
			return
		}
		c.mu.Lock()
		buf, c.out = c.out, buf[:0]
		c.sending = len(buf)
		finish := c.finish
		c.mu.Unlock()
		if len(buf) > 0 {
			if err := c.net.SetWriteDeadline(time.Now().Add(c.server.o.FrameTimeout)); err != nil {
				return
			}
			if _, err := c.net.Write(buf); err != nil {
				return
			}
		}
		c.mu.Lock()
		c.sending = 0
		finish = finish && len(c.out) == 0
		c.moved.Broadcast()
		c.mu.Unlock()
		if finish {
			return
		}
		if cap(buf) > pauseBytes {
			buf = nil // one large reply must not stay for ever
		}
	}
}
