package zkserver

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// stalling is a server whose disk hangs at the next sync once it is armed.
type stalling struct {
	*Server
	clock         *clock.Manual
	armed         atomic.Bool
	held, let     chan struct{}
	writer, other *rawClient
}

func newStalling(t *testing.T, timeoutMs int32) *stalling {
	s := &stalling{clock: clock.NewManual(time.Unix(1000, 0)), held: make(chan struct{}), let: make(chan struct{})}
	faulty := vfs.NewFaulty(vfs.NewMem())
	faulty.OnCall(func(op vfs.Op, p string) error {
		if op == vfs.OpSync && s.armed.CompareAndSwap(true, false) {
			s.held <- struct{}{}
			<-s.let
		}
		return nil
	})
	s.Server = startEmbedded(t, Options{FS: faulty, Dir: "/zk", Clock: s.clock, TickTime: time.Second})
	s.writer, s.other = newRawClient(t, s.Addr().String()), newRawClient(t, s.Addr().String())
	s.writer.connect(timeoutMs)
	s.other.connect(timeoutMs)
	return s
}

// stall has a write of path hang for so many seconds.
func (s *stalling) stall(t *testing.T, path string, seconds int) {
	t.Helper()
	s.armed.Store(true)
	written := s.writer.send(opCreate, create(path, 0))
	<-s.held
	for range seconds {
		s.clock.Advance(time.Second)
	}
	s.let <- struct{}{}
	if code, _, err := s.writer.receive(written); code != 0 || err != nil {
		t.Fatalf("write: %v, %v", code, err)
	}
}

// TestStallExpiresNobody: the disk hangs for longer than a session lasts. The
// clients' pings wait unread, and nobody may be taken for dead.
func TestStallExpiresNobody(t *testing.T) {
	s := newStalling(t, 4000)
	s.stall(t, "/x", 10)
	s.clock.Advance(time.Second) // the tick that would have ended both
	for _, c := range []*rawClient{s.writer, s.other} {
		if code, _ := c.do(opPing, nil); code != 0 {
			t.Errorf("ping after the stall: %v", code)
		}
	}
}

// tick advances to the next tick and returns when the loop has looked at it.
func (s *stalling) tick(t *testing.T) {
	t.Helper()
	s.clock.Advance(time.Second)
	s.ticked(t)
}

func (s *stalling) ticked(t *testing.T) {
	t.Helper()
	for len(s.ticks) > 0 {
		runtime.Gosched()
	}
	if code, _ := s.writer.do(opPing, nil); code != 0 {
		t.Fatalf("ping: %v", code)
	}
}

// TestStallsKeepNobodyAlive: the disk hangs again and again, each time for less than a
// session lasts, and a client that is gone is found dead all the same: only the time
// that the server stood still, and a tick each time, does not count.
func TestStallsKeepNobodyAlive(t *testing.T) {
	const session = 20
	s := newStalling(t, session*1000)
	if code, _ := s.other.do(opCreate, create("/alive", 1)); code != 0 {
		t.Fatal(code)
	}
	s.other.drop() // gone without a word
	stalls := 0
	for alive := true; alive; {
		if stalls++; stalls > session {
			t.Fatalf("%d stalls, and the dead client's session has not ended", session)
		}
		s.stall(t, fmt.Sprint("/x", stalls), 2)
		s.ticked(t)
		for range 5 {
			s.tick(t)
		}
		code, _ := s.writer.do(opExists, pathAndWatch("/alive"))
		alive = code == 0
	}
	// Each stall of two seconds counts for three, and is followed by five: of seven
	// seconds four count.
	if stalls < session/4 || stalls > session/4+2 {
		t.Errorf("the session of %d s ended within the %dth 7 s, of which 4 count", session, stalls)
	}
}
