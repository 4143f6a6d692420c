package znode

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// TestSilentServerIsLeft: a server that takes connections and says nothing, as one that
// was paused, is given up for the next one while a session could still live.
func TestSilentServerIsLeft(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var dials atomic.Int32
	// Ten times the time of another answer would be all that the test has.
	c := connect(t, startServer(t), Options{SessionTimeout: 4 * time.Second, Dialer: func(network, address string, timeout time.Duration) (net.Conn, error) {
		if dials.Add(1) == 1 {
			address = silent.Addr().String()
		}
		return net.DialTimeout(network, address, timeout)
	}})
	if !c.Session().Connected || dials.Load() < 2 {
		t.Errorf("session %+v after %d dials", c.Session(), dials.Load())
	}
}
