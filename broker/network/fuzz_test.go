package network

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/protocol/wire"
)

// FuzzFrames sends any bytes in slices of any size over a connection, and
// expects the Handler to see what a plain loop over the same bytes finds.
func FuzzFrames(f *testing.F) {
	two := append(requestOf(1, []byte("a")), requestOf(2, make([]byte, 3*copyBelow))...)
	f.Add(two, uint16(1))
	f.Add(two, uint16(20_000))
	f.Add(append(two, 0xff, 0xff, 0xff, 0xff), uint16(7))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint16(3))
	f.Add([]byte("\x00\x00\x00\x0a\x00\x00\x00\x09\x00\x00\x00\x01\xff\xff"), uint16(2))
	f.Fuzz(func(t *testing.T, data []byte, slice uint16) {
		const maxFrame = 64 << 10
		var got [][]byte
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		s := Serve(l, Options{MaxFrame: maxFrame, InFlightBytes: 40 << 10}, HandlerFunc(func(r *Request) {
			got = append(got, append([]byte(nil), r.Body...))
			r.NoReply()
		}))
		client, server := net.Pipe()
		closed := make(chan struct{})
		l.conns <- &closing{Conn: server, closed: closed}
		// The server closes where the bytes make no sense; then a write fails.
		_ = writeSlices(client, data, max(1, int(slice), len(data)/200))
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		<-closed
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plainBodies(data, maxFrame), got); diff != "" {
			t.Errorf("bodies differ (-want +got):\n%s", diff)
		}
		if left := s.Stats().InFlightBytes.Load(); left != 0 {
			t.Errorf("%d bytes are in flight at the end", left)
		}
	})
}

// closing tells when a connection is closed.
type closing struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// plainBodies is the dumb twin of a connection.
func plainBodies(data []byte, maxFrame int) (bodies [][]byte) {
	for {
		frame, rest, err := plainFrame(data, maxFrame)
		if err != nil {
			return bodies
		}
		_, body, err := wire.ParseHeader(frame)
		if err != nil {
			return bodies
		}
		bodies = append(bodies, append([]byte(nil), body...))
		data = rest
	}
}

func plainFrame(data []byte, maxFrame int) (frame, rest []byte, err error) {
	if len(data) < lengthBytes {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := int(int32(binary.BigEndian.Uint32(data)))
	if n <= 0 || n > maxFrame {
		return nil, nil, &frameError{int32(n), int32(maxFrame)}
	}
	if len(data)-lengthBytes < n {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return data[lengthBytes : lengthBytes+n], data[lengthBytes+n:], nil
}
