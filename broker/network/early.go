package network

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"tidemark/internal/invariant"
	"tidemark/protocol/wire"
)

// EarlyHandler is a Handler that may receive the greater part of a request in
// memory of its own. It gets what it asked for with OfferNext: the connection's
// next request, if it is a long one and all of it has arrived in the kernel's
// receive buffer, so that receiving it waits for nobody.
type EarlyHandler interface {
	Handler
	// HandleEarly is called as Handle is, with a request of which Body is only
	// the beginning. Either it returns true, having received the rest and seen
	// to one answer, as Handle must; or false with the request unanswered and
	// the rest not received, and Handle gets the whole request. Body and the
	// header's client id are gone when it returns.
	HandleEarly(r *Request, rest *Rest) bool
}

// OfferNext asks that the connection's next request be offered to HandleEarly.
// It is called within Handle or HandleEarly, and is no more than a wish.
func (r *Request) OfferNext() { r.c.in.offering = r.c.raw != nil && r.c.server.early != nil }

// maxAfter bounds what may follow the part of a request that a Rest is read into.
const maxAfter = 64

// errNotReceived: the rest of an early request could not be read in one go.
var errNotReceived = errors.New("the rest of the request was not received")

// Rest is what of an early request is still in the kernel's receive buffer. It is
// valid within HandleEarly.
type Rest struct {
	in *input
	// left is how many bytes have neither been received nor given back.
	left int
	lost bool
}

// Len is the number of bytes not received yet.
func (r *Rest) Len() int { return r.left }

// ReadInto receives the rest: its beginning fills memory, the remaining bytes, at
// most 64, are returned and gone when HandleEarly returns. It never waits. After
// an error nothing was received; what memory holds is undefined. Memory may be a
// file's whose pages can be lost: that, too, is an error, or a fault on the
// calling goroutine, after which the connection closes.
func (r *Rest) ReadInto(memory []byte) (after []byte, err error) {
	in, behind := r.in, r.left-len(memory)
	if behind < 0 || behind > maxAfter {
		invariant.Check(false, "%d bytes into memory of %d", r.left, len(memory))
	}
	other := in.sides[1-in.side][:]
	in.vector = [2][]byte{memory, other[:behind+stashBytes]}
	in.n = 0
	err = in.c.raw.Control(in.receive)
	in.vector = [2][]byte{}
	if err != nil || in.n < r.left {
		r.giveBack(memory, other)
		return nil, errNotReceived
	}
	next := in.n - r.left
	in.side = 1 - in.side
	in.stash = other[behind:][:next]
	r.left = 0
	return other[:behind:behind], nil
}

// giveBack keeps the bytes that came, so that the ordinary way of receiving goes
// on behind them.
func (r *Rest) giveBack(memory, other []byte) {
	in := r.in
	if in.n == 0 {
		return
	}
	r.lost = true // Until they are safe: memory may fault.
	kept := make([]byte, 0, in.n)
	kept = append(kept, memory[:min(in.n, len(memory))]...)
	kept = append(kept, other[:in.n-len(kept)]...)
	in.regained, r.lost = kept, false
}

// offer hands the next request to the EarlyHandler if it is one for it.
func (c *conn) offer() (taken bool, err error) {
	front, left, ok, err := c.in.peek()
	if err != nil || !ok {
		return false, err
	}
	r := &Request{Received: c.server.o.Clock.Now(), Conn: &c.info, c: c}
	if r.Header, r.Body, err = wire.ParseHeader(front); err != nil {
		return false, nil // More of the frame may make a header of it.
	}
	c.enqueue(r)
	rest := &c.in.rest
	*rest = Rest{in: &c.in, left: left}
	c.in.offering = false
	if !c.server.early.HandleEarly(r, rest) {
		invariant.Check(rest.left > 0, "request %d of %s was received and declined", r.Header.CorrelationID, c.info.Remote)
		c.withdraw(r)
		c.server.stats.Early[EarlyDeclined].Add(1)
		c.in.offering = true // Until the whole request has been handled.
		return false, rest.err()
	}
	if rest.left > 0 {
		return true, errNotReceived
	}
	total := lengthBytes + len(front) + left
	c.in.last, c.in.proven = total, max(c.in.proven, total)
	c.server.stats.ReceivedBytes.Add(int64(total))
	c.server.stats.Early[EarlyTaken].Add(1)
	c.handled()
	return true, nil
}

func (r *Rest) err() error {
	if r.lost {
		return errNotReceived
	}
	return nil
}

// withdraw takes back the request that was enqueued last.
func (c *conn) withdraw(r *Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = nil
	if last := len(c.pending) - 1; last >= 0 && c.pending[last] == r { // Else the connection was closed.
		c.pending[last] = nil
		c.pending = c.pending[:last]
	}
	c.space.Broadcast()
}

// peek returns the beginning of the next frame, without its length, and how many
// bytes of it are behind that in the kernel's receive buffer. It waits for the
// first byte only; ok is false for a frame that is not long or not all there.
func (in *input) peek() (front []byte, left int, ok bool, err error) {
	if in.buf != nil {
		return nil, 0, false, nil
	}
	if len(in.stash) == 0 {
		if err := in.readStash(); err != nil {
			return nil, 0, false, err
		}
	}
	if len(in.stash) < lengthBytes {
		in.c.server.stats.Early[EarlyIncomplete].Add(1)
		return nil, 0, false, nil
	}
	length := int32(binary.BigEndian.Uint32(in.stash))
	if length <= copyBelow || length > in.c.server.o.MaxFrame {
		return nil, 0, false, nil
	}
	left = lengthBytes + int(length) - len(in.stash)
	in.n = 0
	if err := in.c.raw.Control(in.look); err != nil || in.n < left {
		in.c.server.stats.Early[EarlyIncomplete].Add(1)
		return nil, 0, false, nil // An error shows again where it is read.
	}
	if len(in.stash) < stashBytes {
		have := len(in.stash)
		if err := in.readStash(); err != nil {
			return nil, 0, false, err
		}
		left -= len(in.stash) - have
	}
	return in.stash[lengthBytes:], left, true, nil
}

// count is called with the descriptor: in.n is how many bytes can be read.
func (in *input) count(fd uintptr) {
	in.n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) // None, where the kernel does not say.
}

// readVector is called with the descriptor: it reads what is there of the frame
// being offered into in.vector; in.n is how much.
func (in *input) readVector(fd uintptr) {
	for in.n < in.rest.left {
		n, err := unix.Readv(int(fd), in.vector[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return // The ordinary way of reading meets it again.
		}
		in.n += n
		for i := range in.vector {
			step := min(n, len(in.vector[i]))
			in.vector[i] = in.vector[i][step:]
			n -= step
		}
	}
}
