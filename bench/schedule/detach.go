package schedule

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Detach closes conn and returns its socket, without blocking mode and the caller's to
// close. The runtime's poller does not know it: it would wake a thread for whatever
// arrives, beside the one that waits in a Pacer. (The file that net.TCPConn.File
// returns is with the poller still, in blocking mode too.)
func Detach(conn *net.TCPConn) (fd int, err error) {
	defer func() { _ = conn.Close() }() // the socket itself stays open
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("take a connection from the poller: %w", err)
	}
	var failed error
	err = raw.Control(func(s uintptr) { fd, failed = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("take a connection from the poller: %w", err)
	}
	return fd, nil
}
