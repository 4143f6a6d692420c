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
	"syscall"
)

// Unpaced is a congestion control that does not pace and that Linux has by
// default.
const Unpaced = "cubic"

// Control is for a net.ListenConfig or a net.Dialer: a socket of a loopback address, and
// what it accepts, has the congestion control of that name from the beginning, if the
// kernel knows it. An empty name changes nothing.
//
// A connection that began with one that paces goes on to be paced, whatever
// SetCongestion gives it later: Linux keeps the timer.
func Control(name string) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, c syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err == nil && at.Addr().Unmap().IsLoopback() && name != "" {
			_ = setCongestion(c, name) // A socket that is paced works.
		}
		return nil
	}
}

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
	raw, err := tcp.SyscallConn()
	return err == nil && setCongestion(raw, name) == nil
}
