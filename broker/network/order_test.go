package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"tidemark/protocol/wire"
)

func TestEveryWayOfSlicing(t *testing.T) {
	s := start(t, Options{}, HandlerFunc(echo))
	bodies := []string{"", "x", string(make([]byte, copyBelow)), string(make([]byte, 3*copyBelow)), "y", string(make([]byte, 300<<10)), "z"}
	for _, size := range []int{1, 3, 1000, 16 << 10, 100 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			count := len(bodies)
			if size < 1000 {
				count = 2 // a system call per slice: the small frames do
			}
			var data []byte
			for i, b := range bodies[:count] {
				data = append(data, requestOf(int32(i), []byte(b))...)
			}
			p := dial(t, s)
			sent := make(chan error, 1)
			go func() { sent <- writeSlices(p, data, size) }()
			for i, b := range bodies[:count] {
				p.wantResponse(int32(i), b)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
		})
	}
}

func writeSlices(w io.Writer, data []byte, size int) error {
	for len(data) > 0 {
		n := min(size, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// TestNotTCP: what is no TCP connection takes the plain way of reading.
func TestNotTCP(t *testing.T) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	s := Serve(l, Options{}, HandlerFunc(echo))
	client, server := net.Pipe()
	l.conns <- server
	sent := make(chan error, 1)
	go func() {
		sent <- writeSlices(client, append(requestOf(1, make([]byte, 100<<10)), requestOf(2, []byte("b"))...), 777)
	}()
	p := newPeer(t, client)
	p.wantResponse(1, string(make([]byte, 100<<10)))
	p.wantResponse(2, "b")
	if err := <-sent; err != nil {
		t.Error(err)
	}
	shutdown(t, s)
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { close(l.done); return nil }

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	parked := make(parking, 8)
	s := start(t, Options{}, parked)
	p := dial(t, s)
	var requests []*Request
	for i := range int32(8) {
		p.send(requestOf(i, []byte{byte(i)}))
		requests = append(requests, <-parked)
	}
	for _, i := range []int{7, 3, 1, 5, 2, 6, 4, 0} {
		reply(requests[i], requests[i].Body)
	}
	for i := range int32(8) {
		p.wantResponse(i, string(rune(i)))
	}
}

// TestAnyInterleaving answers from many goroutines, at once or later, in every
// way there is, and expects each response in its place.
func TestAnyInterleaving(t *testing.T) {
	const connections, each = 8, 400
	var answering sync.WaitGroup
	answering.Add(connections * each)
	s := start(t, Options{QueuedRequestsPerConn: 16}, HandlerFunc(func(r *Request) {
		h, body := r.Header, append([]byte(nil), r.Body...)
		answer := func() {
			defer answering.Done()
			switch body[0] % 4 {
			case 0, 1:
				reply(r, body)
			case 2:
				r.ReleaseBody()
				r.ReplyWith(func() *wire.Response { return wire.NewResponse(h, rawBody(body)) })
			default:
				r.NoReply()
			}
		}
		if body[1]%2 == 0 {
			answer()
			return
		}
		go answer()
	}))
	var clients sync.WaitGroup
	for c := range connections {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(c)))
			bodies := make([][]byte, each)
			for i := range bodies {
				bodies[i] = make([]byte, 2+rng.IntN(1<<rng.IntN(16)))
				bodies[i][0], bodies[i][1] = byte(rng.IntN(256)), byte(rng.IntN(256))
			}
			p := dial(t, s)
			clients.Go(func() {
				for i, b := range bodies {
					p.send(requestOf(int32(i), b))
				}
			})
			for i, b := range bodies {
				if b[0]%4 != 3 {
					p.wantResponse(int32(i), string(b))
				}
			}
		})
	}
	clients.Wait()
	answering.Wait()
}

func TestFailAnswersWhatCameBefore(t *testing.T) {
	parked := make(parking, 3)
	s := start(t, Options{}, parked)
	p := dial(t, s)
	p.send(requestOf(1, nil), requestOf(2, nil), requestOf(3, nil))
	first, second, third := <-parked, <-parked, <-parked
	reply(third, nil)
	second.Fail(errors.New("cannot be answered"))
	reply(first, []byte("kept"))
	p.wantResponse(1, "kept")
	p.wantClosed()
	if got := s.Stats().Closed[ClosedFailed].Load(); got != 1 {
		t.Errorf("connections closed by Fail: %d, want 1", got)
	}
}

func TestAnsweringTwicePanics(t *testing.T) {
	parked := make(parking, 1)
	s := start(t, Options{}, parked)
	p := dial(t, s)
	p.send(requestOf(1, nil))
	r := <-parked
	reply(r, nil)
	defer func() {
		if recover() == nil {
			t.Error("a second answer went through: it would reach the client as an answer to the next request")
		}
	}()
	r.NoReply()
}

func TestDisconnectTellsWhoWaits(t *testing.T) {
	parked := make(parking, 2)
	s := start(t, Options{}, parked)
	p := dial(t, s)
	p.send(requestOf(1, nil), requestOf(2, nil))
	first, second := <-parked, <-parked
	called := make(chan string, 2)
	first.AfterClose(func() { called <- "first" })
	stop := second.AfterClose(func() { called <- "second" })
	if !stop() || stop() {
		t.Error("stop: want true, then false")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	<-first.Conn.Done()
	if got := <-called; got != "first" {
		t.Errorf("called %s, want first: second was taken back", got)
	}
	second.AfterClose(func() { called <- "late" })
	if got := <-called; got != "late" {
		t.Errorf("called %s, want late", got)
	}
	reply(first, nil) // dropped, and the frame goes back
	second.NoReply()
}

func TestShutdownAnswersWhatWasReceived(t *testing.T) {
	parked := make(parking, 1)
	s := start(t, Options{}, parked)
	busy, idle := dial(t, s), dial(t, s)
	busy.send(requestOf(1, nil))
	r := <-parked
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.wantClosed()
	reply(r, []byte("last"))
	busy.wantResponse(1, "last")
	busy.wantClosed()
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("the listener still accepts")
	}
}

func TestShutdownGivesUpOnTheParked(t *testing.T) {
	parked := make(parking, 1)
	s := start(t, Options{}, parked)
	p := dial(t, s)
	p.send(requestOf(1, nil))
	r := <-parked
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: got %v, want the context's error", err)
	}
	p.wantClosed()
	reply(r, nil)
}

func TestSlowReplyIsNotHeldBack(t *testing.T) {
	parked := make(parking, 2)
	s := start(t, Options{}, HandlerFunc(func(r *Request) {
		if r.Body[0] == 'p' {
			parked <- r
			return
		}
		parked <- r
		<-r.Conn.Done() // the second request never ends: the first must not wait for it
		r.NoReply()
	}))
	p := dial(t, s)
	p.send(requestOf(1, []byte("p")), requestOf(2, []byte("s")))
	first := <-parked
	<-parked
	reply(first, []byte("now"))
	p.wantResponse(1, "now")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = s.Shutdown(ctx) // the handler sits in its request until the connection is cut
}
