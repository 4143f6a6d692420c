//go:build !linux

package loopback

import (
	"errors"
	"net"
)

func setCongestion(*net.TCPConn, string) error { return errors.ErrUnsupported }
