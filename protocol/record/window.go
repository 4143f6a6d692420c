package record

import "io"

// window is the part of a decompressed stream that is being looked at. It moves
// along the stream and grows only when asked to, and then by what has arrived.
type window struct {
	src        io.Reader // returns bytes or an error, never neither
	buf        []byte
	start, end int
	err        error // why src has no more: io.EOF or an error
}

const (
	windowBytes = 64 << 10
	// keepWindowBytes is the largest buffer that goes back into the pool.
	keepWindowBytes = 1 << 20
)

// over makes the window show all of p, with nothing to come.
func (w *window) over(p []byte) { *w = window{buf: p, end: len(p), err: io.EOF} }

// reset starts on src with the buffer of before.
func (w *window) reset(src io.Reader) {
	if cap(w.buf) < windowBytes {
		w.buf = make([]byte, windowBytes)
	}
	*w = window{src: src, buf: w.buf[:cap(w.buf)]}
}

func (w *window) bytes() []byte { return w.buf[w.start:w.end] }
func (w *window) skip(n int)    { w.start += n }
func (w *window) full() bool    { return w.end-w.start == len(w.buf) }

// fill reads more of the stream; false means that no byte came, because the
// stream has ended or the window is full.
func (w *window) fill() bool {
	if w.err != nil || w.full() {
		return false
	}
	if w.start > 0 {
		w.end = copy(w.buf, w.bytes())
		w.start = 0
	}
	n, err := w.src.Read(w.buf[w.end:])
	w.end += n
	w.err = err
	return n > 0
}

// grow doubles a full window.
func (w *window) grow() {
	buf := make([]byte, 2*len(w.buf))
	w.end = copy(buf, w.bytes())
	w.start = 0
	w.buf = buf
}

// peek returns n bytes, fewer only at the end of the stream. n is at most
// windowBytes.
func (w *window) peek(n int) []byte {
	for w.end-w.start < n && w.fill() {
	}
	return w.buf[w.start:min(w.end, w.start+n)]
}

// discard steps over n bytes, which may be more than the window holds; false
// means that the stream ended before.
func (w *window) discard(n int64) bool {
	for {
		have := int64(w.end - w.start)
		if n <= have {
			w.skip(int(n))
			return true
		}
		n -= have
		w.start, w.end = 0, 0
		if !w.fill() {
			return false
		}
	}
}
