package network

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	"tidemark/protocol/wire"
)

// BenchmarkEcho sends requests of a size, so many in flight, and gets an answer
// of eight bytes for each, as producers do.
func BenchmarkEcho(b *testing.B) {
	for _, size := range []int{100, 16 << 10, 64 << 10, 1 << 20} {
		for _, inFlight := range []int{1, 5} {
			b.Run(fmt.Sprintf("size=%d/inflight=%d", size, inFlight), func(b *testing.B) {
				s := start(b, Options{}, HandlerFunc(func(r *Request) { reply(r, r.Body[:8]) }))
				p := dialFast(b, s)
				request := requestOf(1, make([]byte, size))
				b.SetBytes(int64(len(request)))
				b.ReportAllocs()
				b.ResetTimer()
				sent := make(chan struct{}, inFlight)
				go func() {
					for range b.N {
						sent <- struct{}{}
						if _, err := p.Write(request); err != nil {
							b.Error(err)
							return
						}
					}
				}()
				r := bufio.NewReaderSize(p, 4096)
				for range b.N {
					if err := skipResponse(r); err != nil {
						b.Fatal(err)
					}
					<-sent
				}
			})
		}
	}
}

func dialFast(tb testing.TB, s *Server) net.Conn {
	tb.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func skipResponse(r *bufio.Reader) error {
	head, err := r.Peek(4)
	if err != nil {
		return err
	}
	_, err = r.Discard(4 + int(binary.BigEndian.Uint32(head)))
	return err
}

// answering answers every request with a body that costs nothing, and receives
// long ones early, in memory of its own, if that is set.
type answering struct {
	body   rawBody
	memory []byte
}

func (h *answering) Handle(r *Request) {
	if h.memory != nil {
		r.OfferNext()
	}
	r.Reply(wire.NewResponse(r.Header, h.body))
}

func (h *answering) HandleEarly(r *Request, rest *Rest) bool {
	if _, err := rest.ReadInto(h.memory[:rest.Len()]); err != nil {
		return false
	}
	h.Handle(r)
	return true
}

// TestAllocationsPerRequest pins what one request costs in steady state: the
// Request, and what the response's encoding takes.
func TestAllocationsPerRequest(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop at random under the race detector")
	}
	for _, c := range []struct {
		name   string
		size   int
		memory []byte
	}{{"short", 100, nil}, {"long", 64 << 10, nil}, {"early", 64 << 10, make([]byte, 65<<10)}} {
		h := &answering{body: rawBody("12345678"), memory: c.memory}
		s := start(t, Options{}, h)
		p := dialFast(t, s)
		request, answer := requestOf(1, make([]byte, c.size)), make([]byte, 16)
		once := func() {
			if _, err := p.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p, answer); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			once()
		}
		const rounds = 2000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			once()
		}
		runtime.ReadMemStats(&after)
		// Pools refilled after a collection account for the fraction.
		if got := float64(after.Mallocs-before.Mallocs) / rounds; got > 3 {
			t.Errorf("a %s request of %d bytes allocates %.2f times, want at most 3", c.name, c.size, got)
		} else {
			t.Logf("a %s request of %d bytes allocates %.2f times, %d were early", c.name, c.size, got, s.Stats().Early[EarlyTaken].Load())
		}
	}
}
