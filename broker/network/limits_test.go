package network

import (
	"bytes"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/clock"
)

func TestFramesOutOfRange(t *testing.T) {
	for name, bytes := range map[string]string{
		"negative":       "\xff\xff\xff\xff",
		"most negative":  "\x80\x00\x00\x00",
		"zero":           "\x00\x00\x00\x00",
		"2^31-1":         "\x7f\xff\xff\xff",
		"101 MiB":        "\x06\x50\x00\x00",
		"HTTP":           "GET / HTTP/1.1\r\n\r\n",
		"TLS hello":      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"no header":      "\x00\x00\x00\x01\x00",
		"unknown key":    "\x00\x00\x00\x0a\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff",
		"long client id": "\x00\x00\x00\x0a\x00\x00\x00\x03\x00\x00\x00\x01\x7f\xff",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{}, HandlerFunc(echo))
			p := dial(t, s)
			p.send(requestOf(1, []byte("before")), []byte(bytes))
			p.wantResponse(1, "before")
			p.wantClosed()
			st := s.Stats()
			if got := st.Closed[ClosedFrame].Load() + st.Closed[ClosedHeader].Load(); got != 1 {
				t.Errorf("connections closed for their frame: %d, want 1", got)
			}
		})
	}
}

// TestHalfFramesAndSilence: a thousand peers announce 100 MiB and send little.
func TestHalfFramesAndSilence(t *testing.T) {
	const peers = 1000
	c := clock.NewManual(time.Unix(1000, 0))
	s := start(t, Options{Clock: c, InFlightBytes: 1 << 30, FrameTimeout: 30 * time.Second}, HandlerFunc(echo))
	var conns []*peer
	for range peers {
		p := dial(t, s)
		p.send([]byte{6, 0, 0, 0}, make([]byte, 1000))
		conns = append(conns, p)
	}
	until(t, func() bool { return s.waiting() == [2]int{0, peers} }) // Or the clock is too early for some.
	if got, most := s.Stats().InFlightBytes.Load(), int64(peers*2*unproven); got > most {
		t.Errorf("%d bytes are held for 1 MB that arrived, want at most %d", got, most)
	}
	c.Advance(time.Minute)
	for _, p := range conns {
		p.wantClosed()
	}
	if got := s.Stats().Closed[ClosedSlowFrame].Load(); got != peers {
		t.Errorf("closed for slow frames: %d, want %d", got, peers)
	}
}

// until waits for what another goroutine is about to do.
func until(t testing.TB, reached func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !reached() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached within %v", patience)
		}
		runtime.Gosched()
	}
}

func TestTimeouts(t *testing.T) {
	c := clock.NewManual(time.Unix(1000, 0))
	parked := make(parking, 1)
	s := start(t, Options{Clock: c, IdleTimeout: 10 * time.Minute, FrameTimeout: 30 * time.Second}, parked)
	idle, waiting, slow := dial(t, s), dial(t, s), dial(t, s)
	waiting.send(requestOf(1, nil))
	r := <-parked
	slow.send([]byte{0})
	until(t, func() bool { return s.waiting() == [2]int{2, 1} })

	c.Advance(29 * time.Second)
	if got := s.Stats().Connections.Load(); got != 3 {
		t.Errorf("%d connections are open after 29 s, want all 3", got)
	}
	c.Advance(10 * time.Second)
	slow.wantClosed()
	c.Advance(10 * time.Minute)
	idle.wantClosed()
	reply(r, []byte("in time"))
	waiting.wantResponse(1, "in time")
	st := s.Stats()
	if a, b := st.Closed[ClosedSlowFrame].Load(), st.Closed[ClosedIdle].Load(); a != 1 || b != 1 {
		t.Errorf("closed for a slow frame %d and for idling %d, want 1 and 1: a parked request is no idling", a, b)
	}
	until(t, func() bool { return s.Stats().Connections.Load() == 1 })
	c.Advance(21 * time.Minute)
	waiting.wantClosed()
}

// waiting counts connections that wait for a request and within a frame.
func (s *Server) waiting() (n [2]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.frameDue.Load() != 0 {
			n[1]++
		} else if c.idleDue.Load() != 0 {
			n[0]++
		}
	}
	return n
}

func TestPeerThatDoesNotRead(t *testing.T) {
	c := clock.NewManual(time.Unix(1000, 0))
	s := start(t, Options{Clock: c, SendBuffer: 4096}, HandlerFunc(func(r *Request) { reply(r, make([]byte, 32<<20)) }))
	p := dial(t, s)
	p.send(requestOf(1, nil))
	until(t, s.writing)
	c.Advance(31 * time.Second)
	if got := s.Stats().Connections.Load(); got != 1 {
		t.Fatalf("%d connections after 31 s, want 1: 32 MiB may take longer", got)
	}
	c.Advance(5 * time.Minute)
	until(t, func() bool { return s.Stats().Closed[ClosedSlowReader].Load() == 1 })
}

