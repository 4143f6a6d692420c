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
const callSize = 1 << 20

// sendAll moves n bytes of f from offset on to conn by sendfile(2).
func sendAll(conn *net.TCPConn, f *os.File, offset int64, n int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	file := int(f.Fd())
	err = raw.Write(func(fd uintptr) bool {
		for n > 0 {
			var sent int
			sent, failed = unix.Sendfile(int(fd), file, &offset, min(callSize, n))
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

// reading is a receiver that copies into a buffer, which stays in the processor's
// cache.
func reading(f *os.File, w way, _ string, arrived *atomic.Int64) error {
	return receive(f, w, make([]byte, 64<<10), 0, arrived, func([]byte) error { return nil })
}

// discarding is a receiver that drops the bytes in the kernel.
func discarding(f *os.File, w way, _ string, arrived *atomic.Int64) error {
	return receive(f, w, make([]byte, 1<<20), unix.MSG_TRUNC, arrived, func([]byte) error { return nil })
}

// shortBytes is what a batch falls short of its limit by, about half a record.
const shortBytes = 50

// storing is a receiver that appends to a file of its own, a piece at a time, as a
// log does that does nothing else with them. The file begins anew before it would
// crowd the page cache.
func storing(piece int) receiver {
	return func(f *os.File, w way, dir string, arrived *atomic.Int64) error {
		piece := piece
		if w.short {
			piece -= shortBytes
		}
		file, err := os.CreateTemp(dir, "stored-")
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // scratch
		var size int64
		return receive(f, w, make([]byte, piece), unix.MSG_WAITALL, arrived, func(p []byte) error {
			if size >= 512<<20 {
				if err := file.Truncate(0); err != nil {
					return err
				}
				size = 0
			}
			n, err := file.WriteAt(p, size)
			size += int64(n)
			return err
		})
	}
}

// receive takes bytes of a blocking socket into buf until it ends, has take see them
// and counts them; it waits until the way's low-water mark is reached.
func receive(f *os.File, w way, buf []byte, flags int, arrived *atomic.Int64, take func([]byte) error) error {
	fd := int(f.Fd())
	if w.lowWater > 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, w.lowWater); err != nil {
			return fmt.Errorf("low-water mark: %w", err)
		}
	}
	for {
		n, _, err := unix.Recvfrom(fd, buf, flags)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		case n == 0:
			return nil
		}
		if err := take(buf[:n]); err != nil {
			return err
		}
		arrived.Add(int64(n))
	}
}
