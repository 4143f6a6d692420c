package znode

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between a client and the server and can swallow the reply to one
// request: the server has applied it, and the client sees its connection break.
type proxy struct {
	l      net.Listener
	server string
	work   sync.WaitGroup

	mu      sync.Mutex
	conns   []net.Conn
	swallow int32 // opcode whose next reply is lost; 0 for none
	refuse  bool
	lost    int
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, server: server}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.work.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		p.mu.Lock()
		refuse := p.refuse || err != nil
		if !refuse {
			p.conns = append(p.conns, client, server)
		}
		p.mu.Unlock()
		if refuse {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		var doomed sync.Map // xid of the request whose reply is to be lost
		p.work.Go(func() { p.pump(client, server, func(body []byte) bool { p.mark(&doomed, body); return true }) })
		p.work.Go(func() { p.pump(server, client, func(body []byte) bool { return !p.drop(&doomed, body) }) })
	}
}

// pump passes frames on until pass says no; then both sides are closed.
func (p *proxy) pump(from, to net.Conn, pass func(body []byte) bool) {
	defer from.Close()
	defer to.Close()
	for {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if !pass(body) {
			return
		}
		if _, err := to.Write(append(head[:], body...)); err != nil {
			return
		}
	}
}

func (p *proxy) mark(doomed *sync.Map, body []byte) {
	if len(body) < 8 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if op := int32(binary.BigEndian.Uint32(body[4:])); op == p.swallow && op != 0 {
		p.swallow = 0
		doomed.Store(binary.BigEndian.Uint32(body), true)
	}
}

func (p *proxy) drop(doomed *sync.Map, body []byte) bool {
	_, hit := doomed.Load(binary.BigEndian.Uint32(body))
	if hit {
		p.mu.Lock()
		p.lost++
		p.mu.Unlock()
	}
	return hit
}

// loseReply makes the reply to the next request of that opcode vanish.
func (p *proxy) loseReply(opcode int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = opcode
}

// lostReplies tells how many did, so that a test knows that it tested.
func (p *proxy) lostReplies() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// setRefuse makes new connections fail, as if no server were up.
func (p *proxy) setRefuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
