package driver

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// discarder drops received bytes inside the kernel (recv with MSG_TRUNC on TCP
// copies nothing), so that a fetch costs the reader as little as it can.
type discarder struct {
	conn net.Conn
	raw  syscall.RawConn
	buf  []byte
}

func newDiscarder(conn net.Conn) *discarder {
	d := &discarder{conn: conn, buf: make([]byte, 1<<20)}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			d.raw = raw
		}
	}
	return d
}

// skip drops the next n bytes of the connection.
func (d *discarder) skip(n int) error {
	for n > 0 {
		step, err := d.once(min(n, len(d.buf)))
		if err != nil {
			return err
		}
		n -= step
	}
	return nil
}

func (d *discarder) once(n int) (int, error) {
	if d.raw == nil {
		return d.conn.Read(d.buf[:n])
	}
	var got int
	var failed error
	err := d.raw.Read(func(fd uintptr) bool {
		for {
			got, _, failed = unix.Recvfrom(int(fd), d.buf[:n], unix.MSG_TRUNC)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case got == 0:
		return 0, io.ErrUnexpectedEOF
	}
	return got, nil
}
