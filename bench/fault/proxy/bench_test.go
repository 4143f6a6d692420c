package proxy

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"tidemark/internal/loopback"
)

// BenchmarkThroughput compares a connection of its own with one through the mesh:
// where the rule is the zero one, and where bytes are queued.
func BenchmarkThroughput(b *testing.B) {
	b.Run("direct", func(b *testing.B) { transfer(b, nil, Rule{}) })
	b.Run("mesh", func(b *testing.B) { transfer(b, New(1), Rule{}) })
	b.Run("shaped", func(b *testing.B) { transfer(b, New(1), Rule{Delay: 1}) })
}

func transfer(b *testing.B, m *Mesh, rule Rule) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	address := l.Addr().String()
	if m != nil {
		defer m.Close()
		a, err := m.Listen("127.0.0.1:0", Broker(1), func(netip.Addr) Name { return Client })
		if err != nil {
			b.Fatal(err)
		}
		m.Target(Broker(1), address)
		if err := m.Set(rule, 0, Flow{Client, Broker(1)}); err != nil {
			b.Fatal(err)
		}
		address = a.String()
	}
	done := make(chan error, 1)
	go func() {
		s, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, s)
			s.Close()
		}
		done <- err
	}()
	s, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	loopback.SetCongestion(s, loopback.Unpaced)
	const size = 256 << 10
	data := make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		if _, err := s.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
