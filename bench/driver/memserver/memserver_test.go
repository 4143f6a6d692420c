package memserver

import (
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestNonsenseEndsTheConnection: a frame length out of range must not allocate
// or hang.
func TestNonsenseEndsTheConnection(t *testing.T) {
	s := serve(t)
	for _, frame := range []string{"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x00\x00\x00\x09\x00\x63\x00\x00....."} {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(frame)); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%q was answered with %d bytes", frame, n)
		} else if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
			t.Errorf("%q kept the connection open", frame)
		}
		_ = conn.Close()
	}
}

func FuzzAnswer(f *testing.F) {
	for _, a := range apis {
		for v := a.min; v <= a.max; v++ {
			r := kmsg.RequestForKey(a.key)
			r.SetVersion(v)
			frame := []byte{0, byte(a.key), 0, byte(v), 0, 0, 0, 1, 0xff, 0xff}
			if r.IsFlexible() {
				frame = append(frame, 0)
			}
			f.Add(r.AppendTo(frame))
		}
	}
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 0, 1, 1, 0})
	s := serve(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > 18 && frame[1] == 1 {
			return // a fetch may wait as long as it asks to
		}
		reply, _, err := s.answer(frame, nil)
		if err != nil {
			return
		}
		total := 0
		for _, part := range reply {
			total += len(part)
		}
		if total > 0 && total != 4+int(be.Uint32(reply[0])) {
			t.Fatalf("reply of %d bytes says %d", total, be.Uint32(reply[0]))
		}
	})
}
