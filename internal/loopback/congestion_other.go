//go:build !linux

package loopback

import (
	"errors"
	"syscall"
)

func setCongestion(syscall.RawConn, string) error { return errors.ErrUnsupported }
