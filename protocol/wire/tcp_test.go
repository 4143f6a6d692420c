package wire

import (
	"fmt"
	"io"
	"net"
	"testing"

	"tidemark/engines"
)

// connect returns the two ends of a TCP connection, which the test closes.
func connect(tb testing.TB) (server, client net.Conn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }() // one connection is all
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = server.Close() // the test may have closed them already
		_ = client.Close()
	})
	return server, client
}

// TestTCPAllocations pins sending over a connection, corked and by writev.
func TestTCPAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	server, client := connect(t)
	go func() { _, _ = io.Copy(io.Discard, client) }() // ends when the test closes
	payload := make([]byte, 1000)
	copied, viewed := &bytesChunk{}, &viewChunk{}
	w := NewResponseWriter(server)
	batch := make([]*Response, 2)
	part := FetchPartition{}
	send := func() {
		copied.b, viewed.b = payload, payload
		for i, c := range []engines.Chunk{copied, viewed} {
			fw := NewFetchWriter(fetchHeader(17), FetchHead{}, 1)
			fw.Topic("", [16]byte{1}, 1)
			part.Records = c
			fw.Partition(&part)
			batch[i] = fw.Finish(nil)
		}
		if _, err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch[0].Release()
		batch[1].Release()
	}
	send()
	if n := testing.AllocsPerRun(100, send); n > 0 {
		t.Errorf("two Fetch responses cost %v allocations", n)
	}
}

// BenchmarkFetchRoundTrip is a request of 16 bytes and a Fetch response of one
// chunk: in three plain writes, corked, and by writev.
func BenchmarkFetchRoundTrip(b *testing.B) {
	for _, size := range []int{200, 16 << 10, 64 << 10} {
		payload := make([]byte, size)
		copied, viewed := &bytesChunk{}, &viewChunk{}
		for _, way := range []struct {
			name   string
			chunk  engines.Chunk
			refill func()
			plain  bool
		}{
			{"plain", copied, func() { copied.b = payload }, true},
			{"corked", copied, func() { copied.b = payload }, false},
			{"writev", viewed, func() { viewed.b = payload }, false},
		} {
			b.Run(fmt.Sprintf("%d/%s", size, way.name), func(b *testing.B) {
				server, client := connect(b)
				answer := func() *Response {
					way.refill()
					fw := NewFetchWriter(fetchHeader(12), FetchHead{}, 1)
					fw.Topic("topic", [16]byte{}, 1)
					fw.Partition(&FetchPartition{Records: way.chunk})
					return fw.Finish(nil)
				}
				go answerAll(server, answer, way.plain)
				request, buf := make([]byte, 16), make([]byte, 0, size+1000)
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := client.Write(request); err != nil {
						b.Fatal(err)
					}
					var err error
					if buf, err = ReadFrame(client, 1<<30, buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// answerAll answers requests of 16 bytes until the connection closes.
func answerAll(c net.Conn, answer func() *Response, plain bool) {
	w := NewResponseWriter(c)
	if plain {
		w.raw = nil
	}
	request, batch := make([]byte, 16), make([]*Response, 1)
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		batch[0] = answer()
		_, err := w.Write(batch)
		batch[0].Release()
		if err != nil {
			return
		}
	}
}
