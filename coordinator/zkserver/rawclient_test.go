package zkserver

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
)

// rawClient speaks the wire protocol frame by frame, so that tests reach what
// the client library does not. It is confined to one goroutine.
type rawClient struct {
	t        testing.TB
	addr     string
	conn     net.Conn
	session  int64
	password []byte
	timeout  int32
	xid      int32
	zxid     int64 // highest seen
	events   []string
}

func newRawClient(t testing.TB, addr string) *rawClient {
	c := &rawClient{t: t, addr: addr, password: make([]byte, 16)}
	t.Cleanup(c.drop)
	return c
}

// connect opens or takes up the session; false means that it has expired.
func (c *rawClient) connect(timeoutMs int32) (ok bool) {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		c.t.Fatal(err)
	}
	c.drop()
	c.conn = conn
	var w jute.Writer
	w.Int32(0)
	w.Int64(c.zxid)
	w.Int32(timeoutMs)
	w.Int64(c.session)
	w.Buffer(c.password)
	w.Bool(false)
	c.sendFrame(w.Bytes())
	body, err := c.readFrame()
	if err != nil {
		c.t.Fatalf("answer to the connect request: %v", err)
	}
	r := jute.NewReader(body)
	r.Int32()
	c.timeout, c.session, c.password = r.Int32(), r.Int64(), r.Buffer()
	if r.Bool(); r.Err() != nil || r.Len() > 0 {
		c.t.Fatalf("answer to the connect request: error %v, %d bytes left", r.Err(), r.Len())
	}
	return c.session != 0
}

// drop cuts the connection without closing the session.
func (c *rawClient) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *rawClient) sendFrame(body []byte) {
	c.t.Helper()
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := c.conn.Write(append(frame, body...)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawClient) readFrame() ([]byte, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var head [4]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.conn, body)
	return body, err
}

// send writes a request and returns its xid.
func (c *rawClient) send(op opcode, fill func(*jute.Writer)) int32 {
	c.t.Helper()
	c.xid++
	xid := c.xid
	switch op {
	case opPing:
		xid = -2
	case opAuth:
		xid = -4
	case opSetWatches, opSetWatches2:
		xid = -8
	}
	var w jute.Writer
	w.Int32(xid)
	w.Int32(int32(op))
	if fill != nil {
		fill(&w)
	}
	c.sendFrame(w.Bytes())
	return xid
}

// receive reads up to the reply to xid and keeps the events before it.
func (c *rawClient) receive(want int32) (tree.Code, *jute.Reader, error) {
	for {
		body, err := c.readFrame()
		if err != nil {
			return 0, nil, err
		}
		r := jute.NewReader(body)
		xid, zxid, code := r.Int32(), r.Int64(), tree.Code(r.Int32())
		if xid == -1 {
			typ, state, path := r.Int32(), r.Int32(), r.String()
			c.events = append(c.events, fmt.Sprintf("%s %s", eventName(tree.EventType(typ)), path))
			if state != 3 || zxid != -1 && zxid <= 0 {
				c.t.Errorf("event with state %d and zxid %d, want 3 and −1", state, zxid)
			}
			continue
		}
		if xid != want {
			c.t.Fatalf("reply to request %d where that to %d was due", xid, want)
		}
		if zxid > c.zxid {
			c.zxid = zxid
		}
		return code, r, nil
	}
}

// do is send and receive.
func (c *rawClient) do(op opcode, fill func(*jute.Writer)) (tree.Code, *jute.Reader) {
	c.t.Helper()
	code, r, err := c.receive(c.send(op, fill))
	if err != nil {
		c.t.Fatalf("operation %d: %v", op, err)
	}
	return code, r
}

func eventName(typ tree.EventType) string {
	switch typ {
	case tree.EventCreated:
		return "NodeCreated"
	case tree.EventDeleted:
		return "NodeDeleted"
	case tree.EventDataChanged:
		return "NodeDataChanged"
	case tree.EventChildrenChanged:
		return "NodeChildrenChanged"
	}
	return fmt.Sprintf("event %d", typ)
}

func readStat(r *jute.Reader) tree.Stat {
	return tree.Stat{
		Czxid: r.Int64(), Mzxid: r.Int64(), Ctime: r.Int64(), Mtime: r.Int64(),
		Version: r.Int32(), Cversion: r.Int32(), Aversion: r.Int32(), EphemeralOwner: r.Int64(),
		DataLength: r.Int32(), NumChildren: r.Int32(), Pzxid: r.Int64(),
	}
}
