package api

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// TestTruncatedRequests: every request of every version, cut at every byte, closes
// the connection or, where what is left is a request too, is answered.
func TestTruncatedRequests(t *testing.T) {
	c := fuzzCluster(t)
	for _, row := range table {
		for version := row.min; version <= row.max; version++ {
			for _, s := range seedRequests(c, version) {
				if s.Key() != row.key {
					continue
				}
				whole := s.AppendTo(nil)
				for cut := range whole {
					checkAnswer(t, c, row.key, version, whole[:cut])
				}
			}
		}
	}
}

// TestHostileTags: tagged fields that lie about their count or size, repeat
// themselves or hold too long a varint (fault B07) cost no more than their
// bytes.
func TestHostileTags(t *testing.T) {
	c := fuzzCluster(t)
	billion := binary.AppendUvarint(nil, 1_000_000_000)
	for _, test := range []struct {
		name      string
		tags      []byte
		malformed bool // by Produce and Fetch, which decode by hand, and by kmsg
	}{
		{"a billion tags", billion, true},
		{"a billion tags, three there", append(append([]byte(nil), billion...), 7, 0, 8, 0, 9, 0), true},
		{"size beyond the end", []byte{1, 7, 100}, true},
		{"size of 2^32-1", append([]byte{1, 7}, binary.AppendUvarint(nil, 1<<32-1)...), true},
		{"varint of six bytes", []byte{0x81, 0x80, 0x80, 0x80, 0x80, 0x00}, true},
		{"varint of 36 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, true},
		{"the same tag twice", []byte{2, 7, 0, 7, 0}, false},
		{"an unknown tag", []byte{1, 7, 2, 1, 2}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, row := range table {
				for version := row.min; version <= row.max; version++ {
					for _, s := range seedRequests(c, version) {
						if s.Key() != row.key || !s.IsFlexible() {
							continue
						}
						body := s.AppendTo(nil)
						body = append(body[:len(body)-1], test.tags...) // the last byte was "no tags"
						var f *fakeRequest
						if spent := spending(func() { f = c.send(row.key, version, body) }); spent > 4<<20 {
							t.Errorf("%s version %d: %d bytes were allocated", row.name, version, spent)
						}
						o := f.await(c)
						if test.malformed && !errors.Is(o.failure, wire.ErrMalformed) {
							t.Errorf("%s version %d: %+v, want it closed as malformed", row.name, version, o)
						}
					}
				}
			}
		})
	}
}

// TestClaimedCounts: an array that claims more elements than there are bytes costs
// nothing (fault B04, B11).
func TestClaimedCounts(t *testing.T) {
	c := newCluster(t, nil)
	for _, row := range table {
		for version := row.min; version <= row.max; version++ {
			req := requestFor(row.key)
			req.SetVersion(version)
			whole := req.AppendTo(nil)
			for at := range whole {
				for _, lie := range [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0x80, 0, 0, 0}} {
					body := append(append([]byte(nil), whole[:at]...), lie...)
					if spent := spending(func() { c.send(row.key, version, body) }); spent > 1<<20 {
						t.Errorf("%s version %d: %d bytes were allocated for a body of %d", row.name, version, spent, len(body))
					}
				}
			}
		}
	}
}

// spending is how many bytes f allocates.
func spending(f func()) uint64 {
	before := allocated()
	f()
	return allocated() - before
}

// TestProduceBombs is fault B09 through the whole broker: what decompresses to
// far more than the limit is refused at a bounded cost.
func TestProduceBombs(t *testing.T) {
	c := newCluster(t, map[string]string{"max.decompressed.message.bytes": "1048576"})
	c.topic("t", 1, "max.message.bytes", "104857600")
	for _, codec := range []record.Codec{record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		b := record.NewBuilder(codec, record.DefaultLevel)
		b.Append(testNow.UnixMilli(), []byte("k"), make([]byte, 64<<20), nil)
		body := produceRequest(9, 1, "t", 0, b.Build()).AppendTo(nil)
		b = nil
		runtime.GC()
		var o outcome
		f := newFakeRequest(t)
		spent := spending(func() {
			c.server.serve(call{header: wire.Header{Key: 0, Version: 9, CorrelationID: 7}, body: body, to: f})
		})
		o = f.answered()
		p := decode[*kmsg.ProduceResponse](t, produceRequest(9, 1, "t", 0, nil), o).Topics[0].Partitions[0]
		if code := wire.ErrorCode(p.ErrorCode); code != wire.MessageTooLarge && code != wire.InvalidRecord {
			t.Errorf("%v: %v, want it refused as too large or invalid", codec, code)
		}
		if spent > 32<<20 {
			t.Errorf("%v: %d bytes were allocated for 64 MiB claimed, limit 1 MiB", codec, spent)
		}
	}
	if got := c.server.o.Replicas.Partition("t", 0).LogEndOffset(); got != 0 {
		t.Errorf("log end offset %d, want 0", got)
	}
}
