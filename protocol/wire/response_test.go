package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/engines"
)

// bytesChunk is a Chunk of bytes that can only be copied out.
type bytesChunk struct {
	b        []byte
	released *int
}

func (c *bytesChunk) Len() int64 { return int64(len(c.b)) }

func (c *bytesChunk) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(c.b)
	c.b = c.b[n:]
	return int64(n), err
}

func (c *bytesChunk) Release() {
	if c.released != nil {
		*c.released++
	}
}

// viewChunk is one whose bytes the kernel may send from where they are.
type viewChunk struct{ bytesChunk }

func (c *viewChunk) Bytes() []byte { return c.b }

func (c *viewChunk) WriteTo(w io.Writer) (int64, error) {
	if _, ok := w.(*net.TCPConn); ok {
		return 0, errors.New("a chunk in memory goes out with the bytes around it")
	}
	return c.bytesChunk.WriteTo(w)
}

// countingWriter counts calls of Write.
type countingWriter struct {
	bytes.Buffer
	calls int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.calls++
	return w.Buffer.Write(p)
}

func fetchHeader(version int16) Header {
	return Header{Key: KeyFetch, Version: version, CorrelationID: 77}
}

// oneTopic is a Fetch response of one partition per chunk.
func oneTopic(version int16, chunks ...interface {
	Len() int64
	WriteTo(io.Writer) (int64, error)
	Release()
}) *Response {
	w := NewFetchWriter(fetchHeader(version), FetchHead{}, 1)
	w.Topic("t", [16]byte{1}, len(chunks))
	for i, c := range chunks {
		w.Partition(&FetchPartition{Index: int32(i), Records: c, PreferredReadReplica: -1})
	}
	return w.Finish(nil)
}

// TestResponseHeaders has the three shapes: plain, with tags, and ApiVersions,
// which never has tags.
func TestResponseHeaders(t *testing.T) {
	for _, c := range []struct {
		key, version int16
		tags         bool
	}{{3, 8, false}, {3, 9, true}, {18, 2, false}, {18, 3, false}, {18, 4, false}, {0, 8, false}, {0, 9, true}, {17, 1, false}} {
		body := kmsg.ResponseForKey(c.key)
		r := NewResponse(Header{Key: c.key, Version: c.version, CorrelationID: 0x01020304}, body)
		var out bytes.Buffer
		n, err := r.WriteTo(&out)
		if err != nil || n != int64(out.Len()) || n != r.Len() {
			t.Fatalf("wrote %d of %d bytes: %v", n, r.Len(), err)
		}
		got := out.Bytes()
		if l := binary.BigEndian.Uint32(got); int(l) != len(got)-lengthSize {
			t.Errorf("key %d version %d: length field %d of %d", c.key, c.version, l, len(got)-lengthSize)
		}
		want := []byte{1, 2, 3, 4}
		if c.tags {
			want = append(want, 0)
		}
		if want = body.AppendTo(want); !bytes.Equal(got[lengthSize:], want) {
			t.Errorf("key %d version %d: %x, want %x", c.key, c.version, got[lengthSize:], want)
		}
		if body.GetVersion() != c.version {
			t.Errorf("key %d: encoded in version %d, want %d", c.key, body.GetVersion(), c.version)
		}
		r.Release()
	}
}

// TestWriteCoalesces sends several responses and counts the writes: one for all
// bytes up to a chunk, one for the chunk.
func TestWriteCoalesces(t *testing.T) {
	released := 0
	copied := func(s string) *bytesChunk { return &bytesChunk{b: []byte(s), released: &released} }
	viewed := func(s string) *viewChunk { return &viewChunk{*copied(s)} }
	plain := NewResponse(Header{Key: 12, Version: 0}, kmsg.NewPtrHeartbeatResponse())
	first := oneTopic(4, copied("aaa"), copied("bbbb"))
	second := oneTopic(12, viewed("ccccc"), viewed("dd"))
	all := []*Response{plain, plain, first, second, plain}
	want := plain.Len()*3 + first.Len() + second.Len()

	w := &countingWriter{}
	n, err := NewResponseWriter(w).Write(all)
	if err != nil || n != want || int64(w.Len()) != want {
		t.Fatalf("wrote %d and has %d of %d bytes: %v", n, w.Len(), want, err)
	}
	for _, s := range []string{"aaa", "bbbb", "ccccc", "dd"} {
		if !bytes.Contains(w.Bytes(), []byte(s)) {
			t.Errorf("%q is missing", s)
		}
	}
	for r := range all { // each frame is where the lengths say
		l := int64(binary.BigEndian.Uint32(w.Bytes())) + lengthSize
		if l != all[r].Len() {
			t.Errorf("frame %d has %d bytes, want %d", r, l, all[r].Len())
		}
		w.Next(int(l))
	}
	for _, r := range []*Response{plain, first, second} {
		r.Release()
	}
	if released != 4 {
		t.Errorf("%d of 4 chunks released", released)
	}
}

