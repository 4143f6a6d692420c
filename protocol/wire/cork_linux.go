package wire

import "syscall"

// cork and uncork hold small packets back and let them go. They only save
// packets and wake-ups: where the socket refuses, the same bytes go out in more
// pieces.

func cork(raw syscall.RawConn)   { _ = raw.Control(setCork1) }
func uncork(raw syscall.RawConn) { _ = raw.Control(setCork0) }

func setCork1(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, 1)
}
func setCork0(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CORK, 0)
}
