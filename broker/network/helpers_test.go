package network

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tidemark/protocol/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rawBody is a response body of given bytes.
type rawBody []byte

func (b rawBody) Key() int16                 { return 0 }
func (b rawBody) MaxVersion() int16          { return 9 }
func (b rawBody) SetVersion(int16)           {}
func (b rawBody) GetVersion() int16          { return 0 }
func (b rawBody) IsFlexible() bool           { return false }
func (b rawBody) AppendTo(dst []byte) []byte { return append(dst, b...) }
func (b rawBody) ReadFrom([]byte) error      { return nil }
func (b rawBody) RequestKind() kmsg.Request  { return nil }

func reply(r *Request, body []byte) { r.Reply(newReply(r, string(body))) }

func newReply(r *Request, body string) *wire.Response {
	return wire.NewResponse(r.Header, rawBody(body))
}

func echo(r *Request) { reply(r, r.Body) }

func frameOf(content []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
}

func requestOf(id int32, body []byte) []byte {
	h := binary.BigEndian.AppendUint16(nil, 0) // Produce
	h = binary.BigEndian.AppendUint16(h, 3)
	h = binary.BigEndian.AppendUint32(h, uint32(id))
	h = append(h, 0, 4)
	h = append(h, "test"...)
	return frameOf(append(h, body...))
}

// start serves h on loopback until the test ends.
func start(t testing.TB, o Options, h Handler) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, o, h)
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

func shutdown(t testing.TB, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if got := s.Stats().Connections.Load(); got != 0 {
		t.Errorf("%d connections are counted after the shutdown, want 0", got)
	}
	if got := s.Stats().InFlightBytes.Load(); got != 0 {
		t.Errorf("%d bytes are in flight after the shutdown, want 0", got)
	}
}

// patience is how long a test waits for what must happen: only a broken server makes
// it wait so long, however busy the machine.
const patience = 2 * time.Minute

// peer is a client connection of a test.
type peer struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, s *Server) *peer {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

func newPeer(t testing.TB, c net.Conn) *peer {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) send(frames ...[]byte) {
	p.t.Helper()
	for _, f := range frames {
		if _, err := p.Write(f); err != nil {
			p.t.Fatalf("send: %v", err)
		}
	}
}

// delivered waits until the server's kernel has all that was sent.
func (p *peer) delivered() {
	p.t.Helper()
	raw, err := p.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		p.t.Fatal(err)
	}
	for waiting := 1; waiting > 0; {
		var asked error
		err := raw.Control(func(fd uintptr) { waiting, asked = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
		if err := errors.Join(err, asked); err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// response reads one answer.
func (p *peer) response() (id int32, body []byte) {
	p.t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		p.t.Fatalf("read response: %v", err)
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(p.r, body); err != nil {
		p.t.Fatalf("read response: %v", err)
	}
	return int32(binary.BigEndian.Uint32(head[4:])), body
}

func (p *peer) wantResponse(id int32, body string) {
	p.t.Helper()
	gotID, got := p.response()
	if gotID != id || string(got) != body {
		p.t.Fatalf("got response %d with %d bytes (%.20q), want %d with %d bytes (%.20q)", gotID, len(got), got, id, len(body), body)
	}
}

// wantClosed reads until the server closes, which must be without an answer.
func (p *peer) wantClosed() {
	p.t.Helper()
	b, err := p.r.ReadByte()
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Fatalf("got byte %d, error %v; want the connection closed", b, err)
	}
}

// parking is a handler that hands requests to the test.
type parking chan *Request

func (p parking) Handle(r *Request) { p <- r }
