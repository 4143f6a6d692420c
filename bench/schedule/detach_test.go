package schedule

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnAnswerEndsTheWait: bytes on a detached socket wake a sender whose next send
// is an hour away, and can be read from it.
func TestAnAnswerEndsTheWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	fd, err := Detach(near.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if _, err := near.Write([]byte{1}); err == nil {
		t.Error("the connection still writes: two owners of a socket")
	}
	buf := make([]byte, 8)
	if _, err := unix.Read(fd, buf); err != unix.EAGAIN {
		t.Errorf("reading with nothing there gave %v, want EAGAIN", err)
	}
	p := NewPacer()
	defer p.Close()
	if _, err := far.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if due := Now() + int64(time.Hour); p.WaitRead(due, fd) >= due {
		t.Error("waited past an answer")
	}
	if n, err := unix.Read(fd, buf); string(buf[:max(0, n)]) != "answer" {
		t.Errorf("read %d bytes, %v, want the answer", n, err)
	}
	if now := Now(); p.WaitRead(now, fd) < now {
		t.Error("returned before a time that has passed")
	}
}
