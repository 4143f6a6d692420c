package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzReadFrame reads arbitrary bytes as frames until they end. The frames must
// be the bytes behind their lengths.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{}, int32(100))
	f.Add(append(frameOf([]byte("abc")), frameOf(nil)...), int32(100))
	f.Add([]byte("GET / HTTP/1.1\r\n"), int32(1<<20))
	f.Fuzz(func(t *testing.T, in []byte, max int32) {
		r := &largestRead{r: bytes.NewReader(in)}
		var buf []byte
		var err error
		at := 0
		for {
			if buf, err = ReadFrame(r, max, buf); err != nil {
				break
			}
			at += lengthSize
			if !bytes.Equal(buf, in[at:at+len(buf)]) {
				t.Fatalf("frame at %d differs from its bytes", at)
			}
			at += len(buf)
		}
		if err != io.EOF && err != io.ErrUnexpectedEOF && !errors.Is(err, ErrFrameSize) {
			t.Fatalf("error of no class: %v", err)
		}
		if limit := 2*len(in) + firstRead; r.room > limit {
			t.Fatalf("room for %d bytes, of %d that there are", r.room, len(in))
		}
	})
}

// FuzzParseHeader splits arbitrary frames. What it accepts must be what the
// client library would have written, up to the tagged fields.
func FuzzParseHeader(f *testing.F) {
	req := kmsg.NewPtrMetadataRequest()
	for _, v := range []int16{0, 8, 9, 12} {
		req.SetVersion(v)
		f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 5)[lengthSize:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ParseHeader(frame)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnknownKey) {
				t.Fatalf("error of no class: %v", err)
			}
			return
		}
		if len(body) > len(frame)-fixedHeader-len(h.ClientID) || !bytes.HasSuffix(frame, body) {
			t.Fatalf("body of %d bytes from a frame of %d", len(body), len(frame))
		}
		if !KnownKey(h.Key) || h.Version < 0 {
			t.Fatalf("accepted %+v", h)
		}
	})
}

// FuzzFetchWriter compares random Fetch responses with the client library's
// encoding.
func FuzzFetchWriter(f *testing.F) {
	for v := uint64(FetchMinVersion); v <= FetchMaxVersion; v++ {
		f.Add(v, v)
	}
	f.Fuzz(func(t *testing.T, seed, version uint64) {
		v := FetchMinVersion + version%(FetchMaxVersion-FetchMinVersion+1)
		checkFetch(t, randomFetch(rand.New(rand.NewPCG(seed, version)), int16(v)))
	})
}
