package peer

import (
	"net"
	"syscall"
)

// patientConn is a connection on which long answers come in many pieces. Woken for each of
// them, a follower would switch threads more often than it copies: who reads much
// sleeps until much is there (SO_RCVLOWAT). One goroutine reads at a time.
type patientConn struct {
	*net.TCPConn
	raw   syscall.RawConn
	water int           // what must be there before the connection counts as readable
	set   func(uintptr) // sets water
}

// A read of fewer bytes than littleBytes is woken by the first that comes; others by
// as many as fit, up to muchBytes, which a receive buffer holds.
const (
	littleBytes = 64 << 10
	muchBytes   = 256 << 10
)

// newPatient wraps a connection; one that is not TCP stays as it is.
func newPatient(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn // The first read says what is wrong with it.
	}
	c := &patientConn{TCPConn: tcp, raw: raw, water: 1}
	c.set = func(fd uintptr) { setLowWater(fd, c.water) }
	return c
}

// Read implements net.Conn.
func (c *patientConn) Read(p []byte) (int, error) {
	water := 1
	if len(p) >= littleBytes {
		water = min(len(p), muchBytes)
	}
	if water != c.water {
		c.water = water
		if err := c.raw.Control(c.set); err != nil {
			return 0, err
		}
	}
	return c.TCPConn.Read(p)
}
