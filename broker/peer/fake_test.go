package peer

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// fakeBroker takes connections on loopback and lets a test decide what becomes
// of each request.
type fakeBroker struct {
	t      testing.TB
	at     Broker
	listen net.Listener
	handle func(*fakeConn)

	end   chan struct{}
	ended sync.Once

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

// fakeConn is one connection, confined to its handler.
type fakeConn struct {
	net.Conn
	t      testing.TB
	number int // of the connection, from 0
	// end is closed when the broker ends.
	end <-chan struct{}
}

// request is one request as it arrived.
type request struct {
	wire.Header
	body []byte
}

// newFake starts a broker whose connections are each given to handle, and closed
// when it returns.
func newFake(t testing.TB, id int32, handle func(*fakeConn)) *fakeBroker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveFake(t, id, l, handle)
}

func serveFake(t testing.TB, id int32, l net.Listener, handle func(*fakeConn)) *fakeBroker {
	f := &fakeBroker{t: t, listen: l, handle: handle, end: make(chan struct{})}
	f.at = Broker{ID: id, Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)}
	f.done.Add(1)
	go f.accept()
	t.Cleanup(f.close)
	return f
}

func (f *fakeBroker) accept() {
	defer f.done.Done()
	for number := 0; ; number++ {
		conn, err := f.listen.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns = append(f.conns, conn)
		f.mu.Unlock()
		f.done.Add(1)
		go func() {
			defer f.done.Done()
			f.handle(&fakeConn{conn, f.t, number, f.end})
			_ = conn.Close() // the handler may have closed it
		}()
	}
}

// close ends the broker with all its connections.
func (f *fakeBroker) close() {
	f.ended.Do(func() { close(f.end) })
	_ = f.listen.Close() // twice where a test closed it
	f.mu.Lock()
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.done.Wait()
}

// next reads a request; ok is false when the peer has closed.
func (c *fakeConn) next() (r request, ok bool) {
	frame, err := wire.ReadFrame(c, 1<<20, nil)
	if err != nil {
		return r, false
	}
	h, body, err := wire.ParseHeader(frame)
	if err != nil {
		c.t.Errorf("request cannot be read: %v", err)
		return r, false
	}
	return request{h, body}, true
}

// read decodes the request into one of kmsg's.
func (r request) read(t testing.TB, into kmsg.Request) {
	into.SetVersion(r.Version)
	if err := into.ReadFrom(r.body); err != nil {
		t.Errorf("%T of version %d: %v", into, r.Version, err)
	}
}

// answer sends the response to r.
func (c *fakeConn) answer(r request, resp kmsg.Response) {
	out := wire.NewResponse(r.Header, resp)
	defer out.Release()
	_, _ = out.WriteTo(c.Conn) // the peer may be gone, which its own test sees
}

// send writes a frame by hand: its claimed length, and the bytes behind it.
func (c *fakeConn) send(length int32, bytes ...byte) {
	_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(length)), bytes...)) // as in answer
}

// obey answers each request with an empty response of its kind.
func obey(c *fakeConn) {
	for r, ok := c.next(); ok; r, ok = c.next() {
		c.answer(r, emptyResponse(r))
	}
}

func emptyResponse(r request) kmsg.Response {
	if r.Key == wire.KeyFenceReplica {
		return new(FenceReplicaAnswer)
	}
	resp := kmsg.ResponseForKey(r.Key)
	resp.SetVersion(r.Version)
	return resp
}

// hold answers nothing, and returns when the peer has closed.
func hold(c *fakeConn) {
	for _, ok := c.next(); ok; _, ok = c.next() {
	}
}

// newTestPool knows the brokers and hardly pauses.
func newTestPool(t testing.TB, o Options, brokers ...*fakeBroker) *Pool {
	t.Helper()
	if o.FirstBackoff == 0 {
		o.FirstBackoff = time.Millisecond
	}
	o.ClientID = "broker-1"
	p := NewPool(o)
	t.Cleanup(p.Close)
	var at []Broker
	for _, b := range brokers {
		at = append(at, b.at)
	}
	p.SetBrokers(at)
	return p
}
