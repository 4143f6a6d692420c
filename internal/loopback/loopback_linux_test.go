package loopback

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSetCongestion(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	before := congestion(t, conn)
	if SetCongestion(conn, "") || SetCongestion(conn, "no-such") {
		t.Error("an empty or unknown name was taken")
	}
	if got := congestion(t, conn); got != before {
		t.Errorf("a refused name left %q, want %q as before", got, before)
	}
	// reno is in every kernel.
	if !SetCongestion(conn, "reno") || congestion(t, conn) != "reno" {
		t.Errorf("after SetCongestion the connection has %q, want reno", congestion(t, conn))
	}
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	if SetCongestion(client, "reno") {
		t.Error("a pipe was given a congestion control")
	}
}

// TestControl: what a listener accepts begins with its congestion control, and so does
// what a dialer connects.
func TestControl(t *testing.T) {
	of := net.ListenConfig{Control: Control("reno")}
	l, err := of.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{"reno": "reno", "": "", "no-such": ""} {
		d := net.Dialer{Control: Control(name)}
		conn, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		if got := congestion(t, accepted); got != "reno" {
			t.Errorf("the listener's connection has %q, want reno", got)
		}
		if got := congestion(t, conn); want != "" && got != want {
			t.Errorf("the dialer's connection has %q, want %q", got, want)
		}
	}
}

func congestion(t *testing.T, conn net.Conn) string {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := raw.Control(func(fd uintptr) {
		name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	}); err != nil {
		t.Fatal(err)
	}
	return name
}
