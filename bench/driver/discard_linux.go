package driver

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// discarder drops received bytes inside the kernel (recv with MSG_TRUNC on TCP
// copies nothing), so that a fetch costs the reader as little as it can.
//
// It sleeps until lowWater bytes have come: woken for each piece that a broker
// sends, the reader takes the core that the broker needs, and a fetch measures
// the reader.
type discarder struct {
	conn  net.Conn
	raw   syscall.RawConn
	buf   []byte
	water int // what must be there before the connection counts as readable
}

// lowWater is far less than what a receive buffer grows to, and half of what a fetch
// brings: the sender goes on while the reader is woken.
const lowWater = 512 << 10

func newDiscarder(conn net.Conn) *discarder {
	d := &discarder{conn: conn, buf: make([]byte, 1<<20), water: 1}
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
		if err := d.wakeAt(min(n, lowWater)); err != nil {
			return err
		}
		step, err := d.once(min(n, len(d.buf)))
		if err != nil {
			return err
		}
		n -= step
	}
	return d.wakeAt(1)
}

// wakeAt sets the connection's low-water mark (SO_RCVLOWAT).
func (d *discarder) wakeAt(water int) error {
	if d.raw == nil || d.water == water {
		return nil
	}
	d.water = water
	var failed error
	err := d.raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, water)
	})
	return errors.Join(err, failed)
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
