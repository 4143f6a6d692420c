package enginetest_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/engines/enginetest"
	"tidemark/internal/vfs"
)

func BenchmarkAppend(b *testing.B) {
	for _, spec := range catalog.Builtin().Appends() {
		b.Run(spec.Name, func(b *testing.B) { enginetest.BenchmarkAppend(b, spec) })
	}
}

func BenchmarkAppendFlush(b *testing.B) {
	for _, spec := range catalog.Builtin().Appends() {
		b.Run(spec.Name, func(b *testing.B) { enginetest.BenchmarkAppendFlush(b, spec) })
	}
}

func BenchmarkRead(b *testing.B) {
	for _, spec := range catalog.Builtin().Reads() {
		b.Run(spec.Name, func(b *testing.B) { enginetest.BenchmarkRead(b, spec) })
	}
}

// An append allocates nothing: the produce path has a budget per request.
func TestAppendAllocatesNothing(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		for name, bufs := range map[string][][]byte{
			"one":    {make([]byte, 4096)},
			"three":  {make([]byte, 61), make([]byte, 4096), make([]byte, 1000)},
			"twenty": slicesOf(20, 100),
		} {
			t.Run(spec.Name+"/"+name, func(t *testing.T) {
				f, err := vfs.OS{}.Create(t.TempDir() + "/segment")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close() // The test's own file.
				a, err := spec.Open(f, 0, engines.AppendOptions{SegmentBytes: 64 << 20})
				if err != nil {
					t.Skipf("not available here: %v", err)
				}
				defer a.Close() // The test's own file.
				got := testing.AllocsPerRun(1000, func() {
					if _, err := a.Append(bufs); err != nil {
						t.Fatal(err)
					}
				})
				if got != 0 {
					t.Errorf("%v allocations per Append, want 0", got)
				}
			})
		}
	}
}

func slicesOf(count, size int) [][]byte {
	bufs := make([][]byte, count)
	for i := range bufs {
		bufs[i] = make([]byte, size)
	}
	return bufs
}

// A chunk comes from a pool; sendfile's one allocation is the raw descriptor's,
// which package net makes for every use.
func TestChunkAllocatesAtMostOnce(t *testing.T) {
	server, client := connection(t)
	go io.Copy(io.Discard, client) // Ends with the connection.
	for _, spec := range catalog.Builtin().Reads() {
		for name, w := range map[string]io.Writer{"socket": server, "buffer": io.Discard} {
			t.Run(spec.Name+"/"+name, func(t *testing.T) {
				f, err := vfs.OS{}.Create(t.TempDir() + "/segment")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close() // The test's own file.
				if _, err := f.WriteAt(bytes.Repeat([]byte{1}, 1<<16), 0); err != nil {
					t.Fatal(err)
				}
				r, err := spec.Open(f, engines.ReadOptions{SegmentBytes: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close() // The test's own file.
				got := testing.AllocsPerRun(200, func() {
					c, err := r.Chunk(1000, 50_000)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := c.WriteTo(w); err != nil {
						t.Fatal(err)
					}
					c.Release()
				})
				want := 0.0
				if spec.Name == "sendfile" && w == server {
					want = 1
				}
				if got > want && !raceEnabled {
					t.Errorf("%v allocations per chunk, want at most %v", got, want)
				}
			})
		}
	}
}

// What was copied for a writer that an engine cannot serve its own way is told.
func TestFallbackIsTold(t *testing.T) {
	server, client := connection(t)
	go io.Copy(io.Discard, client) // Ends with the connection.
	for _, spec := range catalog.Builtin().Reads() {
		f, err := vfs.OS{}.Create(t.TempDir() + "/segment")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(10_000); err != nil {
			t.Fatal(err)
		}
		r, err := spec.Open(f, engines.ReadOptions{SegmentBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for w, want := range map[io.Writer]int64{server: 0, io.Discard: 10_000} {
			c, err := r.Chunk(0, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.WriteTo(w); err != nil {
				t.Fatal(err)
			}
			told, ok := c.(engines.FallbackChunk)
			if ok == (spec.Name == "pread") {
				t.Errorf("%s: its chunks tell a fallback: %v", spec.Name, ok)
			}
			if ok && told.FallbackBytes() != want {
				t.Errorf("%s to %T: %d bytes by the fallback, want %d", spec.Name, w, told.FallbackBytes(), want)
			}
			c.Release()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_ = f.Close() // The test's own file.
	}
}

// connection returns both ends of a TCP connection for the test.
func connection(t *testing.T) (server, client *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // One connection is wanted.
	if client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if server, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close() // The test is over.
		_ = client.Close() // The test is over.
	})
	return server, client
}
