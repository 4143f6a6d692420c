package calibrate

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap: %w", err)
	}
	return m, func() error { return unix.Munmap(m) }, nil
}

// openDirect opens a file for O_DIRECT and returns an aligned buffer.
func openDirect(path string, size int) (*os.File, []byte, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_DIRECT, 0o644)
	if err != nil {
		return nil, nil, err
	}
	const align = 4096
	buf := make([]byte, size+align)
	skip := int(-uintptr(unsafe.Pointer(&buf[0])) & (align - 1))
	return f, buf[skip : skip+size], nil
}

// callSize bounds one sendfile(2); it is the read engine's.
const callSize = 32 << 10

// sendAll moves n bytes of f to conn by sendfile(2) and moves offset along.
func sendAll(conn *net.TCPConn, f *os.File, offset *int64, n int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	file := int(f.Fd())
	err = raw.Write(func(fd uintptr) bool {
		for n > 0 {
			var sent int
			sent, failed = unix.Sendfile(int(fd), file, offset, min(callSize, n))
			switch {
			case failed == unix.EINTR:
			case failed != nil:
				return failed != unix.EAGAIN
			case sent == 0:
				failed = io.ErrUnexpectedEOF
				return true
			default:
				n -= sent
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}

// receive takes bytes of a blocking socket until it ends and counts them; it
// waits until lowWater bytes are there. Discarding drops them in the kernel.
func receive(f *os.File, lowWater int, discards bool, arrived *atomic.Int64) error {
	fd := int(f.Fd())
	if lowWater > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, lowWater); err != nil {
			return fmt.Errorf("low-water mark: %w", err)
		}
	}
	size, flags := receiveBytes, 0
	if discards {
		size, flags = 1<<20, unix.MSG_TRUNC
	}
	buf := make([]byte, size)
	for {
		n, _, err := unix.Recvfrom(fd, buf, flags)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		case n == 0:
			return nil
		default:
			arrived.Add(int64(n))
		}
	}
}
