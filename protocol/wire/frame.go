package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFrameSize says that the announced length of a frame is negative or over the
// limit.
var ErrFrameSize = errors.New("frame size out of range")

// lengthSize is the size of the field in front of every frame that holds the
// number of bytes after it.
const lengthSize = 4

// firstRead is how many bytes a frame may have made room for before any of them
// has arrived.
const firstRead = 4 << 10

// FrameLength reads the length in front of a frame, of which b has all four bytes.
// ErrFrameSize says that it is over max bytes or negative.
func FrameLength(b []byte, max int32) (int, error) {
	length := int32(binary.BigEndian.Uint32(b))
	if length < 0 || length > max {
		return 0, fmt.Errorf("frame of %d bytes, limit %d: %w", length, max, ErrFrameSize)
	}
	return int(length), nil
}

// ReadFrame reads one frame from r and returns it, without its length, in buf or
// in a larger buffer where buf is too small. The buffer grows with the bytes
// that arrive: announcing a frame costs its reader nothing. The broker, which
// reads many frames at once, cuts them in broker/network. io.EOF means that
// the peer closed between frames; ErrFrameSize that the frame is over max bytes
// or of negative length.
func ReadFrame(r io.Reader, max int32, buf []byte) ([]byte, error) {
	if cap(buf) < firstRead {
		buf = make([]byte, firstRead)
	}
	buf = buf[:lengthSize]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf[:0], err
	}
	length, err := FrameLength(buf, max)
	if err != nil {
		return buf[:0], err
	}
	for have := 0; ; {
		upTo := min(length, cap(buf))
		n, err := io.ReadFull(r, buf[have:upTo])
		have += n
		if err != nil && have < length {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return buf[:0], err
		}
		buf = buf[:have]
		if have == length {
			return buf, nil
		}
		bigger := make([]byte, min(length, 2*have))
		copy(bigger, buf)
		buf = bigger
	}
}
