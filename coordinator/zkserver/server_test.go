package zkserver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

func pathAndWatch(p string) func(*jute.Writer) {
	return func(w *jute.Writer) { w.String(p); w.Bool(false) }
}

func create(p string, flags int32) func(*jute.Writer) {
	return func(w *jute.Writer) {
		w.String(p)
		w.Buffer([]byte("x"))
		fillACL(w, "open")
		w.Int32(flags)
	}
}

// TestRestartKeepsSessions: a client finds its session, its ephemeral nodes and
// every write again after the server was stopped and started.
func TestRestartKeepsSessions(t *testing.T) {
	fs := vfs.NewMem()
	run := func(l net.Listener) *Server {
		s, err := Start(l, Options{FS: fs, Dir: "/zk", SnapshotEvery: 3})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := run(l)
	c := newRawClient(t, s.Addr().String())
	c.connect(6000)
	c.do(opCreate, create("/e", 1))
	c.do(opCreate, create("/p", 0))
	session := c.session
	for range 3 {
		c.drop()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = run(listenAgain(t, c.addr))
		if !c.connect(6000) || c.session != session {
			t.Fatalf("session %#x after the restart, want %#x", c.session, session)
		}
		code, r := c.do(opExists, pathAndWatch("/e"))
		if st := readStat(r); code != 0 || st.EphemeralOwner != session {
			t.Fatalf("ephemeral node after the restart: %v, owner %#x", code, st.EphemeralOwner)
		}
		if code, _ := c.do(opSetData, func(w *jute.Writer) { w.String("/p"); w.Buffer(nil); w.Int32(-1) }); code != 0 {
			t.Fatalf("write after the restart: %v", code)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestForgetSessions: the sessions of the process before are gone, and stay gone.
func TestForgetSessions(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, Dir: "/zk"}
	session := int64(0)
	for round := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.ForgetSessions = round == 1
		s, err := Start(l, o)
		if err != nil {
			t.Fatal(err)
		}
		c := newRawClient(t, s.Addr().String())
		switch round {
		case 0:
			c.connect(6000)
			session = c.session
			c.do(opCreate, create("/e", 1))
			c.do(opCreate, create("/p", 0))
		default:
			c.connect(6000)
			if code, _ := c.do(opExists, pathAndWatch("/e")); code != tree.NoNode {
				t.Errorf("round %d: ephemeral node of the forgotten session: %v, want NONODE", round, code)
			}
			if code, _ := c.do(opExists, pathAndWatch("/p")); code != tree.OK {
				t.Errorf("round %d: persistent node: %v", round, code)
			}
			if c.session == session {
				t.Errorf("round %d: session %#x was given again", round, session)
			}
		}
		c.drop()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSessionsExpire on a clock that the test moves: the silent one loses its
// session and its node, the one that pings keeps both.
func TestSessionsExpire(t *testing.T) {
	manual := clock.NewManual(time.Unix(1000, 0))
	s := startEmbedded(t, Options{Clock: manual, TickTime: time.Second})
	silent, alive := newRawClient(t, s.Addr().String()), newRawClient(t, s.Addr().String())
	silent.connect(4000)
	alive.connect(4000)
	silent.do(opCreate, create("/silent", 1))
	alive.do(opCreate, create("/alive", 1))
	alive.do(opExists, func(w *jute.Writer) { w.String("/silent"); w.Bool(true) })
	for range 3 {
		manual.Advance(time.Second)
		if code, _ := alive.do(opPing, nil); code != 0 {
			t.Fatal(code)
		}
	}
	if code, _ := alive.do(opExists, pathAndWatch("/silent")); code != 0 {
		t.Fatalf("after 3 s of 4: %v, want the node", code)
	}
	manual.Advance(2 * time.Second)
	// The tick is looked at behind this ping or the next.
	for len(alive.events) == 0 {
		alive.do(opPing, nil)
	}
	if got := alive.events[0]; got != "NodeDeleted /silent" {
		t.Errorf("event %q, want the node of the silent session deleted", got)
	}
	if _, err := silent.readFrame(); !errors.Is(err, io.EOF) {
		t.Errorf("connection of the expired session: %v, want it closed", err)
	}
	if silent.connect(4000) {
		t.Error("the expired session was taken up again")
	}
	if code, _ := alive.do(opExists, pathAndWatch("/alive")); code != 0 {
		t.Errorf("node of the session that pings: %v", code)
	}
}

// TestSessionMoves: the second connection of a session takes it over.
func TestSessionMoves(t *testing.T) {
	s := startEmbedded(t, Options{})
	first := newRawClient(t, s.Addr().String())
	first.connect(6000)
	second := newRawClient(t, s.Addr().String())
	second.session, second.password = first.session, first.password
	if !second.connect(6000) {
		t.Fatal("the session cannot be taken over")
	}
	if _, err := first.readFrame(); !errors.Is(err, io.EOF) {
		t.Errorf("old connection: %v, want it closed", err)
	}
	if code, _ := second.do(opCreate, create("/e", 1)); code != 0 {
		t.Errorf("write on the new connection: %v", code)
	}
}

// TestBadInput: whatever a stranger sends, the connection is closed or answered
// and the server goes on. B-rows of bad input, in ZooKeeper's protocol.
func TestBadInput(t *testing.T) {
	s := startEmbedded(t, Options{FrameTimeout: 2 * time.Second}) // also for who sends what he should
	addr := s.Addr().String()
	frame := func(length uint32, body string) string {
		return string(binary.BigEndian.AppendUint32(nil, length)) + body
	}
	var strangers sync.WaitGroup
	for name, bytes := range map[string]string{
		"2 GiB claimed":            frame(0x7fffffff, "x"),
		"negative length":          frame(0xffffffff, "x"),
		"above the limit":          frame(1<<20, "x"),
		"empty first frame":        frame(0, ""),
		"short connect request":    frame(8, "12345678"),
		"an HTTP request":          "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"TLS hello":                "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"an unknown word":          "wxyz",
		"silence":                  "",
		"half a length":            "\x00\x00",
		"half a frame":             frame(100, "only this"),
		"a password of 2^31 bytes": frame(28, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff"),
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		strangers.Go(func() {
			if answer, err := io.ReadAll(conn); isTimeout(err) || len(answer) > 0 {
				t.Errorf("%s: answer %q, error %v; want the connection closed", name, answer, err)
			}
		})
	}
	strangers.Wait()
	c := newRawClient(t, addr)
	c.connect(6000)
	for name, body := range map[string]string{
		"no arguments":               "\x00\x00\x00\x07\x00\x00\x00\x01",
		"data of 2 GiB":              "\x00\x00\x00\x07\x00\x00\x00\x05\x00\x00\x00\x01/\x7f\xff\xff\xff",
		"2 billion ACLs":             "\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x02/x\x00\x00\x00\x00\x7f\xff\xff\xff",
		"endless multi":              "\x00\x00\x00\x07\x00\x00\x00\x0e\x00\x00\x00\x0d\x00\x00\x00\x00\x00",
		"multi of a read":            "\x00\x00\x00\x07\x00\x00\x00\x0e\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"watches that are not there": "\x00\x00\x00\x07\x00\x00\x00\x65\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff",
	} {
		c.sendFrame([]byte(body))
		code, _, err := c.receive(7)
		if err != nil || code != -5 {
			t.Errorf("%s: code %v, error %v; want MARSHALLINGERROR", name, code, err)
		}
	}
	if code, _ := c.do(opcode(77), nil); code != -6 {
		t.Errorf("unknown operation: %v, want UNIMPLEMENTED", code)
	}
	if code, _ := c.do(opPing, nil); code != 0 {
		t.Errorf("ping after all that: %v", code)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestConnectionsAreBounded(t *testing.T) {
	s := startEmbedded(t, Options{MaxConnections: 2})
	one, two := newRawClient(t, s.Addr().String()), newRawClient(t, s.Addr().String())
	one.connect(6000)
	two.connect(6000)
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the third connection was served")
	}
	if code, _ := one.do(opPing, nil); code != 0 {
		t.Errorf("the first connection: %v", code)
	}
}

// TestSlowReader: a client that asks and never reads is made to wait, and costs
// the others nothing.
func TestSlowReader(t *testing.T) {
	s := startEmbedded(t, Options{FrameTimeout: 2 * time.Second, TickTime: 2 * time.Second})
	c := newRawClient(t, s.Addr().String())
	c.connect(40_000)
	big := func(w *jute.Writer) {
		w.String("/big")
		w.Buffer(make([]byte, 900<<10))
		fillACL(w, "open")
		w.Int32(0)
	}
	if code, _ := c.do(opCreate, big); code != 0 {
		t.Fatal(code)
	}
	slow := newRawClient(t, s.Addr().String())
	slow.connect(40_000)
	sent := 0
	for {
		if err := slow.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		var w jute.Writer
		w.Int32(0)
		w.Int32(7)
		w.Int32(int32(opGetData))
		pathAndWatch("/big")(&w)
		frame(&w)
		if _, err := slow.conn.Write(w.Bytes()); err != nil {
			break // made to wait until the server gave up on it
		}
		if sent++; sent > 1_000_000 {
			t.Fatal("a million requests were taken from a client that reads nothing")
		}
	}
	if code, _ := c.do(opPing, nil); code != 0 {
		t.Errorf("the other client: %v", code)
	}
}

// TestFailedSyncStopsTheServer: nobody is told that a write succeeded, and the
// server says why it stopped.
func TestFailedSyncStopsTheServer(t *testing.T) {
	broken := errors.New("disk is broken")
	var armed atomic.Bool
	faulty := vfs.NewFaulty(vfs.NewMem())
	faulty.OnCall(func(op vfs.Op, p string) error {
		if armed.Load() && op == vfs.OpSync {
			return broken
		}
		return nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(l, Options{FS: faulty, Dir: "/zk"})
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, s.Addr().String())
	c.connect(6000)
	armed.Store(true)
	if code, _, err := c.receive(c.send(opCreate, create("/x", 0))); err == nil {
		t.Errorf("the write was answered with %v after its sync failed", code)
	}
	<-s.Done()
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("Close says %v, want the failed sync", err)
	}
}

// TestReadsWaitForTheSync: a read in the same batch as a write does not show it
// before it is durable.
func TestReadsWaitForTheSync(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	var armed atomic.Bool
	faulty := vfs.NewFaulty(vfs.NewMem())
	faulty.OnCall(func(op vfs.Op, p string) error {
		if armed.Load() && op == vfs.OpSync && strings.Contains(p, "log.") {
			held <- struct{}{}
			<-hold
		}
		return nil
	})
	s := startEmbedded(t, Options{FS: faulty, Dir: "/zk"})
	writer, reader := newRawClient(t, s.Addr().String()), newRawClient(t, s.Addr().String())
	writer.connect(6000)
	reader.connect(6000)
	armed.Store(true)
	written := writer.send(opCreate, create("/x", 0))
	<-held
	read := reader.send(opExists, pathAndWatch("/x"))
	if err := reader.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := reader.conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("the read was answered before the write it sees was durable")
	}
	close(hold)
	if code, _, err := writer.receive(written); code != 0 || err != nil {
		t.Errorf("write: %v, %v", code, err)
	}
	if code, _, err := reader.receive(read); code != 0 || err != nil {
		t.Errorf("read: %v, %v", code, err)
	}
}

func TestFuturistIsRefused(t *testing.T) {
	s := startEmbedded(t, Options{})
	c := newRawClient(t, s.Addr().String())
	c.zxid = 1 << 40
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var w jute.Writer
	w.Int32(0)
	w.Int32(0)
	w.Int64(1 << 40)
	w.Int32(6000)
	w.Int64(0)
	w.Buffer(make([]byte, 16))
	if _, err := conn.Write(frame(&w)); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("a client that saw the future got %d bytes", len(answer))
	}
}

// FuzzRequest decodes arbitrary frames and runs them against a live tree.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x02/x\x00\x00\x00\x01d\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone\x00\x00\x00\x00"))
	for _, op := range []opcode{opMulti, opMultiRead, opSetWatches2, opAddWatch, opGetData, opAuth, opCreateTTL, opSetACL} {
		var w jute.Writer
		w.Int32(1)
		w.Int32(int32(op))
		w.String("/zookeeper")
		w.Int64(0)
		f.Add(w.Bytes())
	}
	var multi jute.Writer
	multi.Int32(1)
	multi.Int32(int32(opMulti))
	fillMulti(&multi, strings.Fields("create /a x 0 ; set /a y 0 ; delete /a -1 ; check /zookeeper -1"))
	f.Add(multi.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := decodeRequest(data)
		if err != nil {
			if !errors.Is(err, errNoHeader) && !errors.Is(err, jute.ErrMalformed) {
				t.Fatalf("error %v is neither kind", err)
			}
			return
		}
		if _, err := decodeConnect(data); err != nil && !errors.Is(err, jute.ErrMalformed) {
			t.Fatalf("connect: error %v", err)
		}
		executeFuzzed(t, req)
	})
}
