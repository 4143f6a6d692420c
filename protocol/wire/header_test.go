package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestParseHeaderOfEveryVersion splits what the client library writes, for
// every key and version that it knows.
func TestParseHeaderOfEveryVersion(t *testing.T) {
	named := kmsg.NewRequestFormatter(kmsg.FormatterClientID("tide"))
	anonymous := kmsg.NewRequestFormatter()
	seen := 0
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			if key == 7 && v == 0 {
				continue // ControlledShutdown v0 has a header of its own, which nobody sends
			}
			for _, f := range []struct {
				formatter *kmsg.RequestFormatter
				id        []byte
			}{{named, []byte("tide")}, {anonymous, nil}} {
				frame := f.formatter.AppendRequest(nil, req, 4711)[lengthSize:]
				h, body, err := ParseHeader(frame)
				if err != nil || h.Key != key || h.Version != v || h.CorrelationID != 4711 {
					t.Fatalf("key %d version %d: %+v, %v", key, v, h, err)
				}
				if !bytes.Equal(h.ClientID, f.id) || (h.ClientID == nil) != (f.id == nil) {
					t.Errorf("key %d version %d: client id %q, want %q", key, v, h.ClientID, f.id)
				}
				if want := req.AppendTo(nil); !bytes.Equal(body, want) {
					t.Errorf("key %d version %d: body %x, want %x", key, v, body, want)
				}
				if IsFlexible(key, v) != req.IsFlexible() {
					t.Errorf("key %d version %d: flexible %v", key, v, IsFlexible(key, v))
				}
				seen++
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d keys and versions", seen)
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	v1 := func(tail ...byte) []byte { return append([]byte{0, 3, 0, 1, 0, 0, 0, 9}, tail...) }  // Metadata 1
	v2 := func(tail ...byte) []byte { return append([]byte{0, 3, 0, 12, 0, 0, 0, 9}, tail...) } // Metadata 12
	for _, c := range []struct {
		name  string
		frame []byte
		want  error
	}{
		{"good v1", v1(0, 1, 'c', 7), nil},
		{"good v2 with tags", v2(0xff, 0xff, 2, 1, 1, 'x', 5, 0, 7), nil},
		{"ApiVersions of a version to come", []byte{0, 18, 0, 99, 0, 0, 0, 9, 0xff, 0xff, 0}, nil},
		{"empty", nil, ErrMalformed},
		{"fixed part cut", v1(0), ErrMalformed},
		{"key -1", []byte{0xff, 0xff, 0, 0, 0, 0, 0, 9, 0xff, 0xff}, ErrUnknownKey},
		{"key 9999", []byte{0x27, 0x0f, 0, 0, 0, 0, 0, 9, 0xff, 0xff}, ErrUnknownKey},
		{"version -1", []byte{0, 3, 0xff, 0xff, 0, 0, 0, 9, 0xff, 0xff}, ErrMalformed},
		{"client id beyond frame", v1(0x7f, 0xff, 'c'), ErrMalformed},
		{"client id -2", v1(0xff, 0xfe), ErrMalformed},
		{"no tag count", v2(0xff, 0xff), ErrMalformed},
		{"10^9 tags", v2(0xff, 0xff, 0x80, 0x94, 0xeb, 0xdc, 0x03), ErrMalformed},
		{"more tags than bytes", v2(0xff, 0xff, 3, 0, 0, 1, 0), ErrMalformed},
		{"duplicate tag", v2(0xff, 0xff, 2, 1, 0, 1, 0), ErrMalformed},
		{"descending tags", v2(0xff, 0xff, 2, 2, 0, 1, 0), ErrMalformed},
		{"tag size beyond frame", v2(0xff, 0xff, 1, 0, 9, 1), ErrMalformed},
		{"tag size one beyond frame", v2(0xff, 0xff, 1, 0, 2, 1), ErrMalformed},
		{"tag size 2^63", v2(0xff, 0xff, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), ErrMalformed},
		{"tag count of 11 bytes", v2(0xff, 0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), ErrMalformed},
		{"an HTTP request", []byte("GET / HTTP/1.1\r\n\r\n")[4:], ErrUnknownKey},
	} {
		h, body, err := ParseHeader(c.frame)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if c.want == nil && (h.CorrelationID != 9 || len(body) > 1) {
			t.Errorf("%s: %+v and %d bytes of body", c.name, h, len(body))
		}
	}
}

func TestParseHeaderAllocations(t *testing.T) {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("tide")).AppendRequest(nil, req, 1)[lengthSize:]
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := ParseHeader(frame); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseHeader(b *testing.B) {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("tide")).AppendRequest(nil, req, 1)[lengthSize:]
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseHeader(frame); err != nil {
			b.Fatal(err)
		}
	}
}