// TestWriteOverTCP sends over a real connection, where bytes between chunks
// must arrive in order whatever the number of parts.
func TestWriteOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // the test is over
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		b, _ := io.ReadAll(c) // what is missing shows below
		got <- b
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w := NewResponseWriter(c)
	var want bytes.Buffer
	for round := range 3 {
		var rs []*Response
		for i := range 700 { // more parts than one writev takes
			payload := bytes.Repeat([]byte{byte(i)}, i)
			r := oneTopic(11, &viewChunk{bytesChunk{b: payload}}, &bytesChunk{b: payload[:i/100]})
			rs = append(rs, r)
			again := oneTopic(11, &bytesChunk{b: payload}, &bytesChunk{b: payload[:i/100]})
			if _, err := again.WriteTo(&want); err != nil {
				t.Fatal(err)
			}
			again.Release()
		}
		if n, err := w.Write(rs); err != nil || n*int64(round+1) != int64(want.Len()) {
			t.Fatalf("round %d: %d bytes of %d: %v", round, n, want.Len(), err)
		}
		for _, r := range rs {
			r.Release()
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if b := <-got; !bytes.Equal(b, want.Bytes()) {
		t.Errorf("received %d bytes, want %d, or not the same", len(b), want.Len())
	}
}

// failingWriter takes so many bytes and then fails.
type failingWriter struct{ left int }

var errBroken = errors.New("connection reset")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		n := w.left
		w.left = 0
		return n, errBroken
	}
	w.left -= len(p)
	return len(p), nil
}

// TestWriteFails breaks the connection at every byte and expects an error, the
// number of bytes that went out, and every chunk to be released once.
func TestWriteFails(t *testing.T) {
	size := int(oneTopic(12, &bytesChunk{b: []byte("abc")}, &viewChunk{bytesChunk{b: []byte("de")}}).Len())
	for left := range size {
		released := 0
		r := oneTopic(12, &bytesChunk{[]byte("abc"), &released}, &viewChunk{bytesChunk{[]byte("de"), &released}})
		n, err := NewResponseWriter(&failingWriter{left: left}).Write([]*Response{r})
		if err != errBroken || n != int64(left) {
			t.Fatalf("after %d bytes: %d, %v", left, n, err)
		}
		r.Release()
		if released != 2 {
			t.Fatalf("after %d bytes: %d of 2 chunks released", left, released)
		}
	}
}

// TestShortChunk has a chunk that sends less than it announced: the frame is
// broken, which must not pass in silence.
func TestShortChunk(t *testing.T) {
	c := &shrunkChunk{}
	r := oneTopic(4, c)
	if _, err := r.WriteTo(io.Discard); err != io.ErrShortWrite {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
	r.Release()
}

type shrunkChunk struct{ bytesChunk }

func (c *shrunkChunk) Len() int64                         { return 5 }
func (c *shrunkChunk) WriteTo(w io.Writer) (int64, error) { return 3, nil }

func TestReleaseTwicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a second Release would give the buffers to two owners")
		}
	}()
	r := NewResponse(Header{Key: 12}, kmsg.NewPtrHeartbeatResponse())
	r.Release()
	r.Release()
}

// fallbackChunk tells that its engine had to copy.
type fallbackChunk struct{ bytesChunk }

func (c *fallbackChunk) FallbackBytes() int64 { return 3 }

// TestFallbackIsCounted: which engine really moved the bytes must not stay a
// secret of the engine.
func TestFallbackIsCounted(t *testing.T) {
	w := NewResponseWriter(io.Discard)
	for _, chunk := range []engines.Chunk{&fallbackChunk{bytesChunk{b: []byte("abc")}}, &bytesChunk{b: []byte("defg")}} {
		fw := NewFetchWriter(fetchHeader(17), FetchHead{}, 1)
		fw.Topic("", [16]byte{1}, 1)
		fw.Partition(&FetchPartition{Records: chunk})
		resp := fw.Finish(nil)
		if _, err := w.Write([]*Response{resp}); err != nil {
			t.Fatal(err)
		}
		resp.Release()
	}
	if got := w.TakeFallbackBytes(); got != 3 {
		t.Errorf("%d bytes by the fallback, want the 3 of the one chunk that says so", got)
	}
	if got := w.TakeFallbackBytes(); got != 0 {
		t.Errorf("%d bytes are told again, want 0", got)
	}
}
