package peer

import (
	"fmt"
	"io"

	"tidemark/protocol/wire"
)

// stream reads one frame in pieces, each parsed where it lies. Its memory is as large
// as the largest piece, and grows with the bytes that arrive: announcing some costs
// their reader nothing.
type stream struct {
	from io.Reader
	buf  []byte
	r, w int // buf[r:w] is here and not parsed yet
	left int // how much of the frame is not here

	reader wire.Reader // of the piece being parsed
}

var errAnswer = fmt.Errorf("%w: answer to Fetch", ErrMalformed)

const (
	frameLength = 4
	// firstRead is small enough for a patientConn to return what there is.
	firstRead = littleBytes / 2
	// stepRead is how much is read where less would do, for the sake of those that
	// follow.
	stepRead = 64 << 10
)

// open reads the length of the next frame, and what came with it.
func (s *stream) open(from io.Reader, max int32) error {
	*s = stream{from: from, buf: s.buf}
	if len(s.buf) < firstRead {
		s.buf = make([]byte, firstRead)
	}
	for s.w < frameLength {
		n, err := from.Read(s.buf[s.w:firstRead])
		if s.w += n; err != nil && s.w < frameLength {
			return s.failed(err)
		}
	}
	length, err := wire.FrameLength(s.buf, max)
	if err != nil {
		return s.failed(err)
	}
	s.r, s.left = frameLength, length-(s.w-frameLength)
	if s.left < 0 {
		return errAnswer
	}
	return nil
}

func (s *stream) failed(err error) error {
	if err == io.EOF && s.w > 0 {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("response: %w", err)
}

// unread is how much of the frame was not parsed yet.
func (s *stream) unread() int { return s.w - s.r + s.left }

// parse has f read the next piece.
func (s *stream) parse(f func(*wire.Reader)) error {
	n, err := s.look(f)
	s.r += n
	return err
}

// look has f read the next piece, again with more until there is enough, and returns
// its size.
func (s *stream) look(f func(*wire.Reader)) (size int, err error) {
	for {
		r := &s.reader
		*r = wire.Reader{Src: s.buf[s.r:s.w], Flexible: true}
		if f(r); !r.Bad {
			return s.w - s.r - len(r.Src), nil
		}
		if s.left == 0 {
			return 0, errAnswer
		}
		if err := s.fill(s.w - s.r + stepRead); err != nil {
			return 0, err
		}
	}
}

// fill reads until so many bytes are here, or all that are left.
func (s *stream) fill(need int) error {
	need = min(need, s.unread())
	for s.w-s.r < need {
		s.room(need)
		upTo := min(len(s.buf), s.w+s.left, s.r+max(need, stepRead))
		n, err := s.from.Read(s.buf[s.w:upTo])
		s.w, s.left = s.w+n, s.left-n
		if err != nil && s.w-s.r < need {
			return s.failed(err)
		}
	}
	return nil
}

// room makes room for some of so many bytes, and for all once half of them are here.
func (s *stream) room(need int) {
	if s.r+need <= len(s.buf) {
		return
	}
	into, have := s.buf, s.w-s.r
	if have == len(into) {
		into = make([]byte, min(need, 2*have))
	}
	s.w = copy(into, s.buf[s.r:s.w])
	s.buf, s.r = into, 0
}

// end says whether all of the frame was parsed.
func (s *stream) end() error {
	if s.unread() > 0 {
		return errAnswer
	}
	return nil
}
