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

// TestAllocationsPerRequest pins what one request costs in steady state: the
// Request, and what the response's encoding takes.
func TestAllocationsPerRequest(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop at random under the race detector")
	}
	body := rawBody("12345678")
	for _, size := range []int{100, 64 << 10} {
		s := start(t, Options{}, HandlerFunc(func(r *Request) { r.Reply(wire.NewResponse(r.Header, body)) }))
		p := dialFast(t, s)
		request, answer := requestOf(1, make([]byte, size)), make([]byte, 16)
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
			t.Errorf("a request of %d bytes allocates %.2f times, want at most 3", size, got)
		} else {
			t.Logf("a request of %d bytes allocates %.2f times", size, got)
		}
	}
}
