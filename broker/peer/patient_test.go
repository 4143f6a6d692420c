package peer

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand"
	"testing"

	"tidemark/protocol/wire"
)

// TestLongAnswersInPieces: whatever the pieces in which answers of any length come,
// each is read to its last byte and no further; none waits for bytes that nobody
// sends.
func TestLongAnswersInPieces(t *testing.T) {
	sizes := []int{10, littleBytes, littleBytes + 1, 100, muchBytes - 1, muchBytes + 7, 3*muchBytes + 12345, 11, muchBytes + littleBytes - 1, 1}
	f := newFake(t, 1, func(c *fakeConn) {
		r := rand.New(rand.NewSource(5))
		for _, size := range sizes {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				return
			}
			rest := append(binary.BigEndian.AppendUint32(nil, uint32(size)), bytes.Repeat([]byte{byte(size)}, size)...)
			for len(rest) > 0 {
				n := min(len(rest), 1+r.Intn(90_000))
				if _, err := c.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}
		_, _ = c.Write(binary.BigEndian.AppendUint32(nil, muchBytes)) // The end comes before the rest.
		_, _ = c.Write(make([]byte, littleBytes))
	})
	conn, err := dialTCP("")(t.Context(), f.at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, ok := conn.(*patientConn); !ok {
		t.Fatalf("the connection is a %T", conn)
	}
	var frame []byte
	for _, size := range sizes {
		if _, err := conn.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if frame, err = wire.ReadFrame(conn, 1<<30, frame[:0]); err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{byte(size)}, size); !bytes.Equal(frame, want) {
			t.Fatalf("%d bytes came as %d", size, len(frame))
		}
	}
	if _, err := wire.ReadFrame(conn, 1<<30, frame[:0]); err != io.ErrUnexpectedEOF {
		t.Errorf("a frame that is cut off: got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
