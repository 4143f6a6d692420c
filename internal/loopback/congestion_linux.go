package loopback

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func setCongestion(c syscall.RawConn, name string) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	})
	return errors.Join(err, failed)
}
