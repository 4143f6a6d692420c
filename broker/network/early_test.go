package network

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// eagerHandler echoes, and asks for every request early. What it does with one
// is decide's to say.
type eagerHandler struct {
	t      testing.TB
	decide func(rest *Rest) earlyAction
	// handled counts what came whole.
	handled atomic.Int64
}

type earlyAction int

const (
	takeIt    earlyAction = iota // all of the rest into memory
	takeEnd                      // but for the last bytes
	declineIt                    // without reading
	failIt                       // read into memory of which only the first page can be written
)

func (h *eagerHandler) Handle(r *Request) {
	h.handled.Add(1)
	r.OfferNext()
	echo(r)
}

func (h *eagerHandler) HandleEarly(r *Request, rest *Rest) bool {
	n := rest.Len()
	switch h.decide(rest) {
	case declineIt:
		return false
	case failIt:
		memory, free := brokenMemory(h.t, n)
		defer free()
		if _, err := rest.ReadInto(memory); err == nil {
			h.t.Error("ReadInto memory that cannot be written succeeded")
		}
		return false
	case takeEnd:
		n -= maxAfter
	}
	body := append([]byte(nil), r.Body...)
	memory := make([]byte, n)
	after, err := rest.ReadInto(memory)
	if err != nil {
		h.t.Errorf("a request that is all there: %v", err)
		return false
	}
	body = append(append(body, memory...), after...)
	r.OfferNext()
	reply(r, body)
	return true
}

// brokenMemory is n bytes, more than a page, of which the kernel can fill only
// the first page.
func brokenMemory(t testing.TB, n int) (memory []byte, free func()) {
	t.Helper()
	all, err := unix.Mmap(-1, 0, n+4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Mprotect(all[4096:], unix.PROT_READ)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all[:n], func() { _ = unix.Munmap(all) } // Its own address: cannot fail.
}

// TestEarlyRequestsAreTheSameRequests sends frames of all sizes in slices of all
// sizes to a handler that takes, declines and fails at random, and expects every
// byte back in order.
func TestEarlyRequestsAreTheSameRequests(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			choose := rand.New(rand.NewPCG(seed, 2))
			h := &eagerHandler{t: t, decide: func(*Rest) earlyAction { return earlyAction(choose.IntN(4)) }}
			s := start(t, Options{}, h)
			var data []byte
			var bodies [][]byte
			for range 60 {
				body := make([]byte, rng.IntN(1<<(4+rng.IntN(15))))
				for i := range body {
					body[i] = byte(rng.Uint32())
				}
				bodies = append(bodies, body)
				data = append(data, requestOf(int32(len(bodies)-1), body)...)
			}
			p := dial(t, s)
			sent := make(chan error, 1)
			go func() { sent <- writeSlices(p, data, 1+rng.IntN(1<<(7+seed))) }()
			for i, want := range bodies {
				id, got := p.response()
				if id != int32(i) || !bytes.Equal(got, want) {
					t.Fatalf("response %d with %d bytes, want %d with %d", id, len(got), i, len(want))
				}
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			shutdown(t, s)
		})
	}
}

// What is all in the kernel when the server looks is received by the handler, and
// takes no memory of the server's. The first window of a connection has room for
// the frames.
func TestEarlyIsTakenWhenAllIsThere(t *testing.T) {
	h := &eagerHandler{t: t, decide: func(*Rest) earlyAction { return takeIt }}
	release := make(chan struct{})
	s := start(t, Options{}, &holding{h, release})
	p := dial(t, s)
	const frames = 4
	for i := range int32(frames) {
		p.send(requestOf(i, make([]byte, 12<<10)))
	}
	p.delivered()
	close(release) // All of it is in the kernel's buffer by now, the first frame aside.
	for i := range int32(frames) {
		p.wantResponse(i, string(make([]byte, 12<<10)))
	}
	// The first may have brought the beginning of the second.
	if got := s.Stats().Early[EarlyTaken].Load(); got < frames-2 || got+h.handled.Load() != frames {
		t.Errorf("%d requests were taken early and %d handled whole, want at least %d of %d early", got, h.handled.Load(), frames-2, frames)
	}
	if got := s.Stats().InFlightBytes.Load(); got != 0 {
		t.Errorf("%d bytes are charged while nothing is received", got)
	}
}

// holding handles its first request only once released.
type holding struct {
	*eagerHandler
	release chan struct{}
}

func (h *holding) Handle(r *Request) {
	<-h.release
	h.eagerHandler.Handle(r)
}

// A client that dawdles is never looked at early: the handler would wait for it.
func TestEarlyNeverWaitsForTheClient(t *testing.T) {
	h := &eagerHandler{t: t, decide: func(*Rest) earlyAction {
		t.Error("a request that is not all there was offered")
		return declineIt
	}}
	s := start(t, Options{}, h)
	p := dial(t, s)
	frame := requestOf(1, make([]byte, copyBelow+1000))
	p.send(frame)
	p.wantResponse(1, string(make([]byte, copyBelow+1000)))
	for at := range frame[:len(frame)-1] {
		p.send(frame[at : at+1])
	}
	// The last byte only once the rest has been looked at and found incomplete.
	for s.Stats().Early[EarlyIncomplete].Load() == 0 {
		runtime.Gosched()
	}
	p.send(frame[len(frame)-1:])
	p.wantResponse(1, string(make([]byte, copyBelow+1000)))
}

// What was asked for early and never came whole is nobody's request.
func TestEarlyConnectionThatEndsInTheMiddle(t *testing.T) {
	h := &eagerHandler{t: t, decide: func(*Rest) earlyAction { return takeIt }}
	s := start(t, Options{}, h)
	p := dial(t, s)
	p.send(requestOf(1, make([]byte, 20<<10)))
	p.wantResponse(1, string(make([]byte, 20<<10)))
	p.send(requestOf(2, make([]byte, 20<<10))[:15<<10])
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	shutdown(t, s)
	if got := s.Stats().Early[EarlyTaken].Load(); got != 0 || h.handled.Load() != 1 {
		t.Errorf("%d taken and %d handled, want none and the first", got, h.handled.Load())
	}
}

// A request that is taken counts as one that waits: its answer keeps its place.
func TestEarlyAnswersKeepTheirPlace(t *testing.T) {
	parked := make(parking, 8)
	h := &parkingEarly{parked}
	s := start(t, Options{}, h)
	p := dial(t, s)
	for i := range int32(4) {
		p.send(requestOf(i, make([]byte, 20<<10)))
	}
	var requests []*Request
	for range 4 {
		requests = append(requests, <-parked)
	}
	for i := range requests {
		requests[len(requests)-1-i].Reply(newReply(requests[len(requests)-1-i], "x"))
	}
	for i := range int32(4) {
		p.wantResponse(i, "x")
	}
}

// parkingEarly receives what it is offered and leaves the answer to the test.
type parkingEarly struct{ parked parking }

func (h *parkingEarly) Handle(r *Request) {
	r.OfferNext()
	h.parked <- r
}

func (h *parkingEarly) HandleEarly(r *Request, rest *Rest) bool {
	if _, err := rest.ReadInto(make([]byte, rest.Len())); err != nil {
		return false
	}
	r.OfferNext()
	h.parked <- r
	return true
}
