package network

import (
	"encoding/binary"
	"fmt"
)

const (
	lengthBytes = 4
	// copyBelow separates two ways of receiving. Frames up to it are read many
	// at a time into one buffer and copied out; longer ones are received in
	// the buffer that the request then owns.
	copyBelow = 8 << 10
	// smallBuffer is the buffer for frames up to copyBelow.
	smallBuffer = 16 << 10
	// unproven is how much a connection gets for a frame that is longer than
	// any it has completed; from there on memory doubles with what arrived.
	unproven = 64 << 10
	// stashBytes is how much of the next frame may stay behind, outside of any
	// buffer, when a request takes the buffer over. It is enough for all that
	// precedes the records of a produce request of one partition.
	stashBytes = 512
)

// frameError is a frame length out of range.
type frameError struct {
	length, most int32
}

func (e *frameError) Error() string {
	return fmt.Sprintf("frame of %d bytes is not between 1 and %d", e.length, e.most)
}

// input cuts a connection's bytes into frames. It is the reader goroutine's.
// Unread bytes are either stash and behind it regained (buf is nil) or
// buf.b[r:w].
type input struct {
	c        *conn
	buf      *buffer
	r, w     int
	stash    []byte // lies in one of sides
	regained []byte // what an early request took and gave back; else nil
	sides    [2][stashBytes + maxAfter]byte
	side     int   // where stash lies
	grant    grant // being obtained for the next buffer
	last     int   // size of the last frame, its length included
	proven   int   // the greatest such size
	// offering: the next frame is to be offered to the EarlyHandler.
	offering bool
	rest     Rest // of the frame being offered

	// Of one attempt to read: try is attempt as a func value.
	try     func(fd uintptr) bool
	window  []byte
	n       int
	err     error
	blocked bool // nothing to read and answers to send first

	// Of looking at, and receiving, the rest of an early request.
	look, receive func(fd uintptr)
	vector        [2][]byte
}

func (in *input) init(c *conn) {
	in.c = c
	in.try, in.look, in.receive = in.attempt, in.count, in.readVector
	in.stash = in.sides[0][:0]
}

// next returns the next frame without its length, and the buffer it lies in.
func (in *input) next() (frame *buffer, body []byte, err error) {
	for {
		if in.buf == nil {
			if err := in.take(); err != nil {
				return nil, nil, err
			}
		}
		total, err := in.total()
		if err != nil {
			return nil, nil, err
		}
		if total > 0 && in.w-in.r >= total {
			return in.cut(total)
		}
		if err := in.room(total); err != nil {
			return nil, nil, err
		}
		if err := in.fill(total); err != nil {
			return nil, nil, err
		}
	}
}

// total is the size of the frame at hand, its length included; 0 while its
// length has not arrived.
func (in *input) total() (int, error) {
	if in.w-in.r < lengthBytes {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(in.buf.b[in.r:]))
	if most := in.c.server.o.MaxFrame; length <= 0 || length > most {
		return 0, &frameError{length, most}
	}
	return lengthBytes + int(length), nil
}

// coming is the size of the next frame as far as its length is here, else 0.
func (in *input) coming() int64 {
	b := in.stash
	if in.buf != nil {
		b = in.buf.b[in.r:in.w]
	}
	if len(b) < lengthBytes {
		return 0
	}
	return int64(binary.BigEndian.Uint32(b))
}

// expected is how many bytes to ask for while the length is unknown: small
// frames come in bunches; a long one is taken for as long as the last, with the
// length of its successor.
func (in *input) expected() int {
	if in.last <= copyBelow {
		return smallBuffer
	}
	return in.last + in.ahead()
}

// ahead is how much of the next frame is read with a long one.
func (in *input) ahead() int {
	if in.offering {
		return stashBytes
	}
	return lengthBytes
}

// take gets a buffer. If the budget has no room for it, the connection first
// makes sure that there is something to read, so that idle ones do not stand in
// the way of others, and then waits for room.
func (in *input) take() error {
	size := bufferSize(max(in.expected(), len(in.stash)+len(in.regained)))
	if budget := in.c.server.budget; !budget.tryStart(&in.grant, int64(size)) {
		if len(in.stash) == 0 {
			if err := in.readStash(); err != nil {
				return err
			}
		}
		if !budget.start(&in.grant, int64(size), in.c.halt) {
			return errHalted
		}
	}
	in.buf = newBuffer(size)
	in.buf.grant.move(&in.grant, int64(size))
	in.r, in.w = 0, copy(in.buf.b, in.stash)
	in.w += copy(in.buf.b[in.w:], in.regained)
	in.stash, in.regained = in.sides[in.side][:0], nil
	return nil
}

// readStash reads once into the stash, behind what it has.
func (in *input) readStash() error {
	have := len(in.stash)
	err := in.read(in.stash[have:max(have, min(cap(in.stash), stashBytes))])
	in.stash = in.stash[:have+in.n]
	return err
}

// cut takes the frame of total bytes, which is there, out of the input.
func (in *input) cut(total int) (*buffer, []byte, error) {
	c := in.c
	c.frameDue.Store(0)
	in.last, in.proven = total, max(in.proven, total)
	b, start, end := in.buf, in.r+lengthBytes, in.r+total
	if total > copyBelow && in.w-end <= stashBytes {
		in.stash = in.sides[in.side][:copy(in.sides[in.side][:], b.b[end:in.w])]
		in.buf, in.r, in.w = nil, 0, 0
		return b, b.b[start:end], nil
	}
	own, err := in.another(total - lengthBytes)
	if err != nil {
		return nil, nil, err
	}
	n := copy(own.b, b.b[start:end])
	in.r = end
	return own, own.b[:n], nil
}

// room makes sure that the buffer can take more of the frame at hand.
func (in *input) room(total int) error {
	have := in.w - in.r
	if have == 0 {
		in.r, in.w = 0, 0
	}
	want := lengthBytes
	if total > 0 {
		want = min(total+in.ahead(), max(unproven, in.proven+in.ahead(), 2*have))
	}
	switch {
	case in.r+want <= len(in.buf.b):
		return nil
	case want <= len(in.buf.b):
		in.r, in.w = 0, copy(in.buf.b, in.buf.b[in.r:in.w])
		return nil
	}
	bigger, err := in.another(want)
	if err != nil {
		return err
	}
	n := copy(bigger.b, in.buf.b[in.r:in.w])
	in.buf.release()
	in.buf, in.r, in.w = bigger, 0, n
	in.c.frameDue.Store(0) // bytes came: patience starts again
	return nil
}

// another gets a second buffer, of n bytes, in the middle of a frame.
func (in *input) another(n int) (*buffer, error) {
	size := bufferSize(n)
	if !in.c.server.budget.grow(&in.buf.grant, int64(size), in.c.halt) {
		return nil, errHalted
	}
	b := newBuffer(size)
	b.grant.move(&in.buf.grant, int64(size))
	return b, nil
}

// fill reads once, waiting for bytes if need be. It may return without any when
// the buffer had been given back during the wait.
func (in *input) fill(total int) error {
	end := len(in.buf.b)
	switch {
	case total > copyBelow:
		end = min(end, in.r+total+in.ahead())
	case total == 0 && in.last > copyBelow:
		end = min(end, in.r+in.expected())
	}
	err := in.read(in.buf.b[in.w:end])
	in.w += in.n
	return err
}
