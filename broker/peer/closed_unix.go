//go:build unix

package peer

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// closedByPeer reports whether a connection on which nothing is due has ended, or
// has bytes that nobody asked for. Without it the first request after a restart
// of the peer would be lost.
func closedByPeer(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	closed := true
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = err != unix.EAGAIN && err != unix.EWOULDBLOCK && err != unix.EINTR
		return true
	})
	return closed || err != nil
}
