//go:build !linux

package wire

import "syscall"

func cork(syscall.RawConn)   {}
func uncork(syscall.RawConn) {}
