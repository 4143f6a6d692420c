package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
)

func frameOf(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestReadFrame(t *testing.T) {
	bodies := [][]byte{{}, {1}, bytes.Repeat([]byte{2}, firstRead-1), bytes.Repeat([]byte{3}, firstRead),
		bytes.Repeat([]byte{4}, firstRead+1), bytes.Repeat([]byte{5}, 300_000), {6}}
	var stream []byte
	for _, b := range bodies {
		stream = append(stream, frameOf(b)...)
	}
	for name, r := range map[string]io.Reader{
		"whole":    bytes.NewReader(stream),
		"by bytes": iotest.OneByteReader(bytes.NewReader(stream)),
		"data+EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		var buf []byte
		var err error
		for i, want := range bodies {
			if buf, err = ReadFrame(r, 300_000, buf); err != nil || !bytes.Equal(buf, want) {
				t.Fatalf("%s, frame %d: %d bytes, %v", name, i, len(buf), err)
			}
		}
		if _, err = ReadFrame(r, 300_000, buf); err != io.EOF {
			t.Errorf("%s: after the last frame: %v", name, err)
		}
	}
}

func TestReadFrameRefuses(t *testing.T) {
	length := func(n uint32, tail string) []byte { return append(binary.BigEndian.AppendUint32(nil, n), tail...) }
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"-1", length(math.MaxUint32, "x"), ErrFrameSize},
		{"0x80000000", length(1<<31, "x"), ErrFrameSize},
		{"2^31-1", length(math.MaxInt32, "x"), ErrFrameSize},
		{"one over the limit", length(101<<20, "x"), ErrFrameSize},
		{"an HTTP request", []byte("GET / HTTP/1.1\r\n"), ErrFrameSize},
		{"a TLS hello", []byte("\x16\x03\x01\x02\x00\x01"), ErrFrameSize},
		{"length cut", []byte{0, 0}, io.ErrUnexpectedEOF},
		{"body cut", length(10, "123456789"), io.ErrUnexpectedEOF},
		{"no body", length(10, ""), io.ErrUnexpectedEOF},
	} {
		if _, err := ReadFrame(bytes.NewReader(c.in), 100<<20, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestReadFrameGrowsWithBytes announces 100 MiB and sends a little: the memory
// must follow the bytes, not the announcement.
func TestReadFrameGrowsWithBytes(t *testing.T) {
	for _, sent := range []int{0, 100, 100_000} {
		in := append(binary.BigEndian.AppendUint32(nil, 100<<20), make([]byte, sent)...)
		r := &largestRead{r: bytes.NewReader(in)}
		if _, err := ReadFrame(r, 100<<20, nil); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		if limit := max(firstRead, 2*sent); r.room > limit {
			t.Errorf("after %d bytes the reader made room for %d more", sent, r.room)
		}
	}
}

// largestRead notes the most that was asked of it at once.
type largestRead struct {
	r    io.Reader
	room int
}

func (l *largestRead) Read(p []byte) (int, error) {
	l.room = max(l.room, len(p))
	return l.r.Read(p)
}

func TestReadFrameAllocations(t *testing.T) {
	in := frameOf(make([]byte, 64<<10))
	r := bytes.NewReader(in)
	buf := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(100, func() {
		r.Reset(in)
		var err error
		if buf, err = ReadFrame(r, 1<<20, buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations with a buffer that fits", n)
	}
}
