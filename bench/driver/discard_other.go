//go:build !linux

package driver

import (
	"io"
	"net"
)

// discarder reads and forgets; only Linux can drop bytes without copying them.
type discarder struct {
	conn net.Conn
	buf  []byte
}

func newDiscarder(conn net.Conn) *discarder {
	return &discarder{conn: conn, buf: make([]byte, 1<<20)}
}

func (d *discarder) skip(n int) error {
	for n > 0 {
		step := min(n, len(d.buf))
		if _, err := io.ReadFull(d.conn, d.buf[:step]); err != nil {
			return err
		}
		n -= step
	}
	return nil
}
