package wire

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/engines"
	"tidemark/internal/invariant"
)

// Response is one reply frame: encoded bytes, with chunks of the log spliced in
// where a Fetch response has records. It is confined to one goroutine at a time,
// and pooled: nothing of it may be touched after Release.
type Response struct {
	buf     []byte // the frame from its length field on, without the chunks
	splices []splice
	length  int64 // of the frame, length field and chunks included
	live    bool  // between its making and Release
	fetch   FetchWriter
	own     ResponseWriter
}

// splice is a chunk and where in buf it belongs.
type splice struct {
	at    int
	chunk engines.Chunk
}

// keepBytes is the largest buffer that is kept for the next response.
const keepBytes = 256 << 10

var responses = sync.Pool{New: func() any { return new(Response) }}

// newResponse starts a frame: its length to come, and the response header.
func newResponse(h Header) *Response {
	r := responses.Get().(*Response)
	r.live = true
	r.buf = append(r.buf[:0], 0, 0, 0, 0)
	r.buf = binary.BigEndian.AppendUint32(r.buf, uint32(h.CorrelationID))
	if hasResponseTags(h.Key, h.Version) {
		r.buf = append(r.buf, 0)
	}
	return r
}

// NewResponse encodes body, at once, as the reply to the request of h: in h's
// version, which it sets in body, and with the response header that the version
// asks for.
func NewResponse(h Header, body kmsg.Response) *Response {
	r := newResponse(h)
	body.SetVersion(h.Version)
	r.buf = body.AppendTo(r.buf)
	r.seal()
	return r
}

// seal writes the frame's length.
func (r *Response) seal() {
	r.length = int64(len(r.buf))
	for i := range r.splices {
		r.length += r.splices[i].chunk.Len()
	}
	invariant.Check(r.length-lengthSize <= math.MaxInt32, "response of more than 2 GiB")
	binary.BigEndian.PutUint32(r.buf, uint32(r.length-lengthSize))
}

// Len is the number of bytes of the frame, its length field included.
func (r *Response) Len() int64 { return r.length }

// WriteTo sends the whole frame. After an error the connection cannot be used
// any more, since part of a frame may have gone out.
func (r *Response) WriteTo(w io.Writer) (int64, error) {
	r.own.reset(w)
	one := [1]*Response{r}
	n, err := r.own.Write(one[:])
	r.own.reset(nil)
	return n, err
}

// Release gives the buffers and chunks back, sent or not; exactly one call.
func (r *Response) Release() {
	invariant.Check(r.live, "response released twice")
	for i := range r.splices {
		r.splices[i].chunk.Release()
	}
	clear(r.splices)
	buf := r.buf
	if cap(buf) > keepBytes {
		buf = nil
	}
	*r = Response{buf: buf[:0], splices: r.splices[:0], own: ResponseWriter{parts: r.own.parts}}
	responses.Put(r)
}

// ResponseWriter sends responses over one connection, with one writev for all
// the bytes between two chunks. It is confined to one goroutine.
type ResponseWriter struct {
	w     io.Writer
	raw   syscall.RawConn // of a TCP connection, else nil
	parts [][]byte        // to be sent
	bufs  net.Buffers     // parts while they are being sent, which uses it up
	// fallback is how many bytes of chunks their engines copied because the
	// connection is not what they are made for.
	fallback int64
}

// TakeFallbackBytes returns how many bytes of chunks were sent by copying, in
// place of their engine's own way (engines.FallbackChunk), since the last call.
func (w *ResponseWriter) TakeFallbackBytes() int64 {
	n := w.fallback
	w.fallback = 0
	return n
}

// NewResponseWriter sends to w: a *net.TCPConn, for writev(2) and sendfile(2) to
// be used.
func NewResponseWriter(w io.Writer) *ResponseWriter {
	rw := new(ResponseWriter)
	rw.reset(w)
	return rw
}

func (w *ResponseWriter) reset(to io.Writer) {
	w.w, w.raw = to, nil
	if c, ok := to.(*net.TCPConn); ok {
		if raw, err := c.SyscallConn(); err == nil { // else a plain stream
			w.raw = raw
		}
	}
}

// Write sends the responses in order and returns the number of bytes sent. It
// does not release them. After an error the connection cannot be used any more.
func (w *ResponseWriter) Write(rs []*Response) (n int64, err error) {
	corked := false
	for _, r := range rs {
		at := 0
		for i := range r.splices {
			s := &r.splices[i]
			w.add(r.buf[at:s.at])
			at = s.at
			if m, ok := s.chunk.(engines.MemoryChunk); ok && w.raw != nil {
				w.add(m.Bytes())
				continue
			}
			if w.raw != nil && !corked {
				// What precedes and follows the chunk shares its packets, and
				// wakes the peer once.
				corked = true
				cork(w.raw)
			}
			sent, err := w.flush()
			n += sent
			if err != nil {
				return n, err
			}
			sent, err = sendChunk(w.w, s.chunk)
			n += sent
			if f, ok := s.chunk.(engines.FallbackChunk); ok {
				w.fallback += f.FallbackBytes()
			}
			if err != nil {
				return n, err
			}
		}
		w.add(r.buf[at:])
	}
	sent, err := w.flush()
	if corked {
		uncork(w.raw)
	}
	return n + sent, err
}

func (w *ResponseWriter) add(p []byte) {
	if len(p) > 0 {
		w.parts = append(w.parts, p)
	}
}

// flush sends the parts collected so far.
func (w *ResponseWriter) flush() (n int64, err error) {
	switch len(w.parts) {
	case 0:
		return 0, nil
	case 1:
		var sent int
		sent, err = w.w.Write(w.parts[0])
		n = int64(sent)
	default:
		w.bufs = w.parts
		n, err = w.bufs.WriteTo(w.w)
		w.bufs = nil
	}
	clear(w.parts) // the buffers are the responses'
	w.parts = w.parts[:0]
	return n, err
}

// sendChunk sends all of a chunk, whose length the frame has already announced.
func sendChunk(w io.Writer, c engines.Chunk) (int64, error) {
	want := c.Len()
	n, err := c.WriteTo(w)
	if err == nil && n != want {
		err = io.ErrShortWrite
	}
	return n, err
}