// writing reports whether some connection is in the middle of a write.
func (s *Server) writing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.writeDue.Load() != 0 {
			return true
		}
	}
	return false
}

func TestConnectionLimits(t *testing.T) {
	s := start(t, Options{MaxConnections: 3, MaxConnectionsPerIP: 2}, HandlerFunc(echo))
	a, b := dial(t, s), dial(t, s)
	a.send(requestOf(1, nil))
	a.wantResponse(1, "")
	b.send(requestOf(1, nil))
	b.wantResponse(1, "")
	dial(t, s).wantClosed()
	other := dialFrom(t, s, "127.0.0.2")
	other.send(requestOf(1, nil))
	other.wantResponse(1, "")
	dialFrom(t, s, "127.0.0.3").wantClosed()
	st := s.Stats()
	if perIP, total := st.Refused[RefusedPerIP].Load(), st.Refused[RefusedTotal].Load(); perIP != 1 || total != 1 {
		t.Errorf("refused per IP %d and in total %d, want 1 and 1", perIP, total)
	}
	_ = a.Close()
	until(t, func() bool { return st.Connections.Load() == 2 })
	again := dial(t, s)
	again.send(requestOf(1, nil))
	again.wantResponse(1, "")
}

func TestRefusalsAreToldNowAndThen(t *testing.T) {
	var r refusals
	at := func(second int) time.Time { return time.Unix(int64(1000+second), 0) }
	for _, c := range []struct {
		kind   Refusal
		second int
		want   slog.Level
	}{
		{RefusedPerIP, 0, slog.LevelWarn},
		{RefusedPerIP, 1, slog.LevelDebug},
		{RefusedTotal, 2, slog.LevelWarn},
		{RefusedPerIP, 59, slog.LevelDebug},
		{RefusedPerIP, 60, slog.LevelWarn},
		{RefusedShutdown, 200, slog.LevelDebug},
	} {
		if got := r.level(c.kind, at(c.second)); got != c.want {
			t.Errorf("%v after %d s is logged at %v, want %v", c.kind, c.second, got, c.want)
		}
	}
}

func dialFrom(t *testing.T, s *Server, ip string) *peer {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c, err := d.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

func TestQueuedRequestsPerConnection(t *testing.T) {
	parked := make(parking, 10)
	s := start(t, Options{QueuedRequestsPerConn: 3}, parked)
	p := dial(t, s)
	for i := range int32(5) {
		p.send(requestOf(i, nil))
	}
	var got []*Request
	for range 3 {
		got = append(got, <-parked)
	}
	until(t, s.readerWaits)
	if len(parked) != 0 {
		t.Errorf("%d requests were read beyond the bound of 3", len(parked))
	}
	for i := range 5 {
		reply(got[i], nil)
		if len(got) < 5 {
			got = append(got, <-parked)
		}
	}
	for i := range int32(5) {
		p.wantResponse(i, "")
	}
}

// readerWaits reports whether the only connection is at its request bound.
func (s *Server) readerWaits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		full := len(c.pending) >= s.o.QueuedRequestsPerConn
		c.mu.Unlock()
		return full
	}
	return false
}

// TestInFlightBudget: many producers of large frames share a budget that holds
// few of them, and all get through.
func TestInFlightBudget(t *testing.T) {
	const budget, frame, producers, each = 1 << 20, 256 << 10, 20, 10
	var mu sync.Mutex
	var most int64
	var s *Server
	ready := make(chan struct{})
	s = start(t, Options{InFlightBytes: budget}, HandlerFunc(func(r *Request) {
		<-ready
		mu.Lock()
		most = max(most, s.Stats().InFlightBytes.Load())
		mu.Unlock()
		reply(r, r.Body[:1])
	}))
	close(ready)
	body := bytes.Repeat([]byte("x"), frame)
	var wait sync.WaitGroup
	for range producers {
		wait.Go(func() {
			p := dial(t, s)
			wait.Go(func() {
				for i := range int32(each) {
					p.send(requestOf(i, body))
				}
			})
			for i := range int32(each) {
				p.wantResponse(i, "x")
			}
		})
	}
	wait.Wait()
	mu.Lock()
	defer mu.Unlock()
	// One frame may go beyond the budget, whose buffer is up to a quarter too large; and
	// while it moves there the one before, that it has filled, is still taken.
	if limit := int64(budget + bufferSize(frame+1<<10) + frame); most > limit {
		t.Errorf("%d bytes were in flight at one time, want at most %d", most, limit)
	}
}

