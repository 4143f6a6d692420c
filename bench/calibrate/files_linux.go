package calibrate

import (
	"fmt"
	"net"
	"os"
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

// sendAll moves n bytes of f from its start to conn by sendfile(2), 64 KiB a
// call.
func sendAll(conn *net.TCPConn, f *os.File, n int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	var offset int64
	err = raw.Write(func(fd uintptr) bool {
		for int(offset) < n {
			if _, failed = unix.Sendfile(int(fd), int(f.Fd()), &offset, min(64<<10, n-int(offset))); failed != nil {
				if failed == unix.EINTR {
					continue
				}
				return failed != unix.EAGAIN
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}

// discard drops bytes of a blocking socket in the kernel until it ends.
func discard(f *os.File) error {
	buf := make([]byte, 1<<20)
	fd := int(f.Fd())
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_TRUNC)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("discard: %w", err)
		case n == 0:
			return nil
		}
	}
}
