package peer

import "golang.org/x/sys/unix"

// setLowWater has a read sleep until so many bytes are there, or the end. A socket
// that is not asked wakes its reader too often, and works.
func setLowWater(fd uintptr, bytes int) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
}