func TestBudgetMutesAndReleases(t *testing.T) {
	parked := make(parking, 4)
	s := start(t, Options{InFlightBytes: 100 << 10}, parked)
	a, b := dial(t, s), dial(t, s)
	a.send(requestOf(1, make([]byte, 60<<10)))
	first := <-parked
	b.send(requestOf(2, make([]byte, 60<<10)))
	until(t, func() bool { return len(parked) == 1 }) // one frame may go beyond the budget
	a.send(requestOf(3, make([]byte, 60<<10)))
	until(t, func() bool { return s.Stats().Muted.Load() == 1 })
	reply(first, nil)
	a.wantResponse(1, "")
	for range 2 {
		r := <-parked
		reply(r, nil)
	}
	a.wantResponse(3, "")
	b.wantResponse(2, "")
	until(t, func() bool { return s.Stats().Muted.Load() == 0 && s.Stats().InFlightBytes.Load() == 0 })
}

// TestIdleConnectionsHoldNoBuffers: an idle connection costs its goroutine.
func TestIdleConnectionsHoldNoBuffers(t *testing.T) {
	s := start(t, Options{}, HandlerFunc(echo))
	for range 100 {
		p := dial(t, s)
		p.send(requestOf(1, make([]byte, 20<<10)))
		p.wantResponse(1, string(make([]byte, 20<<10)))
	}
	until(t, func() bool { return s.Stats().InFlightBytes.Load() == 0 })
}

// failingListener fails like one without descriptors, then accepts.
type failingListener struct {
	net.Listener
	mu       sync.Mutex
	failures int
}

func (l *failingListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptBacksOff(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := clock.NewManual(time.Unix(1000, 0))
	s := Serve(&failingListener{Listener: inner, failures: 4}, Options{Clock: c, IdleTimeout: -1}, HandlerFunc(echo))
	defer shutdown(t, s)
	p := dial(t, s)
	p.send(requestOf(1, nil))
	var waited time.Duration
	for i, pause := range []time.Duration{5, 10, 20, 40} {
		until(t, func() bool { return s.Stats().AcceptErrors.Load() == int64(i+1) })
		waited += pause * time.Millisecond
		advanceUntil(t, c, func() bool { return s.Stats().AcceptErrors.Load() > int64(i+1) || s.Stats().Accepted.Load() == 1 })
	}
	p.wantResponse(1, "")
	if got := c.Now().Sub(time.Unix(1000, 0)); got < waited {
		t.Errorf("4 failures were waited out in %v, want at least %v: each pause doubles", got, waited)
	}
}

// advanceUntil moves the clock in small steps while another goroutine arms its
// timers.
func advanceUntil(t *testing.T, c *clock.Manual, reached func() bool) {
	t.Helper()
	until(t, func() bool {
		if reached() {
			return true
		}
		c.Advance(time.Millisecond)
		return false
	})
}

func TestConnectionRate(t *testing.T) {
	now := time.Unix(1000, 0)
	b := bucket{perSecond: 10}
	for i := range 10 {
		if wait := b.take(now); wait != 0 {
			t.Fatalf("connection %d of the burst waits %v", i, wait)
		}
	}
	if wait := b.take(now); wait != 100*time.Millisecond {
		t.Errorf("after the burst a connection waits %v, want 100 ms", wait)
	}
	if wait := b.take(now.Add(100 * time.Millisecond)); wait != 0 {
		t.Errorf("100 ms later a connection waits %v, want 0", wait)
	}
	if wait := (&bucket{}).take(now); wait != 0 {
		t.Errorf("without a rate a connection waits %v", wait)
	}
}

func TestConnectionRateDelaysAccept(t *testing.T) {
	c := clock.NewManual(time.Unix(1000, 0))
	s := start(t, Options{Clock: c, ConnectionRate: 1, IdleTimeout: -1}, HandlerFunc(echo))
	first, second := dial(t, s), dial(t, s)
	first.send(requestOf(1, nil))
	first.wantResponse(1, "")
	if got := s.Stats().Accepted.Load(); got != 1 {
		t.Errorf("accepted %d, want 1 until a second has passed", got)
	}
	second.send(requestOf(2, nil))
	advanceUntil(t, c, func() bool { return s.Stats().Accepted.Load() == 2 })
	second.wantResponse(2, "")
}

func TestBufferClasses(t *testing.T) {
	last := 0
	for n := 1; n < 200<<20; n += 1 + n/7 {
		class, size := classOf(n)
		if size < n || size < last {
			t.Fatalf("class of %d bytes has %d, after one of %d", n, size, last)
		}
		if class >= 0 && n > 512 && size > n+n/4 {
			t.Errorf("a buffer of %d bytes for %d wastes more than a quarter", size, n)
		}
		if again, same := classOf(size); class >= 0 && (again != class || same != size) {
			t.Errorf("class %d of %d bytes is not its own: %d, %d", class, size, again, same)
		}
		last = size
	}
}
