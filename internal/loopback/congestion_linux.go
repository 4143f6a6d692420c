package loopback

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

func setCongestion(conn *net.TCPConn, name string) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	})
	return errors.Join(err, failed)
}
