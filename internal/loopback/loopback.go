// Package loopback spares TCP connections within one machine what TCP does for
// the sake of a network. It does nothing for other connections.
//
// A congestion control that paces (BBR) arms a timer for every few segments it
// sends. Between two processes of one machine there is nothing to pace for, and
// in a virtual machine the timers cost more than the bytes: fetching through
// sendfile(2) went from 20 to 62–65 million records of 100 bytes a second, by
// copying from 19 to 31–33 million, by giving the broker's side another one.
package loopback

import (
	"net"
	"net/netip"
)

// Unpaced is a congestion control that does not pace and that Linux has by
// default.
const Unpaced = "cubic"

// SetCongestion gives a connection from or to a loopback address the congestion
// control of that name, if the kernel has it; conn may be of any kind, and an
// empty name leaves it alone. It reports whether it did so.
func SetCongestion(conn net.Conn, name string) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || name == "" {
		return false
	}
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	return setCongestion(tcp, name) == nil
}
