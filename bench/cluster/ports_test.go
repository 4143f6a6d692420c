package cluster

import (
	"net"
	"runtime"
	"testing"
)

// TestPortsAreGivenOnce: a port that was found is not found again, although nobody
// listens on it yet. Among 400 of 22,768 some would be.
func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		ports, err := FreePorts(4)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			if seen[port] {
				t.Fatalf("port %d was found twice", port)
			}
			seen[port] = true
		}
	}
}

// TestFoundPortsAreHeld: no other process finds a port that was found, whoever was told it
// can listen there, again and again, and connections meet nobody meanwhile.
func TestFoundPortsAreHeld(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ports are held on Linux alone")
	}
	ports, err := FreePorts(1)
	must(t, err)
	held := func() {
		t.Helper()
		if again, err := hold(ports[0]); err == nil {
			_ = again.Close()
			t.Error("another process could have found the port too")
		}
	}
	held()
	if conn, err := net.Dial("tcp", loopback(ports[0])); err == nil {
		_ = conn.Close()
		t.Error("a connection met somebody before there was a listener")
	}
	for range 2 {
		l, err := net.Listen("tcp", loopback(ports[0]))
		must(t, err)
		conn, err := net.Dial("tcp", loopback(ports[0]))
		must(t, err)
		held()
		must(t, conn.Close())
		must(t, l.Close())
	}
	held()
}

// TestHoldsAreBounded: the first are let go.
func TestHoldsAreBounded(t *testing.T) {
	_, err := FreePorts(mostHeld)
	must(t, err)
	_, err = FreePorts(2)
	must(t, err)
	given.Lock()
	defer given.Unlock()
	if got := len(given.ports); got != mostHeld {
		t.Errorf("%d ports are held, want %d", got, mostHeld)
	}
}
