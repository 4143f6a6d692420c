package znode

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// On a new connection of its session the library sets its watches again, and the server
// tells at once what changed since the zxid that comes with them, the last one that the
// library saw. It sends what waited in the meantime before it has looked at that zxid, and
// the answers move it: what changed while the connection was away would never be told. So
// the answers wait until the watches are on their way.

// The opcodes of the requests that set watches again and that end the session: after the
// latter nobody sets any.
const (
	rewatchOp = 101
	closeOp   = -11
)

// rewatching is a connection from which nothing is read behind the server's first answer
// before the watches of a session that goes on are set again.
type rewatching struct {
	net.Conn
	watched func() bool   // there may be watches
	within  time.Duration // how long an answer waits at most: all watches may have fired

	asked   int64  // the session that the first request asks for; 0 for a new one
	begun   bool   // the first request is out
	answer  []byte // what was read before waited: the first answer
	waited  bool
	set     chan struct{}
	setOnce sync.Once
}

// Write implements net.Conn. The library writes each request in one call.
func (r *rewatching) Write(b []byte) (int, error) {
	if !r.begun {
		r.begun = true
		if len(b) >= 28 {
			r.asked = int64(binary.BigEndian.Uint64(b[20:]))
		}
	} else if len(b) >= 12 && slices.Contains([]int32{rewatchOp, closeOp}, int32(binary.BigEndian.Uint32(b[8:]))) {
		defer r.setOnce.Do(func() { close(r.set) })
	}
	return r.Conn.Write(b)
}

// Read implements net.Conn. The library reads with one goroutine, and the first answer to
// its end before anything else.
func (r *rewatching) Read(b []byte) (int, error) {
	if !r.waited && r.answered() {
		r.waited = true
		r.wait()
	}
	n, err := r.Conn.Read(b)
	if !r.waited {
		r.answer = append(r.answer, b[:n]...)
	}
	return n, err
}

// answered tells whether the first answer has been read.
func (r *rewatching) answered() bool {
	return len(r.answer) >= 20 && len(r.answer) >= 4+int(binary.BigEndian.Uint32(r.answer))
}

func (r *rewatching) wait() {
	goesOn := r.asked != 0 && int64(binary.BigEndian.Uint64(r.answer[12:])) == r.asked
	if !goesOn || !r.watched() {
		return
	}
	t := time.NewTimer(r.within)
	defer t.Stop()
	select {
	case <-r.set:
	case <-t.C:
	}
}

// Close implements net.Conn.
func (r *rewatching) Close() error {
	r.setOnce.Do(func() { close(r.set) })
	return r.Conn.Close()
}

// existsW is the library's ExistsW below the chroot. Only it and childrenW set watches, so
// that watched is true where there may be any.
func (c *Client) existsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	c.watched.Store(true)
	return c.conn.ExistsW(c.path(path))
}

func (c *Client) childrenW(path string) (<-chan zk.Event, error) {
	c.watched.Store(true)
	_, _, events, err := c.conn.ChildrenW(c.path(path))
	return events, err
}
