//go:build !unix

package peer

import "net"

// closedByPeer cannot tell here; the next request finds out.
func closedByPeer(net.Conn) bool { return false }
